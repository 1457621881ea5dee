package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// Object is a JSON object whose members keep their order and their exact
// numbers, for bodies that are passed on untouched. The zero Object is empty.
type Object struct{ members []Member }

// Member is one name and value of an [Object].
type Member struct {
	Name  string
	Value json.RawMessage
}

// NewObject returns an object of these members; a later member replaces an
// earlier one of the same name, in the earlier one's place.
func NewObject(members ...Member) Object {
	var o Object
	for _, m := range members {
		o.Set(m)
	}
	return o
}

// Set adds a member, or replaces the member of the same name in its place.
func (o *Object) Set(m Member) {
	for i := range o.members {
		if o.members[i].Name == m.Name {
			o.members[i] = m
			return
		}
	}
	o.members = append(o.members, m)
}

// Members returns the members in order. Do not change them.
func (o Object) Members() []Member { return o.members }

// Len returns the number of members.
func (o Object) Len() int { return len(o.members) }

// Equal reports whether both have the same members in the same order, byte for
// byte.
func (o Object) Equal(p Object) bool {
	return slices.EqualFunc(o.members, p.members, func(a, b Member) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value)
	})
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o.members {
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

// UnmarshalJSON reads a JSON object and keeps order and exact numbers.
func (o *Object) UnmarshalJSON(b []byte) error {
	n, duplicates, err := tree.ParseJSON(b)
	if err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	if n.Shape != tree.Object || len(duplicates) > 0 {
		return errors.New("read object: not an object with distinct names")
	}
	*o = ObjectOf(n)
	return nil
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
		o.members = append(o.members, Member{Name: m.Name, Value: m.Value.JSON()})
	}
	return o
}
