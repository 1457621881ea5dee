package flags

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/suggest"
)

// TestReferenceTexts: every field and every short form has its own text or
// its flag's, which does not speak of flags.
func TestReferenceTexts(t *testing.T) {
	root := Reference(new(plan.Choices()))
	root.Walk(func(f *Field) {
		all := append([]Field{*f}, f.Short...)
		for i, m := range all {
			if strings.HasSuffix(m.Path, ".*") && m.Kind != KindObject {
				continue // the text of the list describes its elements
			}
			switch {
			case m.Text == "":
				t.Errorf("%s has no text: add a section to fields.md, or help to its flag", m.Path)
			case !strings.HasSuffix(m.Text, "."):
				t.Errorf("%s: the text %q is no sentence", m.Path, m.Text)
			case strings.Contains(m.Text+m.Default, "--"):
				t.Errorf("%s speaks of flags (%q, default %q): add a section to fields.md", m.Path, m.Text, m.Default)
			case m.Kind == KindBoolean && (strings.HasPrefix(m.Text, "Do not ") || strings.Contains(m.Text, " this flag")):
				t.Errorf("%s has the text of a flag that negates it or speaks of one (%q): add a section to fields.md", m.Path, m.Text)
			case i > 0 && f.Kind != KindObject && f.Kind != KindList && f.Kind != KindDistribution && f.Path != "benchmark.artifacts.level":
				t.Errorf("%s has a short form that the reference does not describe", f.Path)
			}
		}
	})
}

// TestReferenceRows: every row describes a field that exists, and repeats nothing
// of the flag table.
func TestReferenceRows(t *testing.T) {
	fields := map[string]bool{}
	root := Reference(new(plan.Choices()))
	root.Walk(func(f *Field) {
		fields[f.Path] = true
		for _, s := range f.Short {
			fields[s.Path] = true
		}
	})
	help := map[string]string{}
	known := plan.Choices()
	for _, o := range supportedOptions() {
		if field := fieldSet(o); help[field] == "" {
			help[field] = known.Expand(o.help)
		}
	}
	seen := map[string]bool{}
	for _, row := range schema.Fields() {
		switch {
		case !fields[row.Path]:
			t.Errorf("the row %s is of no field", row.Path)
		case seen[row.Path]:
			t.Errorf("there are two rows of %s", row.Path)
		}
		seen[row.Path] = true
	}
	root.Walk(func(f *Field) {
		if !seen[f.Path] && (!strings.HasSuffix(f.Path, ".*") || f.Kind == KindObject) {
			t.Errorf("%s has no row in the table of fields", f.Path)
		}
	})
	for path, text := range schema.FieldTexts() {
		switch {
		case !fields[path]:
			t.Errorf("the text of %s is of no field", path)
		case text == help[path]:
			t.Errorf("the text of %s repeats the help of its flag", path)
		}
	}
}

// TestReferenceDefaults: a default that depends on something else is in words, and
// the help of a flag states the default that the loader applies.
func TestReferenceDefaults(t *testing.T) {
	inferred := map[string]bool{}
	for _, d := range filledDocument().Defaulted() {
		path := strings.ReplaceAll(strings.TrimPrefix(d.Pointer, "#/"), "/", ".")
		inferred[tree.GenericPath(path)] = true
	}
	if len(inferred) < 4 {
		t.Fatalf("only %d defaults were inferred", len(inferred))
	}
	values := map[string]any{}
	root := Reference(new(plan.Choices()))
	root.Walk(func(f *Field) {
		if f.Value != nil {
			values[f.Path] = f.Value
		}
		if inferred[f.Path] && (f.Value != nil || f.Default == "") {
			t.Errorf("%s: the default %q depends on other fields: add it in words to its row", f.Path, f.Default)
		}
	})
	for _, o := range supportedOptions() {
		value, ok := values[fieldSet(o)]
		if !ok || o.def == "" || strings.HasPrefix(o.path, "warmup.") || strings.HasSuffix(o.path, ".stddev") {
			continue
		}
		def, _, _ := strings.Cut(o.def, " if another ") // image or audio option is given
		if def != fmt.Sprint(value) && o.path != "endpoint.authStyle" {
			t.Errorf("%s has the default %q, the document %v", o.name, o.def, value)
		}
	}
}

// TestUnsupportedValues: a choice that is refused as AIPerf's is not among those that
// are accepted.
func TestUnsupportedValues(t *testing.T) {
	lacks := 0
	root := Reference(new(plan.Choices()))
	root.Walk(func(f *Field) {
		for name := range strings.FieldsSeq(schema.FieldAt(f.Path).Lacked) {
			lacks++
			if slices.ContainsFunc(append(f.Choices, f.Aliases...), func(c string) bool { return suggest.Fold(c) == suggest.Fold(name) }) {
				t.Errorf("%s has %s, and unsupportedValues lists it", f.Path, name)
			}
		}
	})
	if lacks < 3 {
		t.Errorf("only %d choices are unsupported", lacks)
	}
}

// TestReferenceLimits: what tags and checks allow is in the reference.
func TestReferenceLimits(t *testing.T) {
	got := map[string]Field{}
	root := Reference(new(plan.Choices()))
	root.Walk(func(f *Field) { got[f.Path] = *f })
	rate := got["benchmark.phases.*.rate"]
	if rate.Kind != KindNumber || rate.Least == nil || *rate.Least != 0 || !rate.Above || rate.Unit != "1/s" {
		t.Errorf("rate = %+v, want a number above 0 per second", rate)
	}
	isl := got["benchmark.datasets.*.prompts.isl"]
	if isl.Kind != KindDistribution || *isl.Least != 1 || isl.Value != 550.0 || len(isl.Flags) != 2 {
		t.Errorf("isl = %+v, want a distribution from 1, by default 550", isl)
	}
	width := got["benchmark.datasets.*.images.width"]
	if width.Most == nil || *width.Most != config.MaxSide {
		t.Errorf("width = %+v, want at most %d", width, config.MaxSide)
	}
	if kind := got["benchmark.phases.*.kind"]; fmt.Sprint(kind.Choices) != "[warmup profiling]" {
		t.Errorf("kind has the choices %v", kind.Choices)
	}
	if grace := got["benchmark.phases.*.gracePeriod"]; !grace.Infinite || got["benchmark.phases.*.duration"].Infinite {
		t.Error("want gracePeriod alone to be infinite")
	}
}
