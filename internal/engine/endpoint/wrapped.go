package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
)

// nested is a request body in the making for a dialect that keeps most members in
// an object of their own, as TGI, Ollama and SGLang do.
type nested struct {
	object string   // name of that object: "parameters", "options", "sampling_params"
	top    []string // names of the user's members that belong beside it
	outer  []Field  // what stands beside it; the user's members of these names too
	inner  []Field  // what is in it
	// replace is the object by the user, where that is something else than an object.
	replace json.RawMessage
}

// finish merges the user's members and appends the body to dst. The object stands
// behind the outer members, and is left out when nothing is in it.
func (n *nested) finish(dst []byte, r *Request) ([]byte, error) {
	if err := eachExtra(r, n.merge); err != nil {
		return dst, err
	}
	object := n.replace
	if object == nil && slices.ContainsFunc(n.inner, func(f Field) bool { return f.Value != nil }) {
		object = appendObject(nil, n.inner)
	}
	return appendObject(dst, append(n.outer, Field{n.object, object})), nil
}

// eachExtra hands the user's members to merge: those of the run, then the turn's.
func eachExtra(r *Request, merge func(Field)) error {
	for _, f := range r.Settings.Extra {
		merge(f)
	}
	if len(r.Turn.ExtraBody) == 0 {
		return nil
	}
	extra, err := Fields(r.Turn.ExtraBody)
	if err != nil {
		return fmt.Errorf("merge the turn's extra body: %w", err)
	}
	for _, f := range extra {
		merge(f)
	}
	return nil
}

// appendMerged appends the body with these members and the user's, which replace
// those of the same name.
func appendMerged(dst []byte, fields []Field, r *Request) ([]byte, error) {
	err := eachExtra(r, func(f Field) { fields = setField(fields, f.Name, f.Value) })
	if err != nil {
		return dst, err
	}
	return appendObject(dst, fields), nil
}

// merge puts a member where it belongs. The object itself is merged key by
// key, so that a user who names one of its members keeps the others.
func (n *nested) merge(f Field) {
	isTop := slices.Contains(n.top, f.Name) ||
		slices.ContainsFunc(n.outer, func(o Field) bool { return o.Name == f.Name })
	switch {
	case f.Name == n.object:
		n.mergeObject(f.Value)
	case isTop:
		n.outer = setField(n.outer, f.Name, f.Value)
	default:
		n.inner = setField(n.inner, f.Name, f.Value)
	}
}

func (n *nested) mergeObject(value json.RawMessage) {
	members, err := Fields(value)
	if err != nil {
		n.replace = value
		return
	}
	n.replace = nil
	for _, m := range members {
		n.inner = setField(n.inner, m.Name, m.Value)
	}
}

// appendObject appends the JSON object with these members, in their order. Members
// without a value are left out.
func appendObject(dst []byte, fields []Field) []byte {
	dst = append(dst, '{')
	first := true
	for _, f := range fields {
		if f.Value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, f.Name), ':')
		dst = append(dst, f.Value...)
	}
	return append(dst, '}')
}

// jsonBool returns a JSON true or false.
func jsonBool(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}
