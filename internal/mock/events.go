package mock

import (
	"bytes"
	"net/http"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
)

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream; charset=utf-8"

// maxFrame is the largest buffer that is kept for reuse, in bytes. It bounds what
// an idle stream holds.
const maxFrame = 16 << 10

// frame is a pooled buffer.
type frame struct{ b []byte }

// events renders the events of one stream and writes them out. It belongs to the
// goroutine of its exchange.
type events struct {
	x       *exchange
	flusher *http.ResponseController
	frame   *frame
	head    []byte // what all events begin with; the protocol's
	eol     string
	shaped  bool   // events change before they are written
	cut     cutter // nil = whole writes

	script    *script
	b         []byte // events that are not written yet; a part of frame.b
	start     int    // of the event that is being rendered
	gathered  int    // how many
	content   int    // how many of them are content events
	lastNs    int64  // End of the last write
	unseen    int    // Tokens that are gathered since the last content write
	serial    int    // of the last event with extra fields
	shown     int    // content events so far
	breakNext bool   // the next content event is to be malformed

	number int // of the next event, where a protocol numbers them

	chunkUsage bool // usage on every event
	finalUsage bool // usage event at the end
}

func (x *exchange) newEvents() *events {
	opt := &x.s.opt
	f := x.s.frames.Get().(*frame)
	e := &events{x: x, flusher: http.NewResponseController(x.w), frame: f, eol: "\n"}
	switch opt.LineEnd {
	case LineCRLF:
		e.eol = "\r\n"
	case LineCR:
		e.eol = "\r"
	}
	e.cut, e.shaped = x.newCutter(), opt.shaped()
	e.b = f.b[:0]
	if e.script = x.api.script(); e.script.open != nil {
		e.script.open(e)
	}
	if opt.BOM {
		e.b = append(e.b, "\ufeff"...)
		e.start = len(e.b)
	}
	return e
}

func (e *events) release() {
	if cap(e.b) > cap(e.frame.b) {
		e.frame.b = e.b // it has grown out of the old one
	}
	e.x.s.putFrame(e.frame)
}

// step adds the tokens from … to−1 of every choice that has them, and the finish
// of those that end there.
func (e *events) step(from, to int) error {
	before := e.x.truth.LastWriteNs
	for i := range e.x.choices {
		c := &e.x.choices[i]
		if err := e.tokens(c, from, min(to, c.total)); err != nil {
			return err
		}
	}
	if to > from {
		e.observe(before, to-from)
	}
	return nil
}

// Tokens adds the content of c, and its finish when it ends there.
func (e *events) tokens(c *choice, from, to int) error {
	ends := to == c.total && (to > from || c.total == 0)
	if to > from {
		e.x.truth.OutputTokens += to - from
		if from < c.reasoning {
			e.x.truth.ReasoningTokens += to - from
		}
		shown := e.shown
		if err := e.script.content(e, c, from, to, ends); err != nil {
			return err
		}
		if e.x.s.opt.TruthChunks {
			e.x.truth.NoteTokens(to-from, e.shown-shown)
		}
	}
	if !ends {
		return nil
	}
	e.x.noteFinish(c)
	if e.script.finish == nil {
		return nil
	}
	return e.script.finish(e, c)
}

// noteFinish records a finish that the client is told, or would be.
func (x *exchange) noteFinish(c *choice) {
	if c.index == 0 {
		x.truth.FinishReason = c.finish
	}
}

// End puts the blank line behind an event and writes when enough are gathered.
func (e *events) end(content bool) error {
	if e.breakNext && content {
		e.breakNext, e.x.acted = false, true
		begin := e.start + max(0, bytes.IndexByte(e.b[e.start:], '{'))
		e.b = fault.Corrupt(e.b, begin, e.x.rule.Kind)
	}
	if e.shaped {
		e.decorate()
	}
	e.b = append(e.b, e.eol...)
	if !e.script.lines {
		e.b = append(e.b, e.eol...)
	}
	if e.shaped {
		e.nextLineEnd()
	}
	if e.script.wrap != nil {
		e.b = e.script.wrap(e.b, e.start)
	}
	return e.sealed(content)
}

// sealed counts an event that is as it goes out, and writes when enough are gathered.
func (e *events) sealed(content bool) error {
	e.start = len(e.b)
	e.gathered++
	if content {
		e.content++
		e.shown++
	}
	if e.gathered >= e.x.s.opt.Coalesce {
		return e.flush()
	}
	return nil
}

// comment writes a keep-alive comment, with whatever is gathered.
func (e *events) comment() error {
	if e.script.lines {
		e.lastNs = e.x.s.now()
		return nil
	}
	e.b = append(e.b, ": keep-alive"...)
	if err := e.end(false); err != nil {
		return err
	}
	return e.flush()
}

// streamError writes what the server says when it breaks down, and the end of
// the stream.
func (e *events) streamError(message string) error {
	status := http.StatusInternalServerError
	if e.script.fail != nil {
		if err := e.script.fail(e, apierror.New(status, message, "")); err != nil {
			return err
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	return errFaulted
}

// flush writes what is gathered and stamps the write.
func (e *events) flush() error {
	if e.gathered == 0 {
		return nil
	}
	start := e.x.s.now()
	err := e.write()
	e.lastNs = e.x.s.now()
	if e.content > 0 {
		e.stamp(start)
	}
	e.b = e.b[:0]
	e.start, e.gathered, e.content = 0, 0, 0
	if err != nil {
		return errClientGone
	}
	return nil
}

func (e *events) stamp(start int64) {
	t := &e.x.truth
	if t.FirstWriteNs == 0 {
		t.FirstWriteNs, t.FirstWriteEndNs = start, e.lastNs
	}
	t.LastWriteNs, t.LastWriteEndNs = start, e.lastNs
	if e.x.s.opt.TruthChunks {
		for range e.content {
			t.ChunkNs = append(t.ChunkNs, start)
		}
	}
}

// Write sends e.b in one write, or in the pieces that the options ask for.
func (e *events) write() error {
	if e.x.slow() {
		return e.x.drip(e.b)
	}
	size := len(e.b)
	for rest := e.b; len(rest) > 0; rest = rest[size:] {
		if e.cut != nil {
			size = e.cut(rest)
		}
		if _, err := e.x.w.Write(rest[:size]); err != nil {
			return err
		}
		if err := e.flusher.Flush(); err != nil {
			return err
		}
	}
	return nil
}
