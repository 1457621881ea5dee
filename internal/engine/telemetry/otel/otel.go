// Package otel says what became of what a run exchanges with OpenTelemetry: the metrics and spans that it sends to
// collectors.
package otel

// Report is what became of what a run sends to collectors, so far or in the end.
type Report struct {
	Metrics *Metrics `json:"metrics"` // null: none are sent
	Traces  *Spans   `json:"traces"`  // null: none are sent
}

// Metrics is what became of the payloads of metrics, of which there is one per second.
type Metrics struct {
	Payloads  int    `json:"sent"`                 // that the collector accepted
	Dropped   int    `json:"dropped"`              // that it did not get, or refused
	Rejected  int64  `json:"rejected_points"`      // that it refused of accepted payloads
	LastError string `json:"last_error,omitempty"` // redacted
}

// Spans is what became of spans.
type Spans struct {
	Spans    int64 `json:"sent"`     // that the collector accepted
	Dropped  int64 `json:"dropped"`  // that it did not get, or refused with their payload
	Rejected int64 `json:"rejected"` // that it refused of accepted payloads
	// Limited are the requests of sampled traces that have no span because too many ended within a second. It is
	// counted at the end of the run.
	Limited   int    `json:"limited"`
	LastError string `json:"last_error,omitempty"` // redacted
}
