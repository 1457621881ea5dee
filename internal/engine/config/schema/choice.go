package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Choice is a value of a closed list.
type Choice struct {
	Name    string
	Aliases []string // also accepted
	Parts   []string // also accepted, and kept: each is a part of what the name stands for
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
func (f Target) choice(n *tree.Node, v reflect.Value) {
	list := f.Options.Lists(f.Row.List)
	known := ChoiceNames(list)
	for _, c := range list {
		for _, accepted := range append([]string{c.Name}, c.Aliases...) {
			if suggest.Fold(accepted) == suggest.Fold(v.String()) {
				v.SetString(c.Name)
				return
			}
		}
		for _, part := range c.Parts {
			if suggest.Fold(part) == suggest.Fold(v.String()) {
				v.SetString(part)
				return
			}
		}
		known = slices.Concat(known, c.Aliases, c.Parts)
	}
	f.Failed[f.Path] = true
	names := ChoiceList(ChoiceNames(list))
	if LacksValue(f.Path, v.String()) {
		f.FailValue(n, problem.CodeUnsupported, "not supported by aiperfd yet; use "+names)
		return
	}
	slices.Sort(known)
	hint := suggest.DidYouMean(v.String(), known)
	if hint != "" && f.Row.List == "endpointTypes" {
		f.FailValue(n, problem.CodeBadEnum, "unknown endpoint type"+hint+" It must be "+names) // the list is long
		return
	}
	if f.Row.List == "metrics" {
		f.FailValue(n, problem.CodeBadEnum, "unknown metric"+cmp.Or(hint, ".")+" docs/metrics.md lists all metrics")
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

// LacksValue reports whether value is an unsupported choice of the field at a canonical path.
func LacksValue(path, value string) bool {
	for name := range strings.FieldsSeq(FieldAt(path).Lacked) {
		family, isFamily := strings.CutSuffix(name, "*")
		folded := suggest.Fold(value)
		if suggest.Fold(name) == folded || isFamily && strings.HasPrefix(folded, suggest.Fold(family)) {
			return true
		}
	}
	return false
}
