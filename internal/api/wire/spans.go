package wire

// SpansTaken is the answer to spans of a server: OTLP's ExportTraceServiceResponse.
type SpansTaken struct {
	Partial *SpansRejected `json:"partialSuccess,omitempty"` // absent: all were taken
}

// SpansRejected says which spans were not taken, and why.
type SpansRejected struct {
	Count   int64  `json:"rejectedSpans,string"`
	Message string `json:"errorMessage"`
}
