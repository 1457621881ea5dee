package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/results"
)

// formatExample returns the JSON example in a section of the page of formats.
func formatExample(t *testing.T, section string) []byte {
	t.Helper()
	page, err := texts.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "## "+section+"\n")
	_, text, begun := strings.Cut(text, "```json\n")
	text, _, ended := strings.Cut(text, "\n```")
	if !found || !begun || !ended || !json.Valid([]byte(text)) {
		t.Fatalf("section %q has no valid example: %s", section, text)
	}
	return []byte(text)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRecordExample: the example is what is written of the record that it describes.
func TestRecordExample(t *testing.T) {
	text := formatExample(t, "Records")
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		t.Fatal(err)
	}
	line.WriteByte('\n')
	files := results.Open(t.TempDir(), "")
	if err := os.WriteFile(filepath.Join(files.Dir, files.Names.Records), line.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	log := files.Measured(func(int64, int64) {})
	var records []*bench.Record
	for r, err := range log.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	var again bytes.Buffer
	w := export.NewRecordWriter(&again, export.RecordOptions{
		Clock: log.Clock, Worker: "worker-0", Metrics: measure.Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}},
		Phases: []export.PhaseName{{Name: "warm", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "first", Kind: bench.Profiling}},
	})
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want, got := decode(t, text), decode(t, again.Bytes())
	metrics := got["metrics"].(map[string]any)
	for tag := range metrics {
		if _, shown := want["metrics"].(map[string]any)[tag]; !shown {
			delete(metrics, tag) // the example leaves most of them out
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("example (-want +got):\n%s", diff)
	}
}

// TestExamples: the members of the other examples are those of the files that the tests
// of the package export compare.
func TestExamples(t *testing.T) {
	for section, golden := range map[string]string{"Phases": "phase_manifest.json", "Time slices": "timeslices.json", "Summary": "aiperf_0.13.json"} {
		data, err := os.ReadFile("../../internal/engine/export/testdata/" + golden)
		if err != nil {
			t.Fatal(err)
		}
		known := append(members(decode(t, data)), "token_counts", "dataset", "time_to_first_token", "request_throughput")
		for _, name := range members(decode(t, formatExample(t, section))) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s has no member %q", section, golden, name)
			}
		}
	}
	for _, section := range []string{"Raw records", "Inputs", "Outputs", "Markers"} {
		formatExample(t, section)
	}
}

// members returns the names of the members of an object, and of the objects in its lists.
func members(v map[string]any) (names []string) {
	for name, value := range v {
		names = append(names, name)
		list, _ := value.([]any)
		for _, element := range list {
			if o, ok := element.(map[string]any); ok {
				names = append(names, members(o)...)
			}
		}
	}
	return names
}
