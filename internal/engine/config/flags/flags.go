// Package flags is the command line of `aiperfd profile`: the table of its flags, their grammar, and how
// they are laid over a document; and the reference of the fields of documents with their flags.
package flags

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/suggest"
)

// occurrence is an option as it was typed.
type occurrence struct {
	option   option
	spelling string // as typed last
	order    int    // index in argv of the first one
	values   []string
	on       bool   // booleans
	before   string // the spelling of an earlier one whose value this one replaces; "" = there is none
}

// idle reports whether a refused option is switched off.
func (o *occurrence) idle() bool { return o.option.kind == optBool && !o.on }

// Flags is a parsed command line of `aiperfd profile`.
type Flags struct {
	// options are used when the document is built; [Parse] sets LookupEnv.
	Options config.LoadOptions
	// Folder returns the document of the run whose folder --config names; nil = folders are
	// not accepted.
	Folder func(dir string) ([]byte, error)
	Other  *Other // the server that that of the options is compared with; nil = there is none

	typed   []*occurrence
	refused []*occurrence // that aiperfd does not support
	report  problem.Report
	table   map[string]option // by spelling, with dashes
	folder  bool              // --config is the folder of a run
}

// Parse reads the arguments behind the subcommand. env looks up
// environment variables; nil = none is set. With problems the error is *Invalid
// and holds all of them, and the Flags can still give the problems of the values
// by [Flags.Document].
func Parse(argv []string, env func(string) (string, bool)) (*Flags, error) {
	f := &Flags{Options: config.LoadOptions{LookupEnv: env, LookupSecret: secret.Lookup(nil, env)}, table: flagTable()}
	for i := 0; i < len(argv); {
		i = f.argument(argv, i)
	}
	f.refuse()
	return f, f.report.Err()
}

// argument reads one flag with its values and returns the index behind it.
func (f *Flags) argument(argv []string, i int) int {
	token := argv[i]
	if !flagLike(token) {
		if quoted, end := f.objectives(argv, i); quoted != "" {
			f.problem(i, "--goodput", problem.CodeUnknownField, "--goodput: takes all objectives as one argument: --goodput %q", quoted)
			return end
		}
		f.problem(i, token, problem.CodeUnknownField, "unexpected argument %q%s", problem.Clip(redact.Text(token)), argumentHint(problem.Clip(redact.Text(redact.URL(token)))))
		return i + 1
	}
	name, value, inline := strings.Cut(token, "=")
	spelling, o, ok := f.find(name)
	if !ok {
		if spelling, o, ok = f.glued(token); ok {
			value, inline = token[2:], true
		}
	}
	if !ok {
		f.problem(i, name, problem.CodeUnknownField, "unknown option %s%s", problem.Clip(name), f.hint(argv, i))
		return f.skip(argv, i+1)
	}
	values, next := f.values(argv, i, o, value, inline)
	f.record(i, spelling, o, values, inline)
	return next
}

// refuse reports the options that aiperfd does not support, or leaves out those that add
// nothing to the measurement if the user says so.
func (f *Flags) refuse() {
	ignore := f.get("--ignore-unsupported")
	for _, occ := range f.refused {
		text := "%s: not supported by aiperfd yet"
		switch o := occ.option; {
		case o.extra && ignore != nil && ignore.on:
			occ.option.status, occ.option.why = inert, strings.TrimSuffix("it is not supported by aiperfd yet; "+o.why, "; ")
			f.typed = append(f.typed, occ)
			continue
		case o.why != "":
			text += ": " + o.why
		case o.extra:
			text += "; --ignore-unsupported runs without it"
		}
		f.problem(occ.order, occ.spelling, problem.CodeUnsupported, text, occ.spelling)
	}
}

// objectives returns the objectives of which only the first belongs to the option in front
// of i, as tools write them that take several arguments, and the index behind them.
func (f *Flags) objectives(argv []string, i int) (quoted string, end int) {
	const atLeast = 2 // the option and its value
	if i < atLeast || f.table[argv[i-atLeast]].kind != optGoodput {
		return "", i
	}
	end = f.skip(argv, i)
	return problem.Clip(redact.Text(strings.Join(argv[i-1:end], " "))), end
}

// flagLike reports whether a token can begin an option; "-5" is a number.
func flagLike(token string) bool {
	name := strings.TrimLeft(token, "-")
	return name != token && name != "" && (name[0] < '0' || name[0] > '9') && name[0] != '.'
}

// find looks an option up; underscores stand for dashes.
func (f *Flags) find(name string) (string, option, bool) {
	if o, ok := f.table[name]; ok {
		return name, o, true
	}
	if strings.HasPrefix(name, "--") {
		name = "--" + strings.ReplaceAll(name[2:], "_", "-")
	}
	o, ok := f.table[name]
	return name, o, ok
}

// glued finds a short option with its value behind it, -HName:Value. A long
// option with one dash is a mistake and not such a thing.
func (f *Flags) glued(token string) (string, option, bool) {
	if len(token) < 3 || token[1] == '-' {
		return "", option{}, false
	}
	name, _, _ := strings.Cut(token, "=")
	if _, _, long := f.find("-" + name); long {
		return "", option{}, false
	}
	o, ok := f.table[token[:2]]
	return token[:2], o, ok && o.kind != optBool
}

// hint says what the unknown option at i may mean: the same with another dash, an option of
// another tool, or one that is spelled alike.
func (f *Flags) hint(argv []string, i int) string {
	name, _, _ := strings.Cut(argv[i], "=")
	if hint := hintElsewhere(name, argv); hint != "" {
		return hint
	}
	if _, _, ok := f.find("-" + name); ok {
		return `; did you mean "-` + name + `"?`
	}
	known := make([]string, 0, len(f.table))
	for _, o := range supportedOptions() {
		known = append(known, o.spellings()...)
	}
	return suggest.DidYouMean(name, known)
}

// skip passes the values of an unknown option.
func (f *Flags) skip(argv []string, i int) int {
	for i < len(argv) && !flagLike(argv[i]) {
		i++
	}
	return i
}

// values collects the values of the option at i.
func (f *Flags) values(argv []string, i int, o option, value string, inline bool) ([]string, int) {
	next := i + 1
	if inline {
		values := []string{value}
		if o.several() {
			for next < len(argv) && !flagLike(argv[next]) {
				values = append(values, argv[next])
				next++
			}
		}
		return values, next
	}
	switch {
	case o.kind == optBool:
		return nil, next
	case o.several():
		end := f.skip(argv, next)
		return argv[next:end], end
	case next < len(argv) && !f.isFlag(argv[next]):
		return argv[next : next+1], next + 1
	}
	return nil, next
}

// isFlag is the test for the value of a scalar: it may begin with a dash, but
// not be an option.
func (f *Flags) isFlag(token string) bool {
	name, _, _ := strings.Cut(token, "=")
	_, _, known := f.find(name)
	return known || strings.HasPrefix(token, "--") && flagLike(token)
}

// record adds an occurrence, or reports why it cannot be.
func (f *Flags) record(i int, spelling string, o option, values []string, inline bool) {
	occ := &occurrence{option: o, spelling: spelling, order: i, values: slices.Clone(values), on: spelling != o.negated}
	if o.kind == optBool && inline && !f.boolean(occ) {
		return
	}
	switch {
	case o.status == refused && occ.idle():
		occ.option.status, occ.option.why = inert, cmp.Or(o.why, "the feature is not supported yet")
	case o.status == refused:
		f.refused = append(f.refused, occ)
		return
	case o.kind != optBool && len(values) == 0 && !o.bare:
		f.problem(i, spelling, problem.CodeRequired, "%s", strings.TrimSuffix(spelling+": needs a value; "+o.why, "; "))
		return
	}
	for _, before := range f.typed {
		if before.option.names != o.names {
			continue
		}
		if o.kind == optList || o.several() {
			before.values = append(before.values, values...)
			return
		}
		occ.before = before.spelling
		*before = *occ
		return
	}
	f.typed = append(f.typed, occ)
}

// boolean reads the value of --flag=value.
func (f *Flags) boolean(occ *occurrence) bool {
	switch strings.ToLower(occ.values[0]) {
	case "true":
	case "false":
		occ.on = !occ.on
	default:
		f.problem(occ.order, occ.spelling, problem.CodeWrongType, "%s %s: must be true or false, or have no value", occ.spelling, problem.Clip(occ.values[0]))
		return false
	}
	return true
}

func (f *Flags) problem(order int, flag, code, format string, args ...any) {
	at := tree.Place{Flag: flag, Order: order + 1}
	f.report.Fail(at, code, format, args...)
}

// Given reports whether an option was typed, in any of its spellings; flag is
// one of them, with dashes.
func (f *Flags) Given(flag string) bool { return f.get(flag) != nil }

// Text returns the last value of an option, "" if it was not typed.
func (f *Flags) Text(flag string) string {
	occ := f.get(flag)
	if occ == nil || len(occ.values) == 0 {
		return ""
	}
	return occ.values[len(occ.values)-1]
}

func (f *Flags) get(flag string) *occurrence {
	o, ok := f.table[flag]
	if !ok {
		return nil
	}
	for _, occ := range f.typed {
		if occ.option.names == o.names {
			return occ
		}
	}
	return nil
}

// Kind implements [redact.Flags]. flag comes without dashes.
func (f *Flags) Kind(flag string) (kind redact.FlagKind, multi, ok bool) {
	for _, dashes := range []string{"--", "-"} {
		if o, ok := f.table[dashes+flag]; ok {
			return o.redact, o.several(), true
		}
	}
	return redact.Plain, false, false
}

var _ redact.Flags = (*Flags)(nil)

// flagFor names the option that gives a canonical path, for problems with what
// is missing.
func flagFor(path string) string {
	switch tree.GenericPath(path) {
	case "benchmark.models.items":
		return "--model"
	case "benchmark.datasets.*.path":
		return "--input-file"
	case "benchmark.datasets.*.dataset":
		return "--public-dataset"
	case "benchmark.phases.*.rate":
		return "--request-rate"
	case "benchmark.datasets.*.prompts.isl":
		return "--isl"
	case "benchmark.datasets.*.prompts.osl":
		return "--osl"
	}
	return ""
}

// errNoConfig is for a --config that cannot be read.
var errNoConfig = errors.New("configuration file cannot be read")
