package wire

import "time"

// Samples are single requests of a run.
type Samples struct {
	RunID     string     `json:"run_id"`
	State     string     `json:"state"`
	StartTime *time.Time `json:"start_time"` // of the first phase, from which seconds count; null before it
	// ElapsedSec is when the samples were read, since start_time; null = the run has ended, or has not begun.
	ElapsedSec *float64 `json:"elapsed_sec"`
	Slowest    Slowest  `json:"slowest"`
	Sample     Sample   `json:"sample"`
	Damaged    bool     `json:"damaged,omitempty"` // the file of the samples cannot be decoded, so that there are none
}

// Slowest are the slowest requests, the slowest first.
type Slowest struct {
	Latency    []SlowRequest `json:"request_latency"`
	FirstToken []SlowRequest `json:"time_to_first_token"`
}

// Sample is a uniform sample of the requests that succeeded. Columns have one value per
// request; times are in milliseconds.
type Sample struct {
	Of          int64  `json:"of"` // requests of which this is the sample
	EndSec      Column `json:"end_sec"`
	Input       Column `json:"input_tokens"`
	Output      Column `json:"output_tokens"`
	FirstToken  Column `json:"time_to_first_token"`
	InterToken  Column `json:"inter_token_latency"`
	Latency     Column `json:"request_latency"`
	ScheduleLag Column `json:"schedule_lag"`
}

// SlowRequest is a request with its timeline. Latencies are in milliseconds; null = not
// known.
type SlowRequest struct {
	RequestID      string     `json:"request_id"`
	ConversationID string     `json:"conversation_id"`
	Phase          string     `json:"phase"`
	Session        int64      `json:"session"`
	Turn           int        `json:"turn"`
	Target         string     `json:"target"`
	Model          string     `json:"model"`
	Status         int        `json:"status"`      // of HTTP; 0 = there was no response
	ErrorClass     string     `json:"error_class"` // empty = success
	Input          Number     `json:"input_tokens" swaggertype:"number"`
	Output         Number     `json:"output_tokens" swaggertype:"number"`
	Latency        float64    `json:"request_latency"` // of a failed request until it failed
	FirstToken     Number     `json:"time_to_first_token" swaggertype:"number"`
	StartSec       float64    `json:"start_sec"` // since the start of the run
	Connection     Connection `json:"connection"`
	Timeline       Timeline   `json:"timeline"`
}

// Connection is how a request got its connection. The steps are 0 if there were none.
type Connection struct {
	Reused  bool    `json:"reused"` // it was open
	DNS     float64 `json:"dns_ms"`
	Connect float64 `json:"connect_ms"`
	TLS     float64 `json:"tls_ms"`
}

// Timeline is what happened in a request, in milliseconds since its start; null = it did not
// happen.
type Timeline struct {
	Due        Number `json:"due_ms" swaggertype:"number"` // ≤ 0
	Connected  Number `json:"connected_ms" swaggertype:"number"`
	Sent       Number `json:"sent_ms" swaggertype:"number"` // the whole request was written
	FirstByte  Number `json:"first_byte_ms" swaggertype:"number"`
	End        Number `json:"end_ms" swaggertype:"number"`
	Chunks     Column `json:"chunks_ms"`   // content events, the first 2000
	ChunkCount int    `json:"chunk_count"` // all of them
}

// Number is a number, or null if it is NaN or infinite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }
