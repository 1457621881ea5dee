package bench

import (
	"net/http"
	"net/netip"
	"time"
)

// TokenSource is the source of the token counts of a record.
type TokenSource string

// The token sources.
const (
	TokensNone   TokenSource = ""       // not counted
	TokensServer TokenSource = "server" // the usage block of the response
	TokensClient TokenSource = "client" // the run's tokenizer
)

// Stamps are the timestamps of a request, as offsets from the run's epoch. 0 = the
// request did not reach this point.
type Stamps struct {
	Due       time.Duration // when the request was due; in a closed loop, when its slot became free
	Scheduled time.Duration // when the dataset says that it is sent, in a replay; 0 = the dataset does not
	Queued    time.Duration // when it began to wait because too many requests had no content; 0 = without such a limit
	Permit    time.Duration // when it was allowed to start: it obtained a slot, and too few requests were without content to wait
	Start     time.Duration // before its bytes are written or, without an open connection, before connecting; latencies start here
	Connected time.Duration // a connection was available
	Wrote     time.Duration // the whole request was written
	FirstByte time.Duration // first byte of the response head
	Headers   time.Duration // the response head was parsed
	FirstBody time.Duration // first byte of the response body
	End       time.Duration // the last byte was read, or the failure occurred
	Skipped   time.Duration // idle time that the phase had left out before the request; Due is without it
}

// Setup is the time spent on opening a connection.
type Setup struct {
	DNS     time.Duration // duration of the DNS lookup; 0 = there was none
	Connect time.Duration // duration of the TCP handshake
	TLS     time.Duration // duration of the TLS handshake
}

// Connection describes the connection of a request and its traffic.
type Connection struct {
	Reused   bool          // the connection was already open: used by an earlier request, or opened in advance
	Kernel   bool          // reads have kernel timestamps, not those of the return of the read
	DNS      time.Duration // duration of the DNS lookup; 0 = there was none
	Connect  time.Duration // duration of the TCP handshake
	TLS      time.Duration // duration of the TLS handshake
	Blocked  time.Duration // wait for a free connection
	Retries  int           // reused connections that broke before the first byte of the response
	Wasted   time.Duration // from the start of the first attempt to Stamps.Start; 0 = this is the first
	Held     time.Duration // wait after End, because the server did not end a complete response
	Reads    int32         // reads that returned response bytes
	Writes   int32         // writes that sent the request; 0 = unknown
	Polls    int32         // responses to polls; > 0 = chunks have the times of these
	Sent     Bytes         // size of the request body
	Received Bytes         // size of the response body on the wire
	Trace    *Trace        // nil unless the run exports traces
	Path     PathCount     `json:",omitzero"`
}

// PathCount is what the kernel counted of a connection from the end of the response before, or from its opening,
// to the end of this one.
type PathCount struct {
	Known         bool  // most responses of a fast load are not read one by one
	Retransmitted int32 // segments of the request that were sent again
	OutOfOrder    int32 // segments of the response that came after a gap
}

// Trace is what only the trace of a request contains, besides its timestamps.
type Trace struct {
	Local, Remote netip.AddrPort // of the connection; the zero value = unknown
	Request       http.Header    // as sent, secret values included; they must not be changed
	Response      http.Header    // as received; nil = there is none
}

// Bytes is a size in bytes.
type Bytes int64

// Record is the result of one request. The session fills it; it is immutable after
// it was passed to the recorder.
type Record struct {
	Phase          int    // index into the run's phases
	SessionNum     int64  // number of the session in the run, from 0
	Turn           int    // from 0
	Turns          int    // number of turns of the conversation
	RequestID      string // sent as X-Request-ID
	CorrelationID  string // sent as X-Correlation-ID; the same for all turns of a session
	ConversationID string
	Category       string   // of the conversation; empty = the dataset names none
	Lineage        *Lineage // of a child of another conversation; nil = a root
	Lane           int      // that plays a recorded session, from 1; 0 = none
	// Entered is the instant of its recording at which a recorded session was entered; 0 = at its beginning.
	Entered time.Duration `json:",omitempty"`
	Model   string
	Target  int // index into the run's targets
	Stamps  Stamps
	Conn    Connection
	Status  int // HTTP status; 0 = none received
	Answer  Answer

	Ramp  bool // sent during a ramp of its phase
	Items int  // number of vectors and scores in the answer

	Content         Content
	InputTokens     *Tokens // input sequence length; nil = unknown
	OutputTokens    *Tokens // visible output, including tool calls; nil = unknown
	ReasoningTokens *Tokens // nil = unknown
	TokenSource     TokenSource
	// ClientInput, ClientOutput and ClientReasoning are the counts of the run's
	// tokenizer, if the server's exist too, for comparison.
	ClientInput, ClientOutput, ClientReasoning *Tokens
}

// Content identifies what a request contained.
type Content struct {
	RequestedTokens Tokens  // requested maximum output length; 0 = none
	Prompt          uint64  // hash of the model and of everything that it reads; comparable within one process; 0 = not computed
	Blocks          []int64 // the BlockIDs of the turn; nil = not known
	// Images is the number of images, and AudioLength the duration of the audio; 0 = none,
	// or unknown.
	Images      int
	AudioLength time.Duration
	Marker      string // that keeps a prefix cache from hitting, with the blank lines around it; empty = none
	// Replayed is the turn of a recorded session; nil = it is of none. It is in no file.
	Replayed *Turn `json:"-"`
	// Expected is how many tokens of the prompt a prefix cache of unlimited size would have: requests of the run that
	// ended before this one began had them. nil = not known.
	Expected *Tokens `json:",omitempty"`
}

// Lineage is the place of a session among those of its root.
type Lineage struct {
	Depth int    // 1 = a child of the root
	Root  string // correlation id of the root
}

// OK reports whether the record counts towards latency and throughput metrics: it
// has no failure and at least one content event, received after the start.
func (r *Record) OK() bool {
	if r.Answer.Failure != nil || len(r.Answer.Chunks) == 0 {
		return false
	}
	return r.Answer.Chunks[len(r.Answer.Chunks)-1].At > r.Stamps.Start
}

// Paced reports whether the content events show when the server sent which token: all of them
// are there, and they are not those of polls.
func (r *Record) Paced() bool { return r.Conn.Polls == 0 && r.Answer.LeftOut == 0 }

// Cancelled reports whether the client cancelled the request, so that it is neither a
// success nor an error.
func (r *Record) Cancelled() bool {
	return r.Answer.Failure != nil && r.Answer.Failure.Class.Cancelled()
}

// OSL returns the output sequence length, including reasoning.
func (r *Record) OSL() (Tokens, bool) {
	switch {
	case r.OutputTokens == nil && r.ReasoningTokens == nil:
		return 0, false
	case r.OutputTokens == nil:
		return *r.ReasoningTokens, true
	case r.ReasoningTokens == nil:
		return *r.OutputTokens, true
	}
	return *r.OutputTokens + *r.ReasoningTokens, true
}
