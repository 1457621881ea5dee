package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"aiperfd/internal/compare"
	"aiperfd/internal/ctl"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// compared returns runs with one latency each.
func compared(t *testing.T, level verdict.Level, p50 ...float64) []compare.Input {
	t.Helper()
	var out []compare.Input
	for i, v := range p50 {
		var m metric.Results
		text := fmt.Sprintf(`[{"tag":"request_latency","unit":"ms","count":9,"stats":{"avg":%v,"p50":%[1]v}}]`, v)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		client := &run.ClientVerdict{Reasons: []verdict.Reason{{Level: level, Concerns: []string{"request_latency"}}}}
		created := time.Unix(int64(2*i), 0)
		out = append(out, compare.Input{
			Run: &run.Run{ID: fmt.Sprint(v), Client: client, CreatedAt: created}, Snapshot: &run.Snapshot{Final: true, Metrics: m},
		})
	}
	return out
}

// The exit codes of --fail-if-worse.
func TestGate(t *testing.T) {
	base := []float64{100, 101, 99}
	tests := []struct {
		name  string
		level verdict.Level
		b     []float64
		want  int
	}{
		{"equal", verdict.OK, []float64{100, 99, 101}, exitOK},
		{"better", verdict.OK, []float64{50, 51, 49}, exitOK},
		{"worse by less", verdict.OK, []float64{104, 105, 103}, exitOK},
		{"worse", verdict.OK, []float64{130, 131, 129}, exitSLO},
		{"noise", verdict.OK, []float64{90, 140, 110}, exitUndecided},
		{"two runs", verdict.OK, []float64{130, 131}, exitUndecided},
		{"distorted", verdict.Invalid, []float64{130, 131, 129}, exitClient},
	}
	for _, tt := range tests {
		answer, err := compare.Judge(compared(t, verdict.OK, base...), compared(t, tt.level, tt.b...), compare.AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := exitOK
		if exit, ok := errors.AsType[*ctl.ExitError](gate(answer, 0.1, "10%")); ok {
			got = exit.Code
		}
		if got != tt.want {
			t.Errorf("%s: exit code %d, want %d (%s)", tt.name, got, tt.want, answer.Sentences[0])
		}
	}
}
