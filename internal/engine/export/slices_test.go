package export

import (
	"bytes"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

func TestSlices(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	r := &Report{InputConfig: map[string]any{"note": "a < b"}, Phases: []PhaseReport{{
		Stats: bench.PhaseStats{Name: "profiling"},
		Slices: []Slice{{
			Phase: "profiling", Start: start, End: start.Add(time.Second), Complete: true, Results: metric.Results{
				result(t, "request_latency", 3, map[metric.Stat]float64{metric.Avg: 12.5, metric.P50: 12, metric.P99: 0.00123, metric.Sum: 37.5}),
				result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 3}),
				result(t, "schedule_lag", 3, map[metric.Stat]float64{metric.Avg: 0.5, metric.P50: 0.25}),
			},
		}, {
			Phase: "profiling", Start: start.Add(time.Second), End: start.Add(1500 * time.Millisecond), Results: metric.Results{
				result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 1}),
			},
		}},
	}}}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"timeslices.json": func(b *bytes.Buffer) error { return writeSlicesJSON(b, r) },
		"timeslices.csv":  func(b *bytes.Buffer) error { return writeSlicesCSV(b, r) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.Bytes())
	}
}
