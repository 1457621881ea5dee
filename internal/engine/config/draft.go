package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/template"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// Draft is a document that has been read and not been decoded yet, so that flags
// can be laid over it, and values can vary. Its templates are not evaluated.
type Draft struct {
	problem.Report
	Root     *tree.Node // in the long form, see [schema.Expand]
	options  LoadOptions
	inferred []Default // values that were chosen while the draft was made
	// NoSchedule means that timestamps of a trace do not make a phase a replay of them.
	NoSchedule bool
	// FlagFor returns the flag that gives a missing value, or "". It is nil unless
	// the draft was made from flags alone.
	FlagFor func(path string) string
}

// NewDraft returns a draft with an empty benchmark section.
func NewDraft(o LoadOptions) *Draft {
	if o.MaxBytes <= 0 {
		o.MaxBytes = tree.MaxBytes
	}
	return &Draft{options: o, Root: tree.ObjectNode(tree.Member{Name: "benchmark", Value: tree.ObjectNode()})}
}

// Read reads text, expands its variables and brings it into the long form. The
// error is *Malformed.
func Read(data []byte, o LoadOptions) (*Draft, error) {
	d := NewDraft(o)
	if len(data) > d.options.MaxBytes {
		return nil, &Malformed{Detail: fmt.Sprintf("exceeds %d bytes", d.options.MaxBytes)}
	}
	values := tree.MaxOwnValues
	if o.Untrusted && !o.Resolved { // a stored document is in its long form
		values = tree.MaxValues
	}
	root, duplicates, err := tree.Parse(data, o.Format, values)
	d.Duplicates(duplicates)
	if err != nil {
		return nil, err
	}
	if root.Shape != tree.Object {
		return nil, &Malformed{Line: root.Line, Column: root.Column, Detail: "a document must be an object, not " + root.Shape.String()}
	}
	if !o.Resolved {
		template.ExpandVariables(root, template.VariableOptions{
			Untrusted: o.Untrusted, AllowEnv: o.AllowEnv, LookupEnv: o.LookupEnv, LookupSecret: o.LookupSecret,
		}, &d.Report)
	}
	d.Root = schema.Expand(root, shorthandReporter{&d.Report})
	return d, nil
}

// shorthandReporter adds the problems of short forms to a report.
type shorthandReporter struct{ *problem.Report }

// Conflict implements [schema.Reporter].
func (r shorthandReporter) Conflict(at tree.Place, format string, args ...any) {
	r.Fail(at, problem.CodeConflict, format, args...)
}

// Deprecated implements [schema.Reporter].
func (r shorthandReporter) Deprecated(at tree.Place, format string, args ...any) {
	r.Warn(at, problem.CodeDeprecated, format, args...)
}

// IgnoreUnsupported leaves out the features that [Document.IgnoreUnsupported] means, whatever
// the document says.
func (d *Draft) IgnoreUnsupported() {
	d.Root.Set("ignoreUnsupported", &tree.Node{Shape: tree.Boolean, Scalar: "true"})
}

// isTrue reports whether a node is there and says true.
func isTrue(n *tree.Node) bool { return n != nil && n.Shape == tree.Boolean && n.Scalar == "true" }

// Infer records a default that was set in the draft itself.
func (d *Draft) Infer(path string, value any, reason string) {
	d.inferred = append(d.inferred, Default{Pointer: CanonicalPointer(path), Value: value, Reason: reason})
}

// Vary returns a copy of the draft with these values and without the sections sweep,
// multiRun, repeats and gate, see [vary.Assignment] and [tree.Merge]. The templates of the copy are
// evaluated when it is loaded, so that they follow the values. The draft itself does not change. The error is *problem.Invalid with
// all paths that lead nowhere; a name that no field has is a problem of loading.
func (d *Draft) Vary(assign []vary.Assignment) (*Draft, error) {
	v := d.clone()
	v.Root.Drop("sweep")
	v.Root.Drop("multiRun")
	v.Root.Drop("repeats")
	v.Root.Drop("gate")
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
