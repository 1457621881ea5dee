package bench

import "time"

// TokenSource says who counted a record's tokens.
type TokenSource string

// The token sources.
const (
	TokensNone   TokenSource = ""       // nobody
	TokensServer TokenSource = "server" // the usage block of the response
	TokensClient TokenSource = "client" // the run's tokenizer
)

// Stamps are the instants of one request as offsets from the run's epoch.
// 0 = the request did not get that far.
type Stamps struct {
	Due       time.Duration // when the schedule asked for it; closed loop: when its slot became free
	Permit    time.Duration // when it was allowed to go (slot obtained)
	Start     time.Duration // before its bytes are written, or, if there is no open connection, before one is sought; every latency starts here
	Connected time.Duration // a connection was at hand
	Wrote     time.Duration // the whole request was written
	FirstByte time.Duration // first byte of the response head
	Headers   time.Duration // the response head was parsed
	FirstBody time.Duration // first byte of the response body
	End       time.Duration // the last byte was read, or the failure was known
}

// Setup is what it cost to open a connection.
type Setup struct {
	DNS     time.Duration // length of the look-up; 0 = none was needed
	Connect time.Duration // length of the TCP handshake
	TLS     time.Duration // length of the TLS handshake
}

// Connection describes the connection that a request used.
type Connection struct {
	Reused   bool          // it was open before: another request had used it, or it was opened ahead
	Kernel   bool          // reads are stamped by the kernel, not after the read returned
	DNS      time.Duration // length of the look-up; 0 = none was needed
	Connect  time.Duration // length of the TCP handshake
	TLS      time.Duration // length of the TLS handshake
	Blocked  time.Duration // wait for a free connection
	Retries  int           // reused connections that failed before the first byte of an answer, given up for this one
	Wasted   time.Duration // from the start of the first attempt to the start of the request; 0 = it is the first
	Held     time.Duration // wait after End, because the server held a complete answer open
	Reads    int32         // reads that returned response bytes
	Polls    int32         // answers to polls; > 0 = content has the times of these, not its own
	Sent     Bytes         // request body
	Received Bytes         // response body as it came over the wire
}

// Bytes counts octets.
type Bytes int64

// Record is everything known about one request. The session goroutine fills
// it; after it was handed to the recorder it is immutable.
type Record struct {
	Phase          int    // index into the run's phases
	SessionNum     int64  // running number of the session in the run, from 0
	Turn           int    // from 0
	Turns          int    // turns of the conversation
	RequestID      string // sent as X-Request-ID
	CorrelationID  string // sent as X-Correlation-ID, one per session
	ConversationID string
	Model          string
	Target         int // index into the run's targets
	Stamps         Stamps
	Conn           Connection
	Status         int // HTTP status; 0 = none
	Answer         Answer

	Items int // vectors and scores in the answer
	// Images is the number of images in the request, and AudioLength how long the
	// sound in it plays; 0 = none, or unknown.
	Images      int
	AudioLength time.Duration

	RequestedTokens Tokens  // max tokens asked for; 0 = none
	InputTokens     *Tokens // ISL; nil = unknown
	OutputTokens    *Tokens // visible output, tool calls included; nil = unknown
	ReasoningTokens *Tokens // nil = unknown
	TokenSource     TokenSource
	// ClientInput and ClientOutput are the run's own counts where both they and
	// the server's exist, for the comparison of the two.
	ClientInput, ClientOutput, ClientReasoning *Tokens
}

// OK reports whether the record enters latency and throughput metrics: no
// failure, at least one content event, and time passed.
func (r *Record) OK() bool {
	if r.Answer.Failure != nil || len(r.Answer.Chunks) == 0 {
		return false
	}
	return r.Answer.Chunks[len(r.Answer.Chunks)-1].At > r.Stamps.Start
}

// Cancelled reports whether we ended the request ourselves.
func (r *Record) Cancelled() bool {
	return r.Answer.Failure != nil && r.Answer.Failure.Class == Cancelled
}

// OSL returns the output sequence length, reasoning included.
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
