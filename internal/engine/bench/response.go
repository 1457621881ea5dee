package bench

import (
	"net/http"
	"time"

	"aiperfd/internal/engine/eventlog"
)

// Framing says how a response body is cut into events.
type Framing uint8

// The framings.
const (
	FramingNone   Framing = iota // no usable body: status, or nothing at all
	FramingJSON                  // one JSON document in Body
	FramingSSE                   // server-sent events
	FramingNDJSON                // one JSON object a line
	FramingText                  // plain text in Body
	FramingHTML                  // an HTML page in Body
	FramingBinary                // bytes that are only counted
)

// Piece is what one read brought of a body that is only counted.
type Piece struct {
	At   time.Duration // when the read returned
	Size int32         // bytes of the decompressed body, at least 1
	Read int32         // number of the read
}

// End says how the body ended.
type End uint8

// The ends.
const (
	EndEOF     End = iota // clean end of the body
	EndReset              // the connection broke
	EndTimeout            // a timeout of ours fired
	EndAborted            // we gave up on purpose (cancel, limit, drain over)
)

// Response is what came back for one request: bytes and stamps, undecoded.
// A transport fills it, a codec reads it.
type Response struct {
	Status  int // 0 = no response head
	Header  http.Header
	Framing Framing
	Events  eventlog.Log  // FramingSSE and FramingNDJSON
	Body    []byte        // other framings and error statuses; bounded by the transport
	BodyAt  time.Duration // when the last byte of Body was read; 0 = none
	// Pieces are the reads of a body that is only counted (FramingBinary), in order,
	// and Start is how it begins. Both are bounded by the transport: the last piece
	// stands for all reads beyond the bound.
	Pieces   []Piece
	Start    []byte
	Done     bool           // the end marker [DONE] was seen
	End      End            // how the body ended
	EndAt    time.Duration  // when it ended
	Failure  *Failure       // what the transport itself found wrong; nil = nothing
	Warnings map[string]int // doubts about the framing
}
