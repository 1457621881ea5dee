package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadPhases reads a document with these phases, which may name files of a folder.
func loadPhases(t *testing.T, phases string, o LoadOptions) (*Document, error) {
	t.Helper()
	o.Choices = someChoices()
	d, _, err := Load([]byte("benchmark: {model: m, endpoint: {streaming: true}, "+phases+"}"), o)
	return d, err
}

// The short and the long forms of ramps and series, and the types that follow.
func TestRamps(t *testing.T) {
	dir := t.TempDir()
	series := filepath.Join(dir, "s.json")
	if err := os.WriteFile(series, []byte(`{"points": [{"time_s": 0, "qps": 5}, {"time_s": 2, "qps": 10}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	points := &RateSeries{Points: []Point{{TimeS: 0, QPS: 5}, {TimeS: 2, QPS: 10}}}
	ramp := func(d Seconds, strategy string) *Ramp { return &Ramp{Duration: d, Strategy: strategy} }
	tests := []struct {
		text string
		want Phase
	}{
		{`{requests: 200, concurrency: 8, concurrency_ramp: 30}`, Phase{Type: "concurrency", ConcurrencyRamp: ramp(30, "linear")}},
		{`{requests: 200, concurrency: 8, concurrencyRamp: 2 min}`, Phase{Type: "concurrency", ConcurrencyRamp: ramp(120, "linear")}},
		{
			`{requests: 200, concurrency: 8, concurrencyRamp: {duration: 5s, strategy: Exponential}, prefillConcurrency: 8, prefill_ramp: 3}`,
			Phase{Type: "concurrency", ConcurrencyRamp: ramp(5, "exponential"), PrefillConcurrency: new(8), PrefillRamp: ramp(3, "linear")},
		},
		{`{requests: 200, rate: 8, rateRamp: {duration: 5s, strategy: poisson}, prefillConcurrency: 9}`,
			Phase{Type: "poisson", RateRamp: ramp(5, "poisson"), PrefillConcurrency: new(9)}},
		{`{requests: 200, rateSeries: [{time_s: 0, qps: 5}, {timeS: 2, qps: 10}], excludeRamp: true, rateRamp: 1}`,
			Phase{Type: "poisson", RateSeries: points, RateRamp: ramp(1, "linear"), ExcludeRamp: true}},
		{`{requests: 200, rate_series: {points: [{time_s: 0, qps: 5}, {time_s: 2, qps: 10}]}, type: constant}`, Phase{Type: "constant", RateSeries: points}},
		{`{requests: 200, rate_series: ` + series + `}`, Phase{Type: "poisson", RateSeries: points}},
		{`{requests: 200, rateSeries: {path: ` + series + `}, smoothness: 2}`, Phase{Type: "gamma", RateSeries: points}},
	}
	for _, tt := range tests {
		d, err := loadPhases(t, "phases: "+tt.text, LoadOptions{})
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		p := d.Benchmark.Phases[0]
		got := Phase{
			Type: p.Type, ConcurrencyRamp: p.ConcurrencyRamp, PrefillConcurrency: p.PrefillConcurrency, PrefillRamp: p.PrefillRamp,
			RateRamp: p.RateRamp, RateSeries: p.RateSeries, ExcludeRamp: p.ExcludeRamp,
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestRampProblems(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"bad.json": `[{"time_s": 0, "qps": 0}, 3]`, "good.json": `[{"time_s": 0, "qps": 1}, {"time_s": 1, "qps": 2}]`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const at = "#/benchmark/phases"
	tests := []struct{ text, want string }{
		{`{requests: 200, concurrency: 8, concurrencyRamp: 0}`, at + "/concurrencyRamp out-of-range"},
		{`{requests: 200, concurrency: 8, concurrencyRamp: {duration: 3, strategy: sudden}}`, at + "/concurrencyRamp/strategy bad-enum"},
		{`{requests: 200, concurrency: 8, concurrencyRamp: {strategy: linear}}`, at + "/concurrencyRamp/duration required"},
		{`{requests: 200, concurrency: 8, concurrencyRamp: [3]}`, at + "/concurrencyRamp wrong-type"},
		{`{requests: 200, concurrency: 8, concurrencyRamp: soon}`, at + "/concurrencyRamp wrong-type"},
		{`{requests: 200, rate: 8, concurrencyRamp: 3}`, at + "/concurrencyRamp conflict"},
		{`{requests: 200, concurrency: 8, rateRamp: 3}`, at + "/rateRamp conflict"},
		{`{requests: 200, concurrency: 8, prefillConcurrency: 9}`, at + "/prefillConcurrency out-of-range"},
		{`{requests: 200, concurrency: 8, prefillConcurrency: 0}`, at + "/prefillConcurrency out-of-range"},
		{`{requests: 200, concurrency: 8, excludeRamp: true}`, at + "/excludeRamp conflict"},
		{`{requests: 200, type: concurrency, rateSeries: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, at + "/rateSeries conflict"},
		{`{requests: 200, rate: 3, rateSeries: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, at + "/rateSeries conflict"},
		{`{requests: 200, rateSeries: {}}`, at + "/rateSeries/points required"},
		{`{requests: 200, rateSeries: [{time_s: 0, qps: 1}]}`, at + "/rateSeries out-of-range"},
		{`{requests: 200, rateSeries: [{time_s: 1, qps: 1}, {time_s: 1, qps: 2}]}`, at + "/rateSeries/1/time_s out-of-range"},
		{`{requests: 200, rateSeries: [{time_s: -1, qps: 1}, {time_s: 1, qps: 0}]}`, at + "/rateSeries/0/time_s out-of-range; " + at + "/rateSeries/1/qps out-of-range"},
		{`{requests: 200, rateSeries: [{time_s: 1}, {qps: 2}]}`, at + "/rateSeries/0/qps required; " + at + "/rateSeries/1/timeS required"},
		{`{requests: 200, rateSeries: {path: good.json, points: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}}`, at + "/rateSeries/path conflict"},
		{`{requests: 200, rateSeries: none.json}`, at + "/rateSeries file-not-allowed"},
		{`{requests: 200, rateSeries: bad.json}`, at + "/rateSeries out-of-range; " + at + "/rateSeries out-of-range"},
	}
	for _, tt := range tests {
		_, err := loadPhases(t, "phases: "+tt.text, LoadOptions{})
		if diff := cmp.Diff(tt.want, codes(t, err)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s\n%v", tt.text, diff, err)
		}
	}
	// A document from the network reads no file of this machine.
	_, err := loadPhases(t, "phases: {requests: 200, rateSeries: good.json}", LoadOptions{Untrusted: true})
	if got, want := codes(t, err), at+"/rateSeries file-not-allowed"; got != want {
		t.Errorf("untrusted: %s, want %s", got, want)
	}
	if _, err = loadPhases(t, "phases: {requests: 200, rateSeries: "+filepath.Join(dir, "good.json")+"}", LoadOptions{Untrusted: true, DataRoots: []string{dir}}); err != nil {
		t.Errorf("in a data root: %v", err)
	}
}

// A template of AIPerf has a ramp of nothing.
func TestPrefillRampOfNothing(t *testing.T) {
	d, warnings, err := Load([]byte("benchmark: {model: m, phases: {requests: 200, prefillRamp: 3}}"), LoadOptions{Choices: someChoices()})
	want := "prefillRamp has no effect without a prefill concurrency"
	if err != nil || d == nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0].Detail, want) {
		t.Errorf("error %v, warnings %v; want %s", err, warnings, want)
	}
}

func TestPrefillNeedsStreaming(t *testing.T) {
	_, _, err := Load([]byte("benchmark: {model: m, phases: {requests: 200, concurrency: 3, prefillConcurrency: 1}}"), LoadOptions{Choices: someChoices()})
	if got, want := codes(t, err), "#/benchmark/phases/prefillConcurrency conflict"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
