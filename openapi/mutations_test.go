package openapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
	"aiperfd/openapi"
)

// documentSchema compiles the JSON Schema of documents.
func documentSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := openapi.DocumentSchema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("document.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mutator changes documents in one place at a time.
type mutator struct {
	*rand.Rand
	fields map[string][]string // members of the objects of a document, by the name of any member
}

// slot is a place in a document: a member or an element, or the members of an object.
type slot struct {
	parent any
	key    string
	index  int
}

func (s slot) set(v any) {
	switch p := s.parent.(type) {
	case map[string]any:
		p[s.key] = v
	case []any:
		p[s.index] = v
	}
}

// slots lists the places below v in a fixed order, and the objects.
func slots(v any) (all []slot, objects []map[string]any) {
	visit := func(child any) {
		below, inner := slots(child)
		all, objects = append(all, below...), append(objects, inner...)
	}
	switch v := v.(type) {
	case map[string]any:
		objects = append(objects, v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, slot{parent: v, key: key})
			visit(v[key])
		}
	case []any:
		for i := range v {
			all = append(all, slot{parent: v, index: i})
			visit(v[i])
		}
	}
	return all, objects
}

// values are of all types, at and beyond the limits of fields.
func values() []any {
	return []any{
		nil, true, false, 0.0, 1.0, -1.0, 0.5, 2.0, 1e9, 1.5, 100.0, 70000.0, 1e-9, "", "x", "5", "inf", "30s", "5 min", "-1", "none", "2.0", "1.1",
		"${USERS}", "${STREAM}", "{{ 4 }}", "{{ 'x' }}", []any{}, []any{"x"}, []any{1.0}, []any{nil}, map[string]any{}, map[string]any{"x": 1.0},
		map[string]any{"name": "x"}, map[string]any{"mean": 5.0}, map[string]any{"mean": 5.0, "stddev": 1.0}, map[string]any{"enabled": false},
		[]any{map[string]any{"name": "x"}}, map[string]any{"points": []any{map[string]any{"value": 1.0, "weight": 1.0}}},
	}
}

func (m *mutator) mutate(document any, choices []string) string {
	all, objects := slots(document)
	at := all[m.IntN(len(all))]
	object := objects[m.IntN(len(objects))]
	switch m.IntN(8) {
	case 0, 1:
		v := values()[m.IntN(len(values()))]
		at.set(v)
		return fmt.Sprintf("value %v at %s", v, at.key)
	case 2:
		choice := choices[m.IntN(len(choices))]
		at.set(choice)
		return fmt.Sprintf("choice %s at %s", choice, at.key)
	case 3:
		object["unknown"] = 1.0
		return "unknown member"
	case 4:
		delete(object, at.key)
		return "without " + at.key
	}
	// Most of the time: a field of the object with any value.
	names := m.fields[""]
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if f := m.fields[key]; len(f) > 0 {
			names = f
		}
	}
	name := names[m.IntN(len(names))]
	v := values()[m.IntN(len(values()))]
	if m.IntN(4) == 0 {
		v = choices[m.IntN(len(choices))]
	}
	object[name] = v
	return fmt.Sprintf("field %s = %v", name, v)
}

// structural are codes of problems about one value. The others are about values together,
// or about the world, and a schema cannot know them.
func structural() []string {
	return []string{problem.CodeUnknownField, problem.CodeWrongType, problem.CodeBadEnum, problem.CodeOutOfRange, problem.CodeUnsupported}
}

// TestMutatedDocuments changes documents at random: the JSON Schema accepts exactly what the
// loader accepts, except for rules about several values.
func TestMutatedDocuments(t *testing.T) {
	s := documentSchema(t)
	known := plan.Choices()
	root := flags.Reference(&known)
	m := &mutator{Rand: rand.New(rand.NewPCG(1, 2)), fields: map[string][]string{}}
	var choices []string
	root.Walk(func(f *flags.Field) {
		choices = append(choices, f.Choices...)
		var names []string
		for _, member := range f.Fields {
			names = append(names, member.Name)
		}
		for _, name := range names {
			m.fields[name] = names
		}
		if f.Path == "benchmark" {
			m.fields[""] = names
		}
	})
	bases := accepted()
	full, err := os.ReadFile("../examples/bench-full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		bases = append(bases, string(full))
	}
	const documents = 2000
	semantic, accepted := map[string]int{}, 0
	for i := range documents {
		document := value(t, bases[i%len(bases)])
		change := m.mutate(document, choices)
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		schemaErr, loadErr := s.Validate(document), load(string(text))
		switch {
		case loadErr == nil && schemaErr != nil:
			t.Errorf("%s: the loader accepts and the schema refuses\n%s\n%v", change, text, schemaErr)
		case loadErr != nil && schemaErr == nil:
			rules := crossing(loadErr)
			if strings.Contains(change, "${") || strings.Contains(change, "{{") {
				rules = []string{"the value of a reference or template does not fit"}
			}
			if rules == nil {
				t.Errorf("%s: the schema accepts and the loader refuses: %v\n%s", change, loadErr, text)
			}
			for _, rule := range rules {
				semantic[rule]++
			}
		case loadErr == nil:
			accepted++
		}
	}
	if accepted < documents/5 || accepted > documents*4/5 {
		t.Errorf("%d of %d documents were accepted; the mutations do not tell much", accepted, documents)
	}
	t.Logf("%d of %d accepted by both; refused by the loader alone, by rule:", accepted, documents)
	for _, rule := range slices.Sorted(maps.Keys(semantic)) {
		t.Logf("  %3d %s", semantic[rule], rule)
	}
}

// crossing returns the rules about several values that a document breaks, as code and
// sentence; nil if it breaks one about a single value.
func crossing(err error) []string {
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		return nil
	}
	var rules []string
	twice := func(p problem.Problem) bool { return strings.Contains(p.Detail, "is given twice") }
	for _, p := range invalid.Problems {
		if !slices.ContainsFunc(invalid.Problems, twice) && slices.Contains(structural(), p.Code) && !slices.ContainsFunc(sentences(), func(part string) bool { return strings.Contains(p.Detail, part) }) {
			return nil
		}
		rules = append(rules, p.Code+" "+p.Detail)
	}
	return rules
}

// sentences are in problems with a structural code whose rule is about more than one value,
// or about more of a text than a pattern says.
func sentences() []string {
	return []string{
		"add up to", "unless the phase is named so", "must be below 1 (up to 1",
		"must be less than the mean", "must be at least min", "1 to 96 kHz, or from 1000",
		"Windows device name", "is not a metric", "must begin with / and contain no spaces", "must be a URL with a host",
		"must be later than the point before", "must be at most the concurrency", "must not contain spaces", "must be a header name", "must be a host name", "must be the URL of a proxy", "must be a path on the server",
	}
}
