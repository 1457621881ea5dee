package prom

import (
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/run"
)

// collectors emits what became of what a run sends to OpenTelemetry collectors.
func (e *emitter) collectors(r *run.Run, report *otel.Report) {
	created := r.CreatedAt
	if r.StartedAt != nil {
		created = *r.StartedAt
	}
	sent := family("aiperf_otel_sent_total", "Payloads of metrics, and spans, that an OpenTelemetry collector accepted.",
		"run_id", "signal")
	dropped := family("aiperf_otel_dropped_total", "Payloads of metrics, and spans, that an OpenTelemetry collector did "+
		"not get or refused.", "run_id", "signal")
	if m := report.Metrics; m != nil {
		e.counter(sent, created, int64(m.Payloads), r.ID, "metrics")
		e.counter(dropped, created, int64(m.Dropped), r.ID, "metrics")
	}
	if t := report.Traces; t != nil {
		e.counter(sent, created, t.Spans, r.ID, "traces")
		e.counter(dropped, created, t.Dropped+t.Rejected, r.ID, "traces")
	}
}
