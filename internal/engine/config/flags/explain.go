package flags

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
)

// Explain names the options at fault in an error about a document that was built
// from flags: a problem that was found later, and only has a pointer, gets the
// option that gave the value. Other errors are returned as they are.
func (f *Flags) Explain(err error) error {
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	return &problem.Invalid{Problems: f.explain(invalid.Problems)}
}

// explain gives problems the option that they are about. If there is none, and
// no file either, the pointer means nothing to a user of flags and is left out.
func (f *Flags) explain(problems []problem.Problem) []problem.Problem {
	var out []problem.Problem
	for _, p := range problems {
		if p.Flag == "" && p.Line == 0 {
			p = f.explained(p)
		}
		if f.folder {
			p.Line, p.Column = 0, 0 // nobody has seen the file
		}
		if p.Flag != "" {
			p.Detail = flagsForFields(p.Detail)
		}
		out = append(out, p)
	}
	return out
}

func (f *Flags) explained(p problem.Problem) problem.Problem {
	path := f.optionPath(p.Pointer)
	var deeper []*occurrence // options that give a part of the problem's value
	for _, occ := range f.typed {
		own := occ.option.path
		switch {
		case own == "" || own == path || strings.HasPrefix(path, own+"."):
			if own != "" {
				return named(p, occ.spelling)
			}
		case strings.HasPrefix(own, path+"."):
			deeper = append(deeper, occ)
		}
	}
	if len(deeper) == 1 {
		return named(p, deeper[0].spelling)
	}
	if f.Given("--config") {
		return p // the file may have it
	}
	for _, o := range supportedOptions() {
		if o.path == path {
			return named(p, o.name)
		}
	}
	p.Pointer = "#"
	return p
}

// Named is the problem with the option in front of its text, in place of the name
// of the field.
func named(p problem.Problem, spelling string) problem.Problem {
	field := p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]
	p.Flag, p.Detail = spelling, spelling+": "+strings.TrimPrefix(p.Detail, field+": ")
	return p
}

// optionPath turns a pointer into the path that options have.
func (f *Flags) optionPath(pointer string) string {
	path := strings.ReplaceAll(strings.TrimPrefix(pointer, "#/benchmark/"), "/", ".")
	if rest, ok := strings.CutPrefix(path, "datasets.0."); ok {
		return "dataset." + rest
	}
	rest, ok := strings.CutPrefix(path, "phases.")
	if !ok {
		return path
	}
	index, field, _ := strings.Cut(rest, ".")
	kind := "profiling"
	for _, occ := range f.typed {
		if index == "0" && strings.HasPrefix(occ.option.path, "warmup.") {
			kind = "warmup"
		}
	}
	return strings.TrimSuffix(kind+"."+field, ".")
}

// argumentHint guesses the option that a positional argument was meant for.
func argumentHint(token string) string {
	host, port, ok := strings.Cut(token, ":")
	if _, err := strconv.ParseUint(port, 10, 16); ok && err == nil && host != "" && !strings.ContainsAny(host, " /") {
		return "; did you mean --url " + token + "?"
	}
	if u, err := url.Parse(token); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return "; did you mean --url " + token + "?"
	}
	return "; flags begin with --"
}

// fieldWord is a word that can only be the name of a field.
var fieldWord = regexp.MustCompile(`\b[a-z]+(?:[A-Z][A-Za-z]*)+\b`)

// flagsForFields replaces the names of fields in a text by the flags that set
// them; a name that several flags have stays.
func flagsForFields(text string) string {
	return fieldWord.ReplaceAllStringFunc(text, func(word string) string {
		flag := ""
		for _, o := range supportedOptions() {
			if o.path[strings.LastIndexByte(o.path, '.')+1:] != word {
				continue
			}
			if flag != "" && !strings.Contains(o.names, flag) {
				return word
			}
			flag = o.name
		}
		return cmp.Or(flag, word)
	})
}
