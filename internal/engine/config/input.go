package config

import (
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// input is a document that has been decoded, with what is known of the text that gave its values.
// The rules over several fields report what contradicts each other, the defaults fill in what is
// missing.
type input struct {
	*schema.Decoder
	options LoadOptions
	doc     *Document
	flagFor func(path string) string // see [Draft]

	noSchedule bool
	timed      bool // the dataset is a trace whose first record has a time
}

// require reports a missing value.
func (in *input) require(path, detail string) {
	at := in.Where(path)
	if in.flagFor != nil {
		at = tree.Place{Pointer: CanonicalPointer(path)}
		if name := in.flagFor(path); name != "" {
			at.Flag, detail = name, name+": required"
		}
	}
	in.Fail(at, problem.CodeRequired, "%s", detail)
}

// noEffect warns of a given value that means nothing here. The detail follows the name of the field.
func (in *input) noEffect(path, detail string) {
	at := in.Where(path)
	in.Warn(at, problem.CodeNoEffect, "%s%s", problem.Label(at), detail)
}

// deepest returns the fields that were given by flags below path, so that each
// flag is named, or path itself.
func (in *input) deepest(path string) []string {
	n := in.At(path)
	if n.Flag == "" || n.Shape != tree.Object {
		return []string{path}
	}
	var all []string
	for _, m := range n.Members {
		at := schema.Join(path, m.Name)
		if m.Value.Shape == tree.Object && in.Has(at) {
			all = append(all, in.deepest(at)...)
			continue
		}
		in.Given[at] = m.Value
		all = append(all, at)
	}
	return all
}

// shown returns the path of a value, or that of its first part that an option gave, so
// that problems name the option.
func (in *input) shown(path string) string { return in.deepest(path)[0] }

// infer records a value that was chosen because of others, and why.
func (in *input) infer(path string, value any, reason string) {
	in.doc.defaulted = append(in.doc.defaulted, Default{Pointer: CanonicalPointer(path), Value: value, Reason: reason})
}

// inferred reports whether the value of a path was chosen and not given.
func (in *input) inferred(path string) bool {
	at := CanonicalPointer(path)
	return slices.ContainsFunc(in.doc.defaulted, func(d Default) bool { return d.Pointer == at })
}

// forget drops a value that was chosen.
func (in *input) forget(path string) {
	at := CanonicalPointer(path)
	in.doc.defaulted = slices.DeleteFunc(in.doc.defaulted, func(d Default) bool { return d.Pointer == at })
	delete(in.Given, path)
}
