package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/vary"
)

const varied = `
variables: {users: 4, key: "${KEY}"}
randomSeed: 7
sweep: {type: grid}
benchmark:
  model: m
  endpoint: {url: "http://user:pw@h:1", apiKey: sk-literal, headers: {Authorization: "Bearer {{ key }}"}}
  dataset: {isl: 512}
  warmup: {requests: 2}
  profiling: {concurrency: "{{ users }}", requests: "{{ phases.profiling.concurrency * 100 }}"}
`

func variedDraft(t *testing.T) *Draft {
	t.Helper()
	d, err := Read([]byte(varied), LoadOptions{Choices: someChoices(), LookupEnv: func(name string) (string, bool) { return "canary-1", name == "KEY" }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestVary(t *testing.T) {
	draft := variedDraft(t)
	for _, tt := range []struct {
		path  string
		value any
		want  string // of the fields that vary
	}{
		{"variables.users", 8, "concurrency 8 requests 800 isl 512 0"},
		{"concurrency", 3, "concurrency 3 requests 300 isl 512 0"},
		{"phases.profiling.concurrency", 3, "concurrency 3 requests 300 isl 512 0"},
		{"benchmark.phases.1.concurrency", 3, "concurrency 3 requests 300 isl 512 0"},
		{"profiling.concurrency", 3, "concurrency 3 requests 300 isl 512 0"},
		{"requests", "{{ users * 50 }}", "concurrency 4 requests 200 isl 512 0"},
		{"datasets.main.prompts.isl.mean", 100, "concurrency 4 requests 400 isl 100 0"},
		{"datasets.default.prompts.isl.stddev", 9, "concurrency 4 requests 400 isl 512 9"},
		{"dataset.prompts.isl", map[string]any{"mean": 5, "stddev": 1}, "concurrency 4 requests 400 isl 5 1"},
		{"benchmark", map[string]any{"profiling": map[string]any{"concurrency": 5}, "dataset": map[string]any{"isl": 6}}, "concurrency 5 requests 500 isl 6 0"},
		{"variables", map[string]any{"users": 6}, "concurrency 6 requests 600 isl 512 0"},
	} {
		v, err := draft.Vary([]vary.Assignment{{Path: tt.path, Value: tt.value}})
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		d, _, err := v.Load()
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		p, isl := d.Benchmark.Phases[1], d.Benchmark.Datasets[0].Prompts.ISL
		got := "concurrency " + schema.FormatNumber(float64(*p.Concurrency)) + " requests " + schema.FormatNumber(float64(*p.Requests)) +
			" isl " + schema.FormatNumber(*isl.Mean) + " " + schema.FormatNumber(isl.Stddev)
		if got != tt.want {
			t.Errorf("%s = %v gives %s, want %s", tt.path, tt.value, got, tt.want)
		}
	}
	if v, err := draft.Vary(nil); err != nil || v.Root.Get("sweep") != nil || draft.Root.Get("sweep") == nil {
		t.Errorf("no assignment: %v", err)
	}
}

func TestVaryProblems(t *testing.T) {
	_, err := variedDraft(t).Vary([]vary.Assignment{
		{Path: "concurency", Value: 1}, {Path: "phases.profling.rate", Value: 1}, {Path: "randomSeed", Value: 1}, {Path: "phases.profiling.concurrency.x", Value: 1}, {Path: "a..b", Value: 1}, {Path: "variables", Value: 3}, {Path: "datasets.3.entries", Value: 1},
	})
	want := `concurency: unknown path "concurency"; did you mean "concurrency"? (a path of one name is concurrency, prefill_concurrency, ` +
		`rate, requests, duration, sessions, users, smoothness, grace_period, concurrency_ramp, prefill_ramp, rate_ramp, rate_series)
phases.profling.rate: phases has no element "profling"; did you mean "profiling"? (it has warmup, profiling)
randomSeed: "randomSeed" cannot vary
phases.profiling.concurrency.x: benchmark/profiling/concurrency is a string and has no member "x"
a..b: "a..b" is not a path: a name is empty
variables: must be an object
datasets.3.entries: datasets has no element "3" (it has default)`
	got := strings.ReplaceAll(errText(err), "sweep: ", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// The text of a draft has no secrets and keeps what was written.
func TestDraftText(t *testing.T) {
	text := string(variedDraft(t).Text())
	for _, secret := range []string{"canary", "sk-literal", "pw"} {
		if strings.Contains(text, secret) {
			t.Errorf("the text contains %q: %s", secret, text)
		}
	}
	for _, kept := range []string{`"${KEY}"`, `"{{ users }}"`, `"Bearer {{ key }}"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("the text does not contain %s: %s", kept, text)
		}
	}
	if !json.Valid([]byte(text)) {
		t.Errorf("not JSON: %s", text)
	}
	if _, err := Read([]byte(text), LoadOptions{}); err != nil {
		t.Error(err)
	}
}
