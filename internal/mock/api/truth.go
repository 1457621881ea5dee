package api

// Outcomes of a request. A fault's outcome is OutcomeFault followed by the text
// of its rule, a refusal's OutcomeRejected followed by the status.
const (
	OutcomeOK         = "ok"
	OutcomeFault      = "fault:"
	OutcomeRejected   = "rejected:"
	OutcomeClientGone = "client_gone"
	OutcomeShutdown   = "shutdown"
)

// Truth is the ground truth about one inference request, by the server's clock.
//
// Stamps are Unix nanoseconds that advance with the monotonic clock; 0 means that
// the moment was never reached. A content event is one that carries text of the
// answer or of its reasoning; role, usage, finish and comment events are none. A
// plain (not streamed) answer counts as one content event.
type Truth struct {
	Seq             int64  `json:"seq"` // from 1, in order of arrival
	Path            string `json:"path"`
	RequestID       string `json:"request_id"`     // X-Request-Id of the request
	CorrelationID   string `json:"correlation_id"` // X-Correlation-ID of the request
	Model           string `json:"model"`
	Stream          bool   `json:"stream"`
	Status          int    `json:"status"` // 0 = no response head was sent
	N               int    `json:"n"`      // choices
	MaxTokens       int    `json:"max_tokens"`
	PromptTokens    int    `json:"prompt_tokens"`
	OutputTokens    int    `json:"output_tokens"`    // sent, reasoning included
	ReasoningTokens int    `json:"reasoning_tokens"` // sent
	FinishReason    string `json:"finish_reason"`    // of the first choice; "" = not reached

	AcceptNs        int64   `json:"accept_ns"`    // the handler was entered
	BodyReadNs      int64   `json:"body_read_ns"` // the body's last byte was read
	HeadersNs       int64   `json:"headers_ns"`   // before the head was written
	FirstWriteNs    int64   `json:"first_write_ns"`
	FirstWriteEndNs int64   `json:"first_write_end_ns"`
	LastWriteNs     int64   `json:"last_write_ns"`
	LastWriteEndNs  int64   `json:"last_write_end_ns"`
	EndNs           int64   `json:"end_ns"`                 // the handler returned
	ChunkNs         []int64 `json:"chunk_ns,omitempty"`     // start of the write of every content event
	ChunkTokens     []int   `json:"chunk_tokens,omitempty"` // tokens of every content event of a stream

	TTFTMs    *float64 `json:"ttft_ms"`    // first content write − accept; null unless streamed
	ITLMs     *float64 `json:"itl_ms"`     // (last − first content write) / (output tokens − 1); null below two
	LatencyMs float64  `json:"latency_ms"` // last content write (else the end) − accept

	Batch *TruthBatch `json:"batch,omitempty"` // nil without an accelerator

	Outcome string `json:"outcome"`
}

// TruthBatch is the part of a record about the accelerator. It is immutable.
type TruthBatch struct {
	QueuedNs     int64   `json:"queued_ns"`     // the request entered the queue
	AdmittedNs   int64   `json:"admitted_ns"`   // the first step with one of its sequences began; 0 = never
	QueueMs      float64 `json:"queue_ms"`      // admitted − queued
	CachedTokens int     `json:"cached_tokens"` // prompt tokens found in the prefix cache, over all choices
	Preemptions  int     `json:"preemptions"`   // how often its sequences had to start again
	MeanBatch    float64 `json:"mean_batch"`    // sequences in the steps that gave it tokens, on average
}

// NoteTokens records the tokens of a number of rendered content events.
func (t *Truth) NoteTokens(tokens, events int) {
	for i := range events {
		if i > 0 {
			tokens = 0 // the first has them
		}
		t.ChunkTokens = append(t.ChunkTokens, tokens)
	}
}

// Derive sets the fields that are computed from stamps.
func (t *Truth) Derive() {
	if len(t.ChunkTokens) > len(t.ChunkNs) {
		t.ChunkTokens = t.ChunkTokens[:len(t.ChunkNs)] // the others were never sent
	}
	last := t.LastWriteNs
	if last == 0 {
		last = t.EndNs
	}
	t.LatencyMs = Millis(last - t.AcceptNs)
	if !t.Stream || t.FirstWriteNs == 0 {
		return
	}
	ttft := Millis(t.FirstWriteNs - t.AcceptNs)
	t.TTFTMs = &ttft
	if t.OutputTokens > 1 {
		itl := Millis(t.LastWriteNs-t.FirstWriteNs) / float64(t.OutputTokens-1)
		t.ITLMs = &itl
	}
}

// Millis converts nanoseconds to milliseconds.
func Millis(ns int64) float64 { return float64(ns) / 1e6 }
