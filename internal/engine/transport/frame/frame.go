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
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
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
	MaxEmpty     = 4 << 20   // lines in a row of a stream of which nothing is kept
	MaxDrain     = 64 << 10  // bytes to read after [Framer.Done], 64 KiB
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

// splitter is a framing: it adds the events of a body to the output, or stores the
// body. It is not called after the output has stopped.
type splitter interface {
	// feed processes bytes of the current read. It does not retain b.
	feed(b []byte)
	// finish ends the body.
	finish(how bench.End)
}

// Framer splits a response body into events. [Framer.Reset] prepares the zero Framer
// for its first response and any Framer for the next one. A Framer must not be copied
// and is not safe for concurrent use.
//
// Every Reset must be followed by [Framer.Free] or another Reset, because a
// compressed body holds a decompressor that must be stopped, and a large one a part
// of the shared memory.
type Framer struct {
	output

	head     Head
	media    string // content type without parameters, lower case
	maxBody  int    // maximum number of received bytes
	received int    // received bytes
	drained  int    // received bytes after Done
	account  account
	unzip    *inflater
	sniff    []byte   // start of the body, until the framing is known
	split    splitter // one of the following; nil = determine it from the first bytes

	sse      sse
	lines    lines
	document document
	counter  counter
	amazon   amazon

	panicked *bench.Panic // of Feed or Finish; nil = none

	watch    func(r *bench.Response) (done bool) // nil = none
	looks    int                                 // number of events at the next call of watch
	finished bool
	end      bench.End
	endAt    time.Duration
}

// Reset prepares the Framer for the body of a response with head h. It invalidates
// the result of [Framer.Response].
func (f *Framer) Reset(h Head) {
	f.Free()
	f.begin(h.Status)
	f.head, f.media = h, mediaType(h.ContentType)
	f.maxBody, f.received, f.drained = MaxBody, 0, 0
	if h.Limit > 0 {
		f.limit, f.maxBody = h.Limit, h.Limit
	}
	f.account = account{memory: h.Memory}
	f.split = nil
	f.sse.reset(&f.output)
	f.lines = lines{output: &f.output}
	f.document = document{output: &f.output, media: f.media, streaming: h.Streaming, marks: f.document.marks}
	f.counter = counter{output: &f.output, maxPieces: MaxPieces, pieces: f.counter.pieces}
	f.amazon = amazon{output: &f.output, sse: &f.sse, lines: &f.lines, pending: f.amazon.pending}
	f.finished, f.end, f.endAt, f.looks, f.panicked = false, 0, 0, 1, nil
	f.choose()
	f.refuse()
}

// refuse rejects a document whose Content-Length exceeds the limit.
func (f *Framer) refuse() {
	if f.head.Length == "" || f.framing != bench.FramingJSON {
		return
	}
	if n, err := strconv.ParseUint(f.head.Length, 10, 63); err == nil && n > uint64(f.limit) {
		f.giveUpBody()
	}
}

// Free releases the memory of the response, except buffers of ordinary size. It
// invalidates the result of [Framer.Response].
func (f *Framer) Free() {
	f.watch = nil
	f.stopInflating()
	f.finished = true
	f.release()
	f.sse.free()
	f.sniff = reuse(f.sniff, keepCapacity)
	f.document.marks = reuse(f.document.marks, keepMarks)
	f.counter.pieces = reuse(f.counter.pieces, keepMarks)
	f.amazon.pending = reuse(f.amazon.pending, keepCapacity)
	f.account.free()
}

// Feed processes the bytes of one network read that returned at the given time. It
// numbers the reads from 1; empty reads do not count. It does not retain b. A panic fails the
// response: the caller may be the goroutine that reads all connections.
func (f *Framer) Feed(at time.Duration, b []byte) {
	if len(b) == 0 || f.finished {
		return
	}
	defer f.recoverPanic()
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
		f.inflate(b)
	} else {
		f.consume(b)
	}
	if f.Watched() {
		f.look()
	}
}

// recoverPanic makes a panic the failure of the response. It is deferred.
func (f *Framer) recoverPanic() {
	if value := recover(); value != nil {
		f.panicked = &bench.Panic{Value: value, Stack: debug.Stack()}
		f.watch = nil
		f.fail = nil // the panic explains more
		f.breakOff(bench.ClientError, bench.CodePanic, bench.Panicked("read", value).Message)
	}
}

// Watch makes the Framer call watch after each read that completed an event, with what
// was received so far, until it returns true. It must not block, nor keep its argument.
// nil = nothing is called.
func (f *Framer) Watch(watch func(r *bench.Response) (done bool)) { f.watch = watch }

// Watched reports whether the function of [Framer.Watch] waits for more events, so that
// each read should be fed at once.
func (f *Framer) Watched() bool { return f.watch != nil }

// look calls the function of [Framer.Watch] if there are new events. After many of them
// it does so less often, since the function reads all events each time.
func (f *Framer) look() {
	const often = 32
	n := f.resp.Events.Len()
	if n < f.looks {
		return
	}
	f.looks = n + max(1, (n-often)/4)
	if f.watch(f.Response()) {
		f.watch = nil
	}
}

// needs returns the approximate memory of the response while n more bytes are stored.
func (f *Framer) needs(n int) int {
	const markSize = 24
	return growth(f.arena, n) + growth(f.sse.line, n) + growth(f.sse.tail, n) + growth(f.amazon.pending, n) +
		f.resp.Events.Size() + len(f.document.marks)*markSize
}

// inflate decompresses the bytes of one read and processes the output.
func (f *Framer) inflate(b []byte) {
	z := f.unzip
	for z.in = b; !f.stopped && !f.full; {
		out, ok := z.next()
		if !ok {
			f.inflateEnded(z.err)
			return
		}
		if out == nil {
			break
		}
		f.consume(out)
	}
	z.in = nil
}

// inflateEnded handles the end of the compressed data. The rest of the body is ignored.
func (f *Framer) inflateEnded(err error) {
	f.full = true
	if f.fail == nil && err != nil && !errors.Is(err, io.EOF) {
		f.fail = f.failure(bench.MalformedResponse, "content_encoding",
			fmt.Sprintf("decompress %s body: %v", f.head.ContentEncoding, err))
	}
}

func (f *Framer) stopInflating() {
	if f.unzip != nil {
		f.unzip.stop()
		f.unzip = nil
	}
}

// consume processes bytes of the decompressed body.
func (f *Framer) consume(b []byte) {
	if f.stopped {
		return
	}
	if f.split == nil {
		if b = f.sniffBytes(b, false); b == nil {
			return
		}
	}
	if f.fail == nil && !f.account.claim(f.needs(len(b))) {
		f.breakOff(bench.ClientError, "memory", fmt.Sprintf(
			"the responses under way take more than %d bytes of memory together", f.head.Memory.limit))
		return
	}
	f.split.feed(b)
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
	defer f.recoverPanic()
	f.finished, f.end, f.endAt = true, how, at
	if f.split == nil && !f.stopped {
		if rest := f.sniffBytes(nil, true); rest != nil {
			f.split.feed(rest)
		}
	}
	if f.split != nil && !f.stopped {
		f.split.finish(how)
	}
	f.stopInflating()
}

// Response returns the part of the response that was received so far; after
// [Framer.Finish] it is complete. The caller sets its Header. The response belongs to
// the Framer and is valid until the next call to Free or Reset.
func (f *Framer) Response() *bench.Response {
	r := &f.resp
	*r = bench.Response{
		Status: f.status, Framing: f.framing, Events: r.Events, Done: f.sse.done,
		End: f.end, EndAt: f.endAt, Failure: f.fail, Warnings: f.warned.byName(), Panic: f.panicked,
	}
	switch f.framing {
	case bench.FramingJSON, bench.FramingText, bench.FramingHTML:
		r.Body = f.arena
		r.BodyAt = f.lastAt
	case bench.FramingBinary:
		r.BodyAt = f.lastAt
		r.Pieces, r.Start = f.counter.pieces, f.arena
	case bench.FramingNone, bench.FramingSSE, bench.FramingNDJSON:
	}
	return r
}
