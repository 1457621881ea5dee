package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// The failures are those of the phase in which they happened, and percentiles of too few requests have a star.
func TestPhases(t *testing.T) {
	def, _ := catalogue.Lookup("request_latency")
	phase := func(name string, completed, errors int64, unsupported ...metric.Stat) run.Phase {
		m := metric.Result{Def: def, Count: completed - errors, Confidence: &metric.Confidence{Unsupported: unsupported}}
		m.Set(metric.P50, 20)
		m.Set(metric.P99, 30)
		return run.Phase{
			Stats:   bench.PhaseStats{Name: name, Kind: bench.Profiling, Completed: completed, Errors: errors},
			Metrics: metric.Results{m},
		}
	}
	got := byPhase(&run.Snapshot{Phases: []run.Phase{phase("first", 120, 40, metric.P99), phase("second", 800, 0)}})
	want := [][]string{
		{"first", "80", "40", "–", "–", "–", "–", "20", "30*"},
		{"second", "800", "0", "–", "–", "–", "–", "20", "30"},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if want := "* after a percentile: there are too few independent requests for it."; got.More != want {
		t.Errorf("below them is %q, want %q", got.More, want)
	}
	if one := byPhase(&run.Snapshot{Phases: []run.Phase{phase("only", 120, 40)}}); one.Rows != nil {
		t.Errorf("one phase has a table of its own: %v", one.Rows)
	}
}

// What is said below the table of an open loop are whole sentences.
func TestOpenLoopText(t *testing.T) {
	s := &verdict.Saturation{AskedRate: 12, BacklogMax: 9, Message: "asked 12/s, sent 11.1/s: 40 requests failed"}
	got := openLoop(&run.Snapshot{Saturation: s}).More
	const want = "Asked 12/s, sent 11.1/s: 40 requests failed. Most requests that were due and had not returned: 9. " +
		"Due without an answer: 0."
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
