package config

import (
	"encoding/json"
	"errors"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// Vary returns a copy of the draft with these values and without the sections sweep and
// multiRun, see [vary.Assignment] and [tree.Merge]. The templates of the copy are evaluated when it is loaded, so that they follow
// the values. The draft itself does not change. The error is *problem.Invalid with
// all paths that lead nowhere; a name that no field has is a problem of loading.
func (d *Draft) Vary(assign []vary.Assignment) (*Draft, error) {
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
			patch = schema.Expand(patch, shorthandReporter{&d.Report})
		}
		patch.Locate("#")
		tree.Merge(d.Root, patch)
		return nil
	}
	names, err := tree.ParsePath(path)
	if err != nil {
		return err
	}
	if err := tree.SetPath(d.Root, names, value); err != nil {
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
