package bench

import (
	"net/http"
	"time"

	"aiperfd/internal/engine/eventlog"
)

// Framing is how a response body is divided into events.
type Framing uint8

// The framings.
const (
	FramingNone   Framing = iota // no usable body
	FramingJSON                  // one JSON document in Body
	FramingSSE                   // server-sent events
	FramingNDJSON                // one JSON object per line
	FramingText                  // plain text in Body
	FramingHTML                  // an HTML page in Body
	FramingBinary                // bytes, which are only counted
)

// Piece is the part of a body that one read returned, if the body is only counted.
type Piece struct {
	At   time.Duration // when the read returned
	Size int32         // bytes of the decompressed body, at least 1
	Read int32         // number of the read
}

// End is how the body ended.
type End uint8

// The ends.
const (
	EndEOF     End = iota // normal end of the body
	EndReset              // the connection broke
	EndTimeout            // a timeout of the client expired
	EndAborted            // the client stopped reading: cancellation, limit, end of drain
)

// Response is the response to one request before decoding: bytes and timestamps. A
// transport fills it, a codec decodes it.
type Response struct {
	Status  int // 0 = no response head was received
	Header  http.Header
	Framing Framing
	Events  eventlog.Log  // FramingSSE and FramingNDJSON
	Body    []byte        // other framings and error statuses; the transport limits its size
	BodyAt  time.Duration // when the last byte of Body was read; 0 = none
	// Pieces are the reads of a body that is only counted (FramingBinary), in order,
	// and Start is its beginning. The transport limits both: the last piece contains
	// all reads beyond the limit.
	Pieces   []Piece
	Start    []byte
	Done     bool           // the end marker [DONE] was received
	End      End            // how the body ended
	EndAt    time.Duration  // when it ended
	Failure  *Failure       // detected by the transport; nil = none
	Warnings map[string]int // deviations from the framing, by name, with their number
	Panic    *Panic         // of the framing, which is the failure, too; nil = none
}
