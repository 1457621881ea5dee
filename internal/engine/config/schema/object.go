package schema

import (
	"bytes"
	"encoding/json"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// Object is a JSON object whose members keep their order and their exact
// numbers, for bodies that are passed on untouched. Their names are distinct.
type Object []Member

// Member is one name and value of an [Object].
type Member struct {
	Name  string
	Value json.RawMessage
}

// Set adds a member, or replaces the member of the same name in its place.
func (o *Object) Set(m Member) {
	if i := slices.IndexFunc(*o, func(have Member) bool { return have.Name == m.Name }); i >= 0 {
		(*o)[i] = m
		return
	}
	*o = append(*o, m)
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(tree.Quote(m.Name))
		out.WriteByte(':')
		out.Write(m.Value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Decode reads an object as it is.
func (o *Object) Decode(f Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object")
	}
	n.Walk(func(below *tree.Node) {
		if below.Shape == tree.Text && below.Scalar == redact.Placeholder && !f.Options.Stored {
			f.Fail(below.Place, problem.CodeRedacted, "%s: contains a redaction placeholder; give the actual value", problem.Label(below.Place))
		}
		f.Take(below)
	})
	*o = ObjectOf(n)
	return true
}

// ObjectOf returns the members of an object node, whose names are distinct.
func ObjectOf(n *tree.Node) Object {
	var o Object
	for _, m := range n.Members {
		o = append(o, Member{Name: m.Name, Value: m.Value.JSON()})
	}
	return o
}
