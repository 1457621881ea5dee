package prom

import (
	"testing"

	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/run"
)

// TestCollectors compares the families about collectors with literal text.
func TestCollectors(t *testing.T) {
	const want = `aiperf_otel_dropped_total{run_id="1",signal="metrics"} 3
aiperf_otel_dropped_total{run_id="1",signal="traces"} 9
aiperf_otel_sent_total{run_id="1",signal="metrics"} 5
aiperf_otel_sent_total{run_id="1",signal="traces"} 70
`
	report := &otel.Report{
		Metrics: &otel.Metrics{Payloads: 5, Dropped: 3, Rejected: 4}, Traces: &otel.Spans{Spans: 70, Dropped: 7, Rejected: 2},
	}
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}, OTel: report}, "aiperf_otel_"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}}, "aiperf_otel_"); got != "" {
		t.Errorf("without a collector: got\n%s", got)
	}
}
