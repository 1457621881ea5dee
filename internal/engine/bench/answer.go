package bench

import "time"

// ChunkKind is the kind of content of a chunk.
type ChunkKind uint8

// The kinds of content.
const (
	Text ChunkKind = iota
	Reasoning
	Refusal
	Tool // a fragment of a tool call: function name, arguments
	Audio
	Image
	ImagePartial // a preview of an unfinished image
	Video
	Embedding
	Ranking
	Binary // other content, which is only counted
)

// String returns the lower-case name.
func (k ChunkKind) String() string {
	switch k {
	case Text:
		return "text"
	case Reasoning:
		return "reasoning"
	case Refusal:
		return "refusal"
	case Tool:
		return "tool"
	case Audio:
		return "audio"
	case Image:
		return "image"
	case ImagePartial:
		return "image_partial"
	case Video:
		return "video"
	case Embedding:
		return "embedding"
	case Ranking:
		return "ranking"
	case Binary:
		return "binary"
	}
	return "unknown"
}

// Chunk is one content event: output of the model, with the time at which its
// bytes were received. It is kept small, 24 bytes, because every response that is
// in memory has one per content event.
type Chunk struct {
	At     time.Duration // when the read that completed the event returned
	Bytes  int32         // length of the text, or of the decoded audio
	Tokens int32         // number of tokens, as reported by the server; 0 = unknown
	Read   int32         // number of that read; chunks of one read share it
	Choice uint16        // index of the choice
	Kind   ChunkKind
}

// MaxEventTokens bounds the tokens of the content events of a response after the first
// one, all together, because some metrics have a value for each of them.
const MaxEventTokens = 1 << 20

// Finish is the normalised finish reason of a choice; empty = not reported.
type Finish string

// The normalised finish reasons.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishToolCalls     Finish = "tool_calls"
	FinishFunctionCall  Finish = "function_call" // the older form of tool_calls
	FinishContentFilter Finish = "content_filter"
	FinishError         Finish = "error"
	FinishAbort         Finish = "abort"
	FinishOther         Finish = "other"
)

// ToolCall is one tool call, assembled from its chunks.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as received
}

// Choice is one of the choices of a response, assembled from its chunks.
type Choice struct {
	Index     int
	Text      string
	Reasoning string
	Refusal   string
	ToolCalls []ToolCall
	Finish    Finish
}

// Usage is the token usage that the server reports, normalised over vendors. A nil
// field was not reported; that differs from zero.
type Usage struct {
	Input      *Tokens // prompt tokens, cached ones included
	Output     *Tokens // completion tokens, reasoning included
	Total      *Tokens
	Reasoning  *Tokens // part of Output
	Cached     *Tokens // part of Input
	CacheWrite *Tokens
	CacheMiss  *Tokens
	AudioIn    *Tokens
	AudioOut   *Tokens
	Accepted   *Tokens // accepted prediction tokens
	Rejected   *Tokens // rejected prediction tokens
	ImageIn    *Tokens // part of Input
	ImageOut   *Tokens // part of Output
	// AudioSeconds is the length of the audio, if the server reports that instead
	// of tokens; ≥ 0.
	AudioSeconds *float64
}

// Vector describes one embedding; its values are not stored.
type Vector struct {
	Index int
	Dim   int // length of the innermost lists
	Rows  int // number of innermost lists; 1 unless the embedding is nested
}

// Rank is the score of one item.
type Rank struct {
	Index int     // of the item in the request
	Score float64 // NaN = not reported
}

// Answer is a decoded response.
type Answer struct {
	Streamed bool    // the body was streamed, so TTFT and inter-chunk times are meaningful
	Chunks   []Chunk // in order of arrival
	// LeftOut is the number of content events that Chunks lacks before its last one, because
	// the record was read from a file that bounds them; 0 = Chunks has all.
	LeftOut int64
	Choices []Choice // in order of index
	// TailTokens is the number of tokens that the server reports for events after
	// the last content event, such as the end-of-sequence token.
	TailTokens Tokens
	// AudioLength is the duration of the audio in the answer; 0 = there is none, or
	// its format does not contain the duration.
	AudioLength time.Duration
	Vectors     []Vector // embeddings, in order of their index
	Ranks       []Rank   // scores, in order of the answer
	Usage       *Usage   // nil = not reported
	// ServerTimes are durations reported by the server, under the server's names;
	// nil = none.
	ServerTimes map[string]time.Duration
	Speculation *Speculation // nil = the server did not report speculative decoding
	// Headers are the headers of the response that help to find the request in the logs of
	// a server or explain its limits, by lower-case name; nil = none.
	Headers    map[string]string
	Job        *Job // of a polled API; nil = the API is not polled
	ResponseID string
	Model      string         // as reported by the server
	FirstEvent time.Duration  // first data event of any kind; 0 = none
	Warnings   map[string]int // deviations from the wire format, by name, with their number
	Failure    *Failure       // nil = success
}

// Speculation is what speculative decoding did for an answer, as the server reports it.
type Speculation struct {
	Engine   string `json:"engine,omitempty"` // vllm, sglang or tensorrt_llm, by the form of the report; empty = not known
	Steps    Tokens `json:"steps"`            // verification steps, > 0
	Accepted Tokens `json:"accepted"`         // accepted draft tokens
	Drafted  Tokens `json:"drafted"`          // draft tokens in all
	Most     Tokens `json:"most,omitempty"`   // draft tokens of a step at most; 0 = not reported
	// Histogram has the steps by the number of draft tokens that they accepted, from 0 to the
	// largest one; nil = not reported.
	Histogram []Tokens `json:"histogram,omitempty"`
	// StepAccepted and StepDrafted have the draft tokens of each step, in order; nil = not
	// reported.
	StepAccepted []Tokens `json:"step_accepted,omitempty"`
	StepDrafted  []Tokens `json:"step_drafted,omitempty"`
}

// Job is the state of a job of a polled API, besides its output.
type Job struct {
	Started    time.Duration // when a response first reported that the job had started; 0 = never
	Fetched    time.Duration // when the last byte of its output was downloaded; 0 = never
	PeakMemory float64       // in megabytes, as reported by the server; 0 = not reported
}
