package sweep

import (
	"bytes"
	"encoding/json"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// Values are values of any type, in their order.
type Values []any

// Decode reads a list.
func (v *Values) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.List {
		return f.WrongType(n, f.Path, "a list of values")
	}
	for _, item := range n.Items {
		*v = append(*v, valueOf(item))
	}
	return true
}

// valueOf returns the value of a node; numbers keep their spelling.
func valueOf(n *tree.Node) any {
	dec := json.NewDecoder(bytes.NewReader(n.JSON()))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic("decode the JSON of a node: " + err.Error()) // nodes encode as JSON
	}
	return v
}

// Parameter is one swept place of the document.
type Parameter struct {
	Path   string
	Values Values
	Place  tree.Place // of the values
}

// Parameters are the swept places, in the order of the document.
type Parameters []Parameter

// Decode reads an object with lists of values.
func (p *Parameters) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with paths and lists of values")
	}
	for _, m := range n.Members {
		at := schema.Join(f.Path, m.Name)
		f.Given[at] = m.Value
		one := Parameter{Path: m.Name, Place: m.Value.Place}
		item := schema.Target{Decoder: f.Decoder, Path: at}
		switch {
		case !one.Values.Decode(item, m.Value):
		case len(one.Values) == 0:
			f.Fail(m.Value.Place, problem.CodeRequired, "%s: needs at least one value", problem.Label(m.Value.Place))
		default:
			*p = append(*p, one)
		}
	}
	return true
}

// MarshalJSON writes what Decode reads.
func (p Parameters) MarshalJSON() ([]byte, error) {
	var members []tree.Member
	for _, one := range p {
		data, err := json.Marshal(one.Values)
		if err != nil {
			return nil, err
		}
		n, _, err := tree.ParseJSON(data)
		if err != nil {
			return nil, err
		}
		members = append(members, tree.Member{Name: one.Path, Value: n})
	}
	return tree.ObjectNode(members...).JSON(), nil
}

// Scenario is one named variation.
type Scenario struct {
	Name      string      `json:"name"`
	Variables Tree        `json:"variables,omitzero"` // merged over the variables
	Benchmark Tree        `json:"benchmark,omitzero"` // merged over the benchmark
	Values    Assignments `json:"values,omitempty"`   // by path
}

// Tree is a part of a document, as it is; the zero Tree is none.
type Tree struct{ value any }

// Decode reads an object.
func (t *Tree) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object")
	}
	t.value = valueOf(n)
	return true
}

// MarshalJSON writes the object.
func (t Tree) MarshalJSON() ([]byte, error) { return json.Marshal(t.value) }

// Assignments are values by path, in the order of the document.
type Assignments []vary.Assignment

// Decode reads an object.
func (a *Assignments) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with paths and values")
	}
	for _, m := range n.Members {
		*a = append(*a, vary.Assignment{Path: m.Name, Value: valueOf(m.Value)})
	}
	return true
}

// MarshalJSON writes what Decode reads.
func (a Assignments) MarshalJSON() ([]byte, error) {
	values := make(map[string]any, len(a))
	for _, one := range a {
		values[one.Path] = one.Value
	}
	return json.Marshal(values)
}
