package config

import (
	"encoding/json"
	"errors"
	"slices"

	"aiperfd/internal/engine/config/address"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/shorthand"
	"aiperfd/internal/engine/config/tree"
)

// Assignment is a value of a sweep: it replaces what the draft has at a path.
type Assignment struct {
	// Path is dotted, such as phases.profiling.rate, datasets.main.prompts.isl.mean,
	// variables.X, or the name of a field of the profiling phase. The paths benchmark
	// and variables merge an object into the draft, see [address.Merge].
	Path  string
	Value any // encodable as JSON; texts may be templates
}

// Vary returns a copy of the draft with these values and without the sections sweep and
// multiRun. The templates of the copy are evaluated when it is loaded, so that they follow
// the values. The draft itself does not change. The error is *problem.Invalid with
// all paths that lead nowhere; a name that no field has is a problem of loading.
func (d *Draft) Vary(assign []Assignment) (*Draft, error) {
	v := d.clone()
	v.Root.Drop("sweep")
	v.Root.Drop("multiRun")
	var bad problem.Report
	for _, a := range assign {
		value, err := tree.NodeOf(a.Value)
		if err == nil {
			err = v.assign(a.Path, value)
		}
		if err != nil {
			bad.Fail(tree.Place{Pointer: "#/sweep"}, problem.CodeUnknownField, "%s: %v", a.Path, err)
		}
	}
	return v, bad.Err()
}

// clone returns a copy that can be changed and loaded apart from d.
func (d *Draft) clone() *Draft {
	v := *d
	v.Report, v.Root = d.Clone(), d.Root.Clone()
	return &v
}

// assign sets or merges one value.
func (d *Draft) assign(path string, value *tree.Node) error {
	if path == "benchmark" || path == "variables" {
		if value.Shape != tree.Object {
			return errors.New("must be an object")
		}
		patch := tree.ObjectNode(tree.Member{Name: path, Value: value})
		if path == "benchmark" {
			patch = shorthand.Expand(patch, shorthandReporter{&d.Report})
		}
		patch.Locate("#")
		address.Merge(d.Root, patch)
		return nil
	}
	names, err := address.Parse(path)
	if err != nil {
		return err
	}
	if err := address.Set(d.Root, names, value); err != nil {
		return err
	}
	d.inferred = slices.DeleteFunc(slices.Clone(d.inferred), func(i Default) bool { return i.Pointer == value.Pointer })
	return nil
}

// Text returns the draft as JSON, to be stored and read again: references to variables and
// secrets as they were written, templates, and no secret. A placeholder stands for
// secrets that the draft contains as texts.
func (d *Draft) Text() json.RawMessage {
	root := d.Root.Clone()
	secret.HideTree(root)
	return root.JSON()
}
