package config

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/unsupported"
	"aiperfd/internal/engine/suggest"
)

// Choice is a value of a closed list.
type Choice struct {
	Name    string
	Aliases []string // also accepted
}

// Choices are the closed lists of values that are defined by the packages that
// implement them. A document can have no other values; with an empty list, it can
// have none.
type Choices struct {
	EndpointTypes []Choice
	Ranking       []string          // those of EndpointTypes that take a query and passages
	Forms         []string          // those of EndpointTypes whose request bodies are always forms
	Dialects      []Choice          // of all endpoint types
	Arrivals      []Choice          // types of phases, beside concurrency
	Shaped        []string          // those of Arrivals that have a smoothness
	Formats       []Choice          // of the files of datasets
	Traces        []string          // those of Formats that are recordings, which are replayed at their times
	Drawn         []string          // those of Formats whose conversations are drawn from the records
	Orders        map[string]string // of Formats whose default order is not the first of Samplings
	// Detect looks at the first record of a dataset. nil = formats must be given.
	Detect     func(DatasetFile) (Detected, error)
	Corpora    []Choice // texts of synthetic prompts
	Samplings  []Choice // orders in which conversations are drawn
	Objectives []string // tags of the metrics that can have an objective
}

// DatasetFile is a dataset whose first record is looked at.
type DatasetFile struct {
	FS      fs.FS // holds Path; nil = the system
	Path    string
	Records []json.RawMessage // instead of Path
	Format  string            // empty = unknown
}

// Detected is what the first record says of a dataset.
type Detected struct {
	Format string
	Timed  bool // it is a trace, and the record has a time
}

// list returns the list that a field's choices tag names.
func (c *Choices) list(name string) []Choice {
	switch name {
	case "endpointTypes":
		return c.EndpointTypes
	case "dialects":
		return c.Dialects
	case "phaseTypes":
		return slices.Concat([]Choice{{Name: "concurrency"}}, c.Arrivals, []Choice{{Name: FixedSchedule}})
	case "formats":
		return c.Formats
	case "corpora":
		return c.Corpora
	case "samplings":
		return c.Samplings
	}
	return nil
}

// IsShaped reports whether name, in any spelling, is a type of phases that has a
// smoothness.
func (c *Choices) IsShaped(name string) bool {
	return slices.ContainsFunc(c.Shaped, func(s string) bool { return suggest.Fold(s) == suggest.Fold(name) })
}

// Of returns the closed list of a field with these tags; nil = it has none.
func (c *Choices) Of(tag reflect.StructTag) []Choice {
	if name := tag.Get("choices"); name != "" {
		return c.list(name)
	}
	var list []Choice
	if names, ok := strings.CutPrefix(tag.Get("validate"), "oneof="); ok {
		for name := range strings.FieldsSeq(names) {
			list = append(list, Choice{Name: name})
		}
	}
	return list
}

// Expand replaces the names of closed lists in braces, as {arrivals}, by their values.
// It is for texts about fields whose values other packages define.
func (c *Choices) Expand(text string) string {
	names := func(list []Choice) string { return ChoiceList(ChoiceNames(list)) }
	return strings.NewReplacer(
		"{arrivals}", names(c.Arrivals), "{shaped}", ChoiceList(c.Shaped), "{formats}", names(c.Formats),
		"{corpora}", names(c.Corpora), "{samplings}", names(c.Samplings),
	).Replace(text)
}

// ChoiceNames returns the names of choices, without aliases.
func ChoiceNames(list []Choice) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// choice replaces the text in v by the name of the choice that it is a spelling
// of, or reports n.
func (f field) choice(n *tree.Node, v reflect.Value) {
	list := f.options.Choices.Of(f.tag)
	known := ChoiceNames(list)
	for _, c := range list {
		for _, accepted := range append([]string{c.Name}, c.Aliases...) {
			if suggest.Fold(accepted) == suggest.Fold(v.String()) {
				v.SetString(c.Name)
				return
			}
		}
		known = append(known, c.Aliases...)
	}
	f.failed[f.path] = true
	names := ChoiceList(ChoiceNames(list))
	if unsupported.HasValue(f.path, v.String()) {
		f.FailValue(n, problem.CodeUnsupported, "not supported by aiperfd yet; use "+names)
		return
	}
	slices.Sort(known)
	hint := suggest.DidYouMean(v.String(), known)
	if hint != "" && f.tag.Get("choices") == "endpointTypes" {
		f.FailValue(n, problem.CodeBadEnum, "unknown endpoint type"+hint+" It must be "+names) // the list is long
		return
	}
	f.FailValue(n, problem.CodeBadEnum, "must be "+names+hint)
}

// ChoiceList returns "a, b or c".
func ChoiceList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
