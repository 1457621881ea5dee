package bench

import "time"

// ChunkKind says what a content event carried.
type ChunkKind uint8

// The kinds of content.
const (
	Text ChunkKind = iota
	Reasoning
	Refusal
	Tool // function name followed by a fragment of its arguments
	Audio
	Image
	ImagePartial // a preview of one that is still being made
	Video
	Embedding
	Ranking
	Binary // anything else that is only counted
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

// Chunk is one content event: something the model produced, with the time at
// which its bytes were received. There is one for each event of every answer
// that is being worked on, so it is small: 24 bytes.
type Chunk struct {
	At     time.Duration // when the read that completed the event returned
	Bytes  int32         // length of the text, or of the decoded audio
	Tokens int32         // tokens it carried by the server's own word; 0 = unknown
	Read   int32         // number of that read; chunks of one read share it
	Choice uint16        // index of the choice
	Kind   ChunkKind
}

// Finish is the normalised reason why a choice ended; empty = none was given.
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

// ToolCall is one assembled tool call.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it
}

// Choice is one assembled answer.
type Choice struct {
	Index     int
	Text      string
	Reasoning string
	Refusal   string
	ToolCalls []ToolCall
	Finish    Finish
}

// Usage is the server's own token count, normalised over vendors. A nil field
// means that the server did not say; absent is not zero.
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
	// AudioSeconds is the length of the audio that was counted, where that is what
	// the server counts; not negative.
	AudioSeconds *float64
}

// Vector describes one embedding; its numbers are not kept.
type Vector struct {
	Index int
	Dim   int // length of the innermost lists
	Rows  int // how many of these; 1 unless the embedding is nested
}

// Rank is the score of one item.
type Rank struct {
	Index int     // of the item in the request
	Score float64 // NaN = the server gave none
}

// Answer is a decoded response.
type Answer struct {
	Streamed bool     // the body really came as a stream, so TTFT and gaps mean something
	Chunks   []Chunk  // content events in order of arrival
	Choices  []Choice // in order of index
	// TailTokens are tokens, by the server's own word, of events after the last
	// content event: a token that ends the answer, or half of a character.
	TailTokens Tokens
	// AudioLength is how long the audio plays that the answer consists of; 0 = there
	// is none, or its format does not tell.
	AudioLength time.Duration
	Vectors     []Vector // embeddings, in order of their index
	Ranks       []Rank   // scores, in the order of the answer
	Usage       *Usage   // nil = none was sent
	// ServerTimes are times that the server says it took, by the server's name.
	// Nil = it said nothing.
	ServerTimes map[string]time.Duration
	Job         *Job // of an answer that was fetched by polling; nil = it was not
	ResponseID  string
	Model       string         // as the server names it
	FirstEvent  time.Duration  // first data event of any kind; 0 = none
	Warnings    map[string]int // named doubts about the wire format, with their count
	Failure     *Failure       // nil = success
}

// Job is what the answers about a piece of work say, beside what it made.
type Job struct {
	Started    time.Duration // when an answer first said that the work had begun; 0 = none did
	Fetched    time.Duration // when the last byte of what it made was downloaded; 0 = it was not
	PeakMemory float64       // megabytes, by the server's word; 0 = it said nothing
}
