package report

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/telemetry/otel"
)

// TestSpans compares the section about spans with what it should be.
func TestSpans(t *testing.T) {
	s := &otel.ServerSpans{Requests: 1250, Received: 1201, Joined: 1200, Unmatched: 1, Phases: []otel.SpanPhase{
		{Name: "warm", Kind: "warmup", Requests: 50, Joined: 50, Segments: []otel.SpanSegment{{Name: "queue", Count: 50}}},
		{Name: "profiling", Kind: "profiling", Requests: 1200, Joined: 1150, Segments: []otel.SpanSegment{
			{Name: "frontend", Count: 1150, P50: 3, P90: 4, P99: 6.5, Max: 9}, {Name: "queue", Count: 1150, P50: 590, P90: 700, P99: 812, Max: 900},
		}},
	}}
	one := (&text{Tables: []table{spans(s)}}).markdown()
	for _, want := range []string{
		"**Single requests, by the spans of the server**", "| Part | requests | p50 ms | p90 ms | p99 ms | max ms |",
		"| network and frontend | 1,150 | 3.00 | 4.00 | 6.50 | 9.00 |", "| queue | 1,150 | 590 | 700 | 812 | 900 |",
		"1,201 spans with times came; 1,200 of 1,250 requests had one (96 %), warm-up included.",
	} {
		if !strings.Contains(one, want) {
			t.Errorf("no %s in\n%s", want, one)
		}
	}
	again := s.Phases[1]
	again.Name = "second"
	s.Phases = append(s.Phases, again)
	if two := (&text{Tables: []table{spans(s)}}).markdown(); !strings.Contains(two, "| second | queue | 1,150 |") || strings.Contains(two, "| warm |") {
		t.Errorf("of two phases:\n%s", two)
	}
	s.Phases = s.Phases[:1]
	for name, none := range map[string]*otel.ServerSpans{"no spans": nil, "a warm-up alone": s} {
		if got := spans(none); len(got.Rows) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
