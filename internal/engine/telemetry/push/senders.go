package push

import "aiperfd/internal/engine/telemetry/otel"

// Senders are what sends the metrics and the spans of a run. A nil member sends nothing. They are safe for concurrent
// use.
type Senders struct {
	Metrics *Exporter
	Spans   *Spans
}

// Report returns what became of the payloads and spans so far; nil = nothing is sent.
func (s *Senders) Report() *otel.Report {
	if s.Metrics == nil && s.Spans == nil {
		return nil
	}
	r := &otel.Report{}
	if s.Metrics != nil {
		r.Metrics = new(s.Metrics.Sent())
	}
	if s.Spans != nil {
		r.Traces = new(s.Spans.Sent())
	}
	return r
}
