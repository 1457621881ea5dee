package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
		o.set(m)
	}
	return o
}

func (o *Object) set(m Member) {
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
		out.Write(quote(m.Name))
		out.WriteByte(':')
		out.Write(m.Value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON reads a JSON object and keeps order and exact numbers.
func (o *Object) UnmarshalJSON(b []byte) error {
	var r report
	n, err := parseJSON(b, &r)
	if err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	if n.shape != object || len(r.problems) > 0 {
		return errors.New("read object: not an object with distinct names")
	}
	*o = n.toObject()
	return nil
}

// decode reads an object as it is.
func (o *Object) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object")
	}
	n.walk(func(below *node) {
		if below.shape == text && below.scalar == redact.Placeholder && !f.options.Stored {
			f.fail(below.place, CodeRedacted, "%s: contains a redaction placeholder; give the actual value", label(below.place))
		}
		f.doc.injected = append(f.doc.injected, below.secrets...)
	})
	*o = n.toObject()
	return true
}

func (n *node) toObject() Object {
	var o Object
	for _, m := range n.members {
		o.members = append(o.members, Member{Name: m.name, Value: m.value.json()}) // names are distinct
	}
	return o
}
