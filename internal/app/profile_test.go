package app

import (
	"errors"
	"io"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	studyexport "aiperfd/internal/study/export"
)

// A study in which no run counts has an outcome of its own, also without client.strict.
func TestOutcomeOfAStudyWithoutResults(t *testing.T) {
	parsed, err := flags.Parse([]string{"--model", "m"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := parsed.Document()
	if err != nil {
		t.Fatal(err)
	}
	for invalid, want := range map[bool]Outcome{true: InvalidClient, false: ""} {
		results := &studyexport.Report{Run: &run.Run{}, Study: &config.Study{MultiRun: sweep.MultiRun{NumRuns: 2, ConfidenceLevel: 0.95}}, Outcomes: []cell.Outcome{{}}}
		for range 2 {
			results.Outcomes[0].Trials = append(results.Outcomes[0].Trials, cell.Trial{Metrics: []cell.Metric{
				{Tag: "request_throughput", Stats: map[string]float64{"avg": 1}, Doubt: &cell.Doubt{Invalid: true}},
				{Tag: "request_latency", Stats: map[string]float64{"p99": 1}, Doubt: &cell.Doubt{Invalid: invalid}},
			}})
		}
		err := (&Profile{Document: doc, Folder: &Folder{Path: t.TempDir()}, Out: io.Discard}).reportStudy(&run.Run{State: bench.StateCompleted, Study: &run.Study{}}, results)
		var got Outcome
		if ended, ok := errors.AsType[*OutcomeError](err); ok {
			got = ended.Outcome
		}
		if got != want {
			t.Errorf("latency invalid %v: outcome %q (%v), want %q", invalid, got, err, want)
		}
	}
}

// An invalid client is an outcome only if the run completed and the document has
// client.strict.
func TestOutcomeOfAnInvalidClient(t *testing.T) {
	tests := []struct {
		name   string
		strict bool
		state  bench.State
		level  verdict.Level
		want   Outcome
	}{
		{"invalid, strict", true, bench.StateCompleted, verdict.Invalid, InvalidClient},
		{"invalid, not strict", false, bench.StateCompleted, verdict.Invalid, ""},
		{"suspect, strict", true, bench.StateCompleted, verdict.Suspect, ""},
		{"unknown, strict", true, bench.StateCompleted, verdict.Unknown, ""},
		{"not monitored", true, bench.StateCompleted, "", ""},
		{"failed anyway", true, bench.StateFailed, verdict.Invalid, Failed},
		{"cancelled anyway", true, bench.StateCancelled, verdict.Invalid, Cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--model", "m"}
			if tt.strict {
				args = append(args, "--strict-client")
			}
			flags, err := flags.Parse(args, nil)
			if err != nil {
				t.Fatal(err)
			}
			doc, _, err := flags.Document()
			if err != nil {
				t.Fatal(err)
			}
			strict := &run.Run{State: tt.state}
			if tt.level != "" {
				strict.Client = &run.ClientVerdict{Verdict: tt.level, Reasons: []verdict.Reason{{Message: "it was woken late"}}}
			}
			err = (&Profile{Document: doc, Folder: &Folder{Path: t.TempDir()}, Out: io.Discard}).report(strict, nil)
			var got Outcome
			if ended, ok := errors.AsType[*OutcomeError](err); ok {
				got = ended.Outcome
			}
			if got != tt.want {
				t.Errorf("outcome %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
