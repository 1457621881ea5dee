package codec

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Wrapped is a request body that is being built for a dialect that keeps most members in
// a separate object, as TGI, Ollama and SGLang do.
type Wrapped struct {
	Object string   // Name of that object: "parameters", "options", "sampling_params"
	Top    []string // names of the user's members that belong beside it
	Outer  []Field  // the members beside it; the user's members of these names too
	Inner  []Field  // its members
	// replace is the user's value for the object, if it is not an object.
	replace json.RawMessage
}

// Finish merges the user's members and appends the body to dst. The object stands
// behind the outer members, and is left out when nothing is in it.
func (n *Wrapped) Finish(dst []byte, r *Request) ([]byte, error) {
	if err := eachExtra(r, n.merge); err != nil {
		return dst, err
	}
	object := n.replace
	if object == nil && slices.ContainsFunc(n.Inner, func(f Field) bool { return f.Value != nil }) {
		object = AppendObject(nil, n.Inner)
	}
	return AppendObject(dst, append(n.Outer, Field{n.Object, object})), nil
}

// Extra returns the user's members of a body: those of the run, then the turn's.
func Extra(r *Request) ([]Field, error) {
	if len(r.Turn.ExtraBody) == 0 {
		return r.Settings.Extra, nil
	}
	own, err := Fields(r.Turn.ExtraBody)
	if err != nil {
		return nil, fmt.Errorf("merge the turn's extra body: %w", err)
	}
	return slices.Concat(r.Settings.Extra, own), nil
}

// eachExtra hands the user's members to merge.
func eachExtra(r *Request, merge func(Field)) error {
	fields, err := Extra(r)
	for _, f := range fields {
		merge(f)
	}
	return err
}

// AppendMerged appends the body with these members and the user's, which replace
// those of the same name.
func AppendMerged(dst []byte, fields []Field, r *Request) ([]byte, error) {
	fields, err := MergeExtra(fields, r)
	if err != nil {
		return dst, err
	}
	return AppendObject(dst, fields), nil
}

// merge puts a member into the body or the object. The object itself is merged key by
// key, so that a user who names one of its members keeps the others.
func (n *Wrapped) merge(f Field) {
	isTop := slices.Contains(n.Top, f.Name) ||
		slices.ContainsFunc(n.Outer, func(o Field) bool { return o.Name == f.Name })
	switch {
	case f.Name == n.Object:
		n.mergeObject(f.Value)
	case isTop:
		n.Outer = SetField(n.Outer, f.Name, f.Value)
	default:
		n.Inner = SetField(n.Inner, f.Name, f.Value)
	}
}

func (n *Wrapped) mergeObject(value json.RawMessage) {
	members, err := Fields(value)
	if err != nil {
		n.replace = value
		return
	}
	n.replace = nil
	for _, m := range members {
		n.Inner = SetField(n.Inner, m.Name, m.Value)
	}
}
