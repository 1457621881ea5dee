// Package frame cuts the body of one response into events while it arrives:
// server-sent events, JSON lines, either of them in an AWS event stream, one JSON
// document or plain bytes. It stamps
// every event with the read that completed it and decodes nothing, so that the
// reading goroutine is back at its socket at once. An event that is like an
// earlier one is recognised by its bytes in one pass, which finds its end, too,
// and only what is new in it is kept.
//
// Rules for server-sent events are those of the WHATWG HTML standard, section
// 9.2.6, with leniencies that each leave a named warning.
package frame

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// The limits of one response. What is over them is a failure of class
// event_too_large, so that a hostile server cannot take our memory.
const (
	MaxEvent     = 64 << 20  // bytes of one event or line, 64 MiB
	MaxBody      = 512 << 20 // bytes of one response as they came, kept or not, 512 MiB
	MaxKept      = 256 << 20 // bytes kept of one response: all events, or a document, 256 MiB
	MaxInflated  = 64 << 20  // bytes that compressed ones may become, 64 MiB: we never ask for compression
	MaxErrorBody = 1 << 20   // bytes kept of an error or HTML body, 1 MiB
	MaxEvents    = 1 << 20   // events of one response
	MaxDrain     = 64 << 10  // bytes to read after [Framer.Done], 64 KiB
)

// keepCapacity (bytes) and keepMarks are how much of each buffer a Framer takes
// along into its next response: enough for thousands of events.
const (
	keepCapacity = 64 << 10
	keepMarks    = 1 << 10
)

// Warnings that a Framer leaves on the response.
const (
	WarnSniffedSSE        = "sniffed_sse"              // the body was a stream, its type did not say so
	WarnUnterminatedEvent = "unterminated_final_event" // the last event had no blank line
	WarnMalformedEvent    = "malformed_event"          // the last event was cut
	WarnRepairedEvent     = "repaired_event"           // a raw line break inside a JSON string
	WarnDataAfterDone     = "data_after_done"          // events after the end marker, ignored
	WarnMergedReads       = "merged_reads"             // more reads than MaxPieces, which share the last stamp
)

// Head is what decides how a body is cut.
type Head struct {
	Status          int
	ContentType     string // value of the header; empty = none
	ContentEncoding string // value of the header; empty = none
	Streaming       bool   // the request asked for a stream
	Length          string // value of the Content-Length header; empty = unknown
	Limit           int    // bytes of the body, received and kept; 0 = MaxBody and MaxKept
	Memory          *Memory
}

// mode is what a Framer does with the next bytes.
type mode uint8

const (
	modeSniff mode = iota // the type says nothing: look at the first bytes
	modeSSE               // cut into server-sent events
	modeLines             // keep, cut into lines at the end
	modeBody              // keep as one document
	modeCount             // keep when how many bytes came, and the first of them
	modeStop              // failed or full: ignore everything
)

// mark says up to which byte of the arena a read filled it. Only reads that
// hold a line end leave one.
type mark struct {
	end  int
	at   time.Duration
	read int32
}

// Framer cuts one response body into events. The zero Framer works after
// [Framer.Reset], which also makes it ready for the next response. It is not
// safe for concurrent use.
//
// Every Reset must be followed by [Framer.Free] or another Reset, because a
// compressed body holds a decompressor that has to be stopped, and a large one a
// part of the memory that all responses share.
type Framer struct {
	head      Head
	media     string // content type without parameters, lower case
	mode      mode
	framing   bench.Framing
	limit     int // bytes that all events, or the document, may have
	total     int // bytes of all events so far
	maxBody   int // bytes that may be received; MaxBody unless the head says less
	received  int // bytes as they came
	drained   int // ... of them, after Done
	granted   int // bytes of the memory that all share
	maxEvent  int // MaxEvent, MaxEvents; smaller in tests
	maxEvents int
	maxPieces int // MaxPieces; smaller in tests
	truncates bool
	full      bool // a truncating body reached its limit
	reads     int32
	lastAt    time.Duration // when the last byte was read
	endAt     time.Duration
	end       bench.End
	finished  bool

	arena []byte // data of the pending event, the unfinished line, or the body
	marks []mark // of a body that may turn out to be lines
	// pieces are the reads of a body that is counted; arena holds its start.
	pieces []bench.Piece
	begun  bool // a line was seen (modeLines)
	sniff  []byte
	sse    sse
	unzip  *inflater
	amazon amazon
	names  []string // event names seen, to allocate each once

	mislabelled bool // the type said events, the bytes are JSON or HTML

	unterminated, malformed, repaired, afterDone, sniffed, merged int

	fail *bench.Failure
	resp bench.Response // holds the events; the rest is filled in by Response
}

// Reset makes the Framer ready for the body of a response with head h. What
// [Framer.Response] returned before is no longer valid.
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

// refuse gives up at once on a document that says that it is over the limit.
func (f *Framer) refuse() {
	if f.head.Length == "" || f.mode != modeBody || f.truncates {
		return
	}
	if n, err := strconv.ParseUint(f.head.Length, 10, 63); err == nil && n > uint64(f.limit) {
		f.giveUpBody()
	}
}

// Free ends the use of the response and lets go of what it holds beyond the
// buffers of an ordinary one. What [Framer.Response] returned is no longer valid.
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

// reuse returns s emptied, or nil where it has grown beyond limit elements.
func reuse[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// Feed takes the bytes of one network read that returned at. It numbers the
// reads itself, from 1; an empty read is none. It keeps no reference to b.
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

// open takes bytes of the decompressed body.
func (f *Framer) open(at time.Duration, b []byte) {
	if f.amazon.on {
		f.unwrap(at, b)
		return
	}
	f.consume(at, b)
}

// consume takes bytes of the body, without compression and wrapping.
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

// Done reports whether nothing that follows can matter: the end marker was
// seen, the server reported an error in the stream, an error body is as long as
// we keep, or [Framer.Err] is set. The caller should read on only for a moment
// (at most 250 ms, and until [Framer.Drained]), so that the connection may be
// reused.
func (f *Framer) Done() bool {
	return f.sse.done || f.sse.failed || f.full || f.fail != nil
}

// Drained reports whether so much came after [Framer.Done] that the end of the
// body is not worth waiting for.
func (f *Framer) Drained() bool { return f.drained > MaxDrain }

// Err returns what the Framer found wrong with the body; nil means nothing.
func (f *Framer) Err() *bench.Failure { return f.fail }

// Finish ends the body. A clean end completes an event that lacks only its
// blank line; after any other end an unfinished event is dropped. Only the
// first call counts.
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

// Response returns what was received so far; complete after [Framer.Finish].
// The caller adds the header. It and all bytes in it belong to the Framer and
// are valid until the next call to Reset.
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

// warnings returns what there is to say; mostly nothing.
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

// push keeps an event, if there may be another.
func (f *Framer) push(e eventlog.Event) bool {
	if f.resp.Events.Len() >= f.maxEvents {
		f.giveUp("event_count", fmt.Sprintf("more than %d events in one response", f.maxEvents))
		return false
	}
	f.resp.Events.Append(e)
	f.total += len(e.Data) + len(e.Name) + len(e.Comment)
	return true
}

// giveUp records that the response is over a limit; nothing more is kept.
func (f *Framer) giveUp(code, message string) { f.breakOff(bench.EventTooLarge, code, message) }

// breakOff records why nothing more is kept.
func (f *Framer) breakOff(class bench.Class, code, message string) {
	if f.fail == nil {
		f.fail = &bench.Failure{
			Class: class, Step: bench.StepBody,
			Status: f.head.Status, Code: code, Message: message,
		}
	}
	f.mode = modeStop
}
