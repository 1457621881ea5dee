// This file lays the rules of a named scenario over a document.

package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/scenario"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Scenario is the scenario of a document, and how far the document keeps its rules.
type Scenario struct {
	*scenario.Scenario
	Overridden []string // rules that the document breaks and that were overridden, each as a sentence
	Deviations []Deviation
}

// Deviation is a value that the rules accept and with which a result does not count.
type Deviation struct {
	Check string // id of the check that fails
	Text  string // a sentence
}

// Scenario returns the scenario of the document; nil = it has none.
func (d *Document) Scenario() *Scenario { return d.scenario }

// scenarioLayer lays a scenario over a draft.
type scenarioLayer struct {
	draft     *Draft
	benchmark *tree.Node
	override  bool // broken rules are warnings
	out       *Scenario
}

// layScenario fills in what the scenario of a draft asks for and reports all rules that the draft breaks. It returns
// nil if there is no scenario, or an unknown one, which is reported.
func layScenario(d *Draft) *Scenario {
	benchmark := d.Root.Get("benchmark")
	if benchmark == nil || benchmark.Shape != tree.Object {
		return nil
	}
	name, override := benchmark.Get("scenario"), benchmark.Get("unsafeOverride")
	if name == nil || name.Shape != tree.Text {
		if isTrue(override) {
			d.Warn(override.Place, problem.CodeNoEffect, "%s has no effect: no scenario is given", problem.Label(override.Place))
		}
		return nil // another shape is reported by the decoder
	}
	rules, err := scenario.Find(name.Scalar)
	if err != nil {
		return nil // the decoder knows the names, too
	}
	l := &scenarioLayer{draft: d, benchmark: benchmark, override: isTrue(override), out: &Scenario{Scenario: rules}}
	name.Scalar = rules.ID()
	l.checkCorpus(name)
	for _, r := range rules.Rules {
		for _, at := range l.owners(r.Field) {
			l.lay(&r, at)
		}
	}
	return l.out
}

// owner is an object of the draft with a field.
type owner struct {
	object  *tree.Node
	pointer string // of the object
	field   string // name of the member
}

// owners returns the objects that have the field of a rule, which are made if they do not exist: each profiling phase,
// the dataset, or another section.
func (l *scenarioLayer) owners(path string) (all []owner) {
	if path == "randomSeed" {
		return []owner{{l.draft.Root, "#", path}}
	}
	first, rest, _ := strings.Cut(path, ".")
	switch first {
	case "phase":
		phases := l.list("phases", "profiling")
		for i, p := range phases.Items {
			if p.Shape == tree.Object && tree.PhaseKind(p) != "warmup" {
				all = append(all, below(p, CanonicalPointer(PhasePath(i)), rest))
			}
		}
		return all
	case "dataset":
		if datasets := l.list("datasets", "main"); len(datasets.Items) > 0 && datasets.Items[0].Shape == tree.Object {
			return []owner{below(datasets.Items[0], CanonicalPointer(datasetPath(0)), rest)}
		}
		return nil // it is reported
	}
	return []owner{below(l.benchmark, "#/benchmark", path)}
}

// list returns a list of the benchmark section, which is made with one object of a name if there is none.
func (l *scenarioLayer) list(field, name string) *tree.Node {
	if n := l.benchmark.Get(field); n != nil {
		return n
	}
	n := tree.ListNode(tree.ObjectNode(tree.Member{Name: "name", Value: tree.TextNode(name)}))
	n.Locate("#/benchmark/" + field)
	l.benchmark.Set(field, n)
	return n
}

// below returns the owner of a field that may be nested in objects.
func below(n *tree.Node, pointer, path string) owner {
	for {
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			return owner{n, pointer, path}
		}
		next := n.Get(name)
		if next == nil {
			next = tree.ObjectNode()
			next.Locate(pointer + "/" + name)
			n.Set(name, next)
		}
		n, pointer, path = next, pointer+"/"+name, rest
	}
}

// lay applies one rule to one field.
func (l *scenarioLayer) lay(r *scenario.Rule, at owner) {
	if at.object.Shape != tree.Object {
		return // a wrong type, which is reported
	}
	n := at.object.Get(at.field)
	switch {
	case r.Field == "phase.type":
		l.layType(r, at)
	case l.laneless(at), l.unless(r.Unless):
	case r.Absent && n != nil && !isFalse(n):
		l.broken(n.Place, r.Field, shownNode(n), "none", r.Why)
	case r.Absent:
	case r.AtLeast != nil && n == nil:
		l.fill(at, []byte(schema.FormatNumber(*r.Fill)))
	case r.AtLeast != nil:
		if v, ok := schema.ReadSeconds(n); ok && v < *r.AtLeast {
			l.broken(n.Place, r.Field, shownNode(n), "at least "+schema.FormatNumber(*r.AtLeast), r.Why)
		}
	case r.Equals != nil && n == nil:
		l.fill(at, r.Equals)
	case r.Equals != nil:
		if !isValue(n, r.Equals) {
			l.broken(n.Place, r.Field, shownNode(n), shownValue(r.Equals), r.Why)
		}
	case n == nil && string(r.Expected) != "null" && string(r.Expected) != "false":
		l.fill(at, r.Expected)
	case n != nil && !isValue(n, r.Expected) && !(string(r.Expected) == "false" && isFalse(n)):
		l.deviate(r, n.Place, shownNode(n))
	}
}

// layType makes a phase one of lanes. A type, or what decides on one, is named and taken out of the draft, so that it
// causes no other problems; if it is overridden it stays.
func (l *scenarioLayer) layType(r *scenario.Rule, at owner) {
	deciding := []string{"type", "rate", "sessionRate", "rateSeries", "users", "smoothness", "autoOffset", "startOffset", "endOffset"}
	for _, field := range deciding {
		n := at.object.Get(field)
		if n == nil || field == "type" && isValue(n, r.Equals) {
			continue
		}
		want := "none"
		if field == "type" {
			want = shownValue(r.Equals)
		}
		l.broken(n.Place, "phase."+field, shownNode(n), want, r.Why)
		if l.override {
			return
		}
		at.object.Drop(field)
	}
	if at.object.Get("type") == nil {
		l.fill(at, r.Equals)
	}
}

// laneless reports whether a field is one of lanes, and the phase was made another one by an override.
func (l *scenarioLayer) laneless(at owner) bool {
	ofLanes := slices.Contains(laneFields(), at.field) || at.field == "burstPhaseStarts"
	return ofLanes && scalarOf(at.object, "type") != AgenticReplay
}

// unless reports whether a field is true in a profiling phase.
func (l *scenarioLayer) unless(field string) bool {
	return field != "" && slices.ContainsFunc(l.owners(field), func(at owner) bool { return isTrue(at.object.Get(at.field)) })
}

// fill sets a value that the document does not give.
func (l *scenarioLayer) fill(at owner, value []byte) {
	n, _, err := tree.ParseJSON(value)
	if err != nil {
		panic(fmt.Sprintf("scenario %s: %v", l.out.ID(), err)) // it was read as JSON
	}
	n.Locate(at.pointer + "/" + at.field)
	at.object.Set(at.field, n)
	l.draft.Infer(strings.ReplaceAll(strings.TrimPrefix(n.Pointer, "#/"), "/", "."), json.RawMessage(value), "the scenario "+l.out.ID())
}

// broken reports a rule that the draft breaks.
func (l *scenarioLayer) broken(at tree.Place, field, got, want, why string) {
	detail := fmt.Sprintf("%s: got %s, required %s (%s)", l.label(at, field), got, want, why)
	if !l.override {
		l.draft.Fail(at, problem.CodeConflict, "%s", detail)
		return
	}
	l.out.Overridden = append(l.out.Overridden, detail)
	l.draft.Warn(at, problem.CodeScenario, "%s: overridden, so that the result does not count", detail)
}

// deviate notes a value that is accepted and with which a result does not count.
func (l *scenarioLayer) deviate(r *scenario.Rule, at tree.Place, got string) {
	detail := fmt.Sprintf("%s: got %s, expected %s (%s)", l.label(at, r.Field), got, shownValue(r.Expected), r.Why)
	l.out.Deviations = append(l.out.Deviations, Deviation{cmp.Or(r.Check, "settings"), detail})
	l.draft.Warn(at, problem.CodeScenario, "%s: accepted, and the result does not count", detail)
}

// label names a field by its flag, if that gave it.
func (l *scenarioLayer) label(at tree.Place, field string) string {
	if at.Flag != "" {
		return at.Flag
	}
	return field
}

// checkCorpus checks that the sessions are those of the scenario. Without a dataset there is nothing to run, whatever is
// overridden.
func (l *scenarioLayer) checkCorpus(name *tree.Node) {
	c := &l.out.Corpora
	example := "--public-dataset " + c.Names[0]
	datasets := l.benchmark.Get("datasets")
	if datasets == nil || datasets.Shape == tree.List && len(datasets.Items) == 0 {
		l.draft.Fail(name.Place, problem.CodeRequired, "%s %s: needs recorded sessions, for example %s",
			problem.Label(name.Place), l.out.Name, example)
		return
	}
	if datasets.Shape != tree.List || datasets.Items[0].Shape != tree.Object {
		return // it is reported
	}
	d := datasets.Items[0]
	set, path, format := d.Get("dataset"), d.Get("path"), d.Get("format")
	switch {
	case set != nil && slices.ContainsFunc(c.Names, func(n string) bool { return suggest.Fold(n) == suggest.Fold(set.Scalar) }):
	case set != nil:
		l.broken(set.Place, "dataset.dataset", set.Scalar, "one of the corpora of aiperfd scenario show "+l.out.Name, c.Why)
	case path != nil && (format == nil || suggest.Fold(format.Scalar) == suggest.Fold("weka_trace")):
		l.broken(path.Place, "dataset.path", path.Scalar, example, c.Why)
	default:
		l.draft.Fail(name.Place, problem.CodeRequired, "%s %s: needs recorded sessions of the format weka_trace, for example %s",
			problem.Label(name.Place), l.out.Name, example)
	}
}

// isFalse reports whether a node says false.
func isFalse(n *tree.Node) bool { return n.Shape == tree.Boolean && n.Scalar == "false" }

// isValue reports whether a node has a value, whatever its notation is.
func isValue(n *tree.Node, value []byte) bool {
	want, _, err := tree.ParseJSON(value)
	if err != nil {
		return false
	}
	if a, err := strconv.ParseFloat(n.Scalar, 64); err == nil && want.Shape == tree.Number {
		b, _ := strconv.ParseFloat(want.Scalar, 64)
		return a == b
	}
	return n.Shape < tree.List && suggest.Fold(n.Scalar) == suggest.Fold(want.Scalar) && (n.Scalar != "") == (want.Scalar != "")
}

// shownNode returns the value of a node for a message.
func shownNode(n *tree.Node) string {
	if n.Shape < tree.List {
		return problem.Clip(n.Scalar)
	}
	return n.Shape.String()
}

// shownValue returns a value of a rule for a message.
func shownValue(value []byte) string {
	if string(value) == "null" {
		return "none"
	}
	return string(bytes.Trim(value, `"`))
}
