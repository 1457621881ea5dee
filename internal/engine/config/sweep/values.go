package sweep

import (
	"bytes"
	"encoding/json"
	"strings"

	"aiperfd/internal/engine/config/decode"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/study/cell"
)

// Values are values of any type, in their order.
type Values []any

// Decode reads a list.
func (v *Values) Decode(f decode.Field, n *tree.Node) bool {
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
	at     tree.Place
}

// Parameters are the swept places, in the order of the document.
type Parameters []Parameter

// Decode reads an object with lists of values.
func (p *Parameters) Decode(f decode.Field, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with paths and lists of values")
	}
	for _, m := range n.Members {
		at := decode.Join(f.Path, m.Name)
		f.Given[at] = m.Value
		one := Parameter{Path: m.Name, at: m.Value.Place}
		item := decode.Field{Decoder: f.Decoder, Path: at}
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
	Name      string
	Variables any               // merged over the variables; nil = none
	Benchmark any               // merged over the benchmark; nil = nothing
	Values    []cell.Assignment // by path
	at        tree.Place
}

// scenario is what a scenario looks like in a document.
type scenario struct {
	Name      string `json:"name" validate:"min=1"`
	Variables object `json:"variables"`
	Benchmark object `json:"benchmark"`
	Values    object `json:"values"`
}

// object is any object.
type object struct{ node *tree.Node }

// Decode reads an object as it is.
func (o *object) Decode(f decode.Field, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object")
	}
	o.node = n
	return true
}

// Decode reads a scenario.
func (s *Scenario) Decode(f decode.Field, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with name and benchmark, variables or values")
	}
	var doc scenario
	f.Fields(n, &doc, f.Path)
	*s = Scenario{Name: strings.TrimSpace(doc.Name), at: n.Place}
	if doc.Variables.node != nil {
		s.Variables = valueOf(doc.Variables.node)
	}
	if doc.Benchmark.node != nil {
		s.Benchmark = valueOf(doc.Benchmark.node)
	}
	if doc.Values.node != nil {
		for _, m := range doc.Values.node.Members {
			s.Values = append(s.Values, cell.Assignment{Path: m.Name, Value: valueOf(m.Value)})
		}
	}
	return true
}

// MarshalJSON writes what Decode reads.
func (s Scenario) MarshalJSON() ([]byte, error) {
	values := make(map[string]any, len(s.Values))
	for _, a := range s.Values {
		values[a.Path] = a.Value
	}
	return json.Marshal(struct {
		Name      string         `json:"name"`
		Variables any            `json:"variables,omitempty"`
		Benchmark any            `json:"benchmark,omitempty"`
		Values    map[string]any `json:"values,omitempty"`
	}{s.Name, s.Variables, s.Benchmark, values})
}
