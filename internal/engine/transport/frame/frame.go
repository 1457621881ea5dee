// Package frame splits the body of a response into events while it arrives:
// server-sent events, JSON lines, either of them in an AWS event stream, one JSON
// document or plain bytes. Each event gets the timestamp of the read that completed
// it. Nothing is decoded, so that the reading goroutine returns to its socket
// immediately. An event that resembles an earlier one is recognised in one pass,
// which also finds its end, and only the differences are stored; see
// [eventlog.Log].
//
// Server-sent events follow the WHATWG HTML standard, section 9.2.6. Each deviation
// that is accepted adds a named warning.
package frame

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// The limits of a response. Exceeding one is a failure of class event_too_large. They
// protect the client's memory against a hostile server.
const (
	MaxEvent     = 64 << 20  // bytes of an event or line, 64 MiB
	MaxBody      = 512 << 20 // received bytes of a response, 512 MiB
	MaxKept      = 256 << 20 // bytes of all events of a response, or of a document, 256 MiB
	MaxInflated  = 64 << 20  // decompressed bytes, 64 MiB; requests never ask for compression
	MaxErrorBody = 1 << 20   // stored bytes of an error or HTML body, 1 MiB
	MaxEvents    = 1 << 20   // events of a response
	MaxDrain     = 64 << 10  // bytes to read after [Framer.Done], 64 KiB
)

// keepCapacity (bytes) and keepMarks limit the capacity of the buffers that a Framer
// reuses for the next response. They suffice for thousands of events.
const (
	keepCapacity = 64 << 10
	keepMarks    = 1 << 10
)

// Warnings that a Framer adds to the response.
const (
	WarnSniffedSSE        = "sniffed_sse"              // the body is a stream, but its content type is not
	WarnUnterminatedEvent = "unterminated_final_event" // the last event had no blank line
	WarnMalformedEvent    = "malformed_event"          // the last event is incomplete
	WarnRepairedEvent     = "repaired_event"           // an unescaped line break in a JSON string was escaped
	WarnDataAfterDone     = "data_after_done"          // events after the end marker were ignored
	WarnMergedReads       = "merged_reads"             // more reads than MaxPieces; the others share the last timestamp
)

// Head contains the data that determine how a body is framed.
type Head struct {
	Status          int
	ContentType     string // value of the header; empty = none
	ContentEncoding string // value of the header; empty = none
	Streaming       bool   // the request asked for a stream
	Length          string // value of the Content-Length header; empty = unknown
	Limit           int    // bytes of the body, received and stored; 0 = MaxBody and MaxKept
	Memory          *Memory
}

// mode is how a Framer processes the next bytes.
type mode uint8

const (
	modeSniff mode = iota // determine the mode from the first bytes
	modeSSE               // split into server-sent events
	modeLines             // split into lines
	modeBody              // store as one document
	modeCount             // store the times and sizes of reads, and the first bytes
	modeStop              // failed or full: ignore the bytes
)

// mark is the end of the last complete line of a read, as a position in the arena.
type mark struct {
	end  int
	at   time.Duration
	read int32
}

// Framer splits a response body into events. [Framer.Reset] prepares the zero Framer
// for its first response and any Framer for the next one. A Framer is not safe for
// concurrent use.
//
// Every Reset must be followed by [Framer.Free] or another Reset, because a
// compressed body holds a decompressor that must be stopped, and a large one a part
// of the shared memory.
type Framer struct {
	head      Head
	media     string // content type without parameters, lower case
	mode      mode
	framing   bench.Framing
	limit     int // maximum size of all events, or of the document, in bytes
	total     int // size of all events so far, in bytes
	maxBody   int // maximum number of received bytes
	received  int // received bytes
	drained   int // received bytes after Done
	granted   int // bytes taken from the shared memory
	maxEvent  int // MaxEvent and MaxEvents; smaller in tests
	maxEvents int
	maxPieces int // MaxPieces; smaller in tests
	truncates bool
	full      bool // a truncating body reached its limit
	reads     int32
	lastAt    time.Duration // when the last byte was read
	endAt     time.Duration
	end       bench.End
	finished  bool

	arena []byte // data of the pending event, the incomplete line, or the body
	marks []mark // of a body that may be JSON lines
	// pieces are the reads of a body that is only counted; arena contains its start.
	pieces []bench.Piece
	begun  bool // a line was seen (modeLines)
	sniff  []byte
	sse    sse
	unzip  *inflater
	amazon amazon
	names  []string // known event names, to allocate each once

	mislabelled bool // the content type is events, the body is JSON or HTML

	unterminated, malformed, repaired, afterDone, sniffed, merged int

	fail *bench.Failure
	resp bench.Response // contains the events; Response sets the other fields
}

// Reset prepares the Framer for the body of a response with head h. It invalidates
// the result of [Framer.Response].
func (f *Framer) Reset(h Head) {
	f.Free()
	events := f.resp.Events
	events.Reset(keepCapacity)
	*f = Framer{
		head: h, media: mediaType(h.ContentType), limit: MaxKept, maxBody: MaxBody,
		maxEvent: MaxEvent, maxEvents: MaxEvents, maxPieces: MaxPieces,
		arena: reuse(f.arena, keepCapacity), sniff: reuse(f.sniff, keepCapacity),
		amazon: amazon{pending: reuse(f.amazon.pending, keepCapacity)},
		marks:  reuse(f.marks, keepMarks), names: f.names, resp: bench.Response{Events: events},
		pieces: reuse(f.pieces, keepMarks),
		sse: sse{
			line:    reuse(f.sse.line, keepCapacity),
			tail:    reuse(f.sse.tail, keepCapacity),
			comment: reuse(f.sse.comment, keepCapacity),
		},
	}
	if h.Limit > 0 {
		f.limit, f.maxBody = h.Limit, h.Limit
	}
	f.choose()
	f.refuse()
}

// refuse rejects a document whose Content-Length exceeds the limit.
func (f *Framer) refuse() {
	if f.head.Length == "" || f.mode != modeBody || f.truncates {
		return
	}
	if n, err := strconv.ParseUint(f.head.Length, 10, 63); err == nil && n > uint64(f.limit) {
		f.giveUpBody()
	}
}

// Free releases the memory of the response, except buffers of ordinary size. It
// invalidates the result of [Framer.Response].
func (f *Framer) Free() {
	f.stopInflating()
	f.finished = true
	f.arena, f.sniff = reuse(f.arena, keepCapacity), reuse(f.sniff, keepCapacity)
	f.marks, f.pieces = reuse(f.marks, keepMarks), reuse(f.pieces, keepMarks)
	f.sse.line, f.sse.tail = reuse(f.sse.line, keepCapacity), reuse(f.sse.tail, keepCapacity)
	f.amazon.pending = reuse(f.amazon.pending, keepCapacity)
	f.resp.Events.Reset(keepCapacity)
	f.head.Memory.giveBack(f.granted)
	f.granted = 0
}

// reuse returns s[:0], or nil if its capacity exceeds limit.
func reuse[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// Feed processes the bytes of one network read that returned at the given time. It
// numbers the reads from 1; empty reads do not count. It does not retain b.
func (f *Framer) Feed(at time.Duration, b []byte) {
	if len(b) == 0 || f.finished {
		return
	}
	f.reads++
	f.lastAt = at
	if f.Done() {
		f.drained += len(b)
	}
	if f.received += len(b); f.received > f.maxBody {
		f.giveUpSize("body", f.maxBody)
		return
	}
	if f.unzip != nil {
		f.inflate(at, b)
	} else {
		f.open(at, b)
	}
	f.claim()
}

// open processes bytes of the decompressed body.
func (f *Framer) open(at time.Duration, b []byte) {
	if f.amazon.on {
		f.unwrap(at, b)
		return
	}
	f.consume(at, b)
}

// consume processes bytes of the body without compression and wrapping.
func (f *Framer) consume(at time.Duration, b []byte) {
	if f.mode == modeSniff {
		if b = f.sniffBytes(b, false); b == nil {
			return
		}
	}
	switch f.mode {
	case modeSSE:
		f.feedSSE(at, b)
	case modeLines:
		f.feedLines(at, b)
	case modeBody:
		f.feedBody(at, b)
	case modeCount:
		f.feedCount(at, b)
	case modeSniff, modeStop:
	}
}

// Done reports whether the rest of the body is irrelevant: the end marker was
// received, the server reported an error in the stream, an error body has reached its
// limit, or [Framer.Err] is set. The caller should continue to read only briefly (at
// most 250 ms, and until [Framer.Drained]), so that the connection can be reused.
func (f *Framer) Done() bool {
	return f.sse.done || f.sse.failed || f.full || f.fail != nil
}

// Drained reports whether more than [MaxDrain] bytes followed [Framer.Done].
func (f *Framer) Drained() bool { return f.drained > MaxDrain }

// Err returns the failure that the Framer detected, or nil.
func (f *Framer) Err() *bench.Failure { return f.fail }

// Finish ends the body. A normal end completes an event that lacks only its blank
// line; any other end discards an incomplete event. Further calls have no effect.
func (f *Framer) Finish(at time.Duration, how bench.End) {
	if f.finished {
		return
	}
	if f.mode == modeSniff && f.lastAt != 0 {
		if rest := f.sniffBytes(nil, true); len(rest) > 0 && f.mode == modeSSE {
			f.feedSSE(f.lastAt, rest)
		} else if len(rest) > 0 && f.mode == modeCount {
			f.feedCount(f.lastAt, rest)
		} else if len(rest) > 0 {
			f.feedBody(f.lastAt, rest)
		}
	}
	switch f.mode {
	case modeSSE:
		f.finishSSE(how)
	case modeLines:
		f.finishLines(how)
	case modeBody:
		f.finishBody(how)
	case modeSniff, modeCount, modeStop:
	}
	f.finishAmazon(how)
	f.stopInflating()
	f.finished, f.end, f.endAt = true, how, at
}

// Response returns the part of the response that was received so far; after
// [Framer.Finish] it is complete. The caller sets its Header. The response belongs to
// the Framer and is valid until the next call to Free or Reset.
func (f *Framer) Response() *bench.Response {
	r := &f.resp
	*r = bench.Response{
		Status: f.head.Status, Framing: f.framing, Events: r.Events, Done: f.sse.done,
		End: f.end, EndAt: f.endAt, Failure: f.fail, Warnings: f.warnings(),
	}
	switch f.framing {
	case bench.FramingJSON, bench.FramingText, bench.FramingHTML:
		r.Body = f.arena
		r.BodyAt = f.lastAt
	case bench.FramingBinary:
		r.BodyAt = f.lastAt
		r.Pieces, r.Start = f.pieces, f.arena
	case bench.FramingNone, bench.FramingSSE, bench.FramingNDJSON:
	}
	return r
}

// warnings returns the warnings with their numbers; usually nil.
func (f *Framer) warnings() map[string]int {
	if f.sniffed+f.unterminated+f.malformed+f.repaired+f.afterDone+f.merged == 0 {
		return nil
	}
	w := map[string]int{
		WarnSniffedSSE:        f.sniffed,
		WarnUnterminatedEvent: f.unterminated,
		WarnMalformedEvent:    f.malformed,
		WarnRepairedEvent:     f.repaired,
		WarnDataAfterDone:     f.afterDone,
		WarnMergedReads:       f.merged,
	}
	maps.DeleteFunc(w, func(_ string, n int) bool { return n == 0 })
	return w
}

// push adds an event and reports whether the limits allow it.
func (f *Framer) push(e eventlog.Event) bool {
	if f.resp.Events.Len() >= f.maxEvents {
		f.giveUp("event_count", fmt.Sprintf("more than %d events in one response", f.maxEvents))
		return false
	}
	f.resp.Events.Append(e)
	f.total += len(e.Data) + len(e.Name) + len(e.Comment)
	return true
}

// giveUp records that the response exceeds a limit and ignores the rest.
func (f *Framer) giveUp(code, message string) { f.breakOff(bench.EventTooLarge, code, message) }

// breakOff records a failure and ignores the rest of the body.
func (f *Framer) breakOff(class bench.Class, code, message string) {
	if f.fail == nil {
		f.fail = &bench.Failure{
			Class: class, Step: bench.StepBody,
			Status: f.head.Status, Code: code, Message: message,
		}
	}
	f.mode = modeStop
}
