package mock

import (
	"bytes"

	"aiperfd/internal/mock/fault"
)

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream; charset=utf-8"

// frame is a pooled buffer.
type frame struct{ b []byte }

// events renders the events of one stream. It belongs to the goroutine of its request.
type events struct {
	x     *answer
	out   func(b []byte) error // writes b to the client
	frame *frame
	head  []byte // what all events begin with; the protocol's
	eol   string

	script    *script
	b         []byte // events that are not written yet; a part of frame.b
	start     int    // of the event that is being rendered
	gathered  int    // how many
	content   int    // how many of them are content events
	lastNs    int64  // end of the last write
	serial    int    // of the last event with extra fields
	shown     int    // content events so far
	breakNext string // how the next content event is to be malformed; "" = it is not

	number int // of the next event, where a protocol numbers them

	chunkUsage bool // usage on every event
	finalUsage bool // usage event at the end
}

// newEvents returns the events of an answer. They are rendered into f and written with
// out, which must not keep its argument.
func newEvents(x *answer, s *script, f *frame, out func(b []byte) error) *events {
	e := &events{x: x, out: out, script: s, frame: f, eol: "\n"}
	switch x.opt.LineEnd {
	case LineCRLF:
		e.eol = "\r\n"
	case LineCR:
		e.eol = "\r"
	}
	e.b = f.b[:0]
	if s.open != nil {
		s.open(e)
	}
	if x.opt.BOM {
		e.b = append(e.b, "\ufeff"...)
		e.start = len(e.b)
	}
	return e
}

// release returns the buffer, for the next stream.
func (e *events) release() *frame {
	if cap(e.b) > cap(e.frame.b) {
		e.frame.b = e.b // it has grown out of the old one
	}
	return e.frame
}

// run calls a function of the script that may be missing.
func (e *events) run(step func(*events) error) error {
	if step == nil {
		return nil
	}
	return step(e)
}

// tokens adds the tokens from … to−1 of c, and its finish if it ends with them.
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
		if e.x.opt.TruthChunks {
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

// end puts the blank line behind an event and writes when enough are gathered.
func (e *events) end(content bool) error {
	if e.breakNext != "" && content {
		begin := e.start + max(0, bytes.IndexByte(e.b[e.start:], '{'))
		e.b = fault.Corrupt(e.b, begin, e.breakNext)
		e.breakNext, e.x.acted = "", true
	}
	shaped := e.x.opt.shaped()
	if shaped {
		e.decorate()
	}
	e.b = append(e.b, e.eol...)
	if !e.script.lines {
		e.b = append(e.b, e.eol...)
	}
	if shaped {
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
	if e.gathered >= e.x.opt.Coalesce {
		return e.flush()
	}
	return nil
}

// comment writes a keep-alive comment, with whatever is gathered.
func (e *events) comment() error {
	if e.script.lines {
		e.lastNs = e.x.now()
		return nil
	}
	e.b = append(e.b, ": keep-alive"...)
	if err := e.end(false); err != nil {
		return err
	}
	return e.flush()
}

// flush writes what is gathered and stamps the write.
func (e *events) flush() error {
	if e.gathered == 0 {
		return nil
	}
	start := e.x.now()
	err := e.out(e.b)
	e.lastNs = e.x.now()
	if e.content > 0 {
		e.stamp(start)
	}
	e.b = e.b[:0]
	e.start, e.gathered, e.content = 0, 0, 0
	return err
}

func (e *events) stamp(start int64) {
	t := &e.x.truth
	if t.FirstWriteNs == 0 {
		t.FirstWriteNs, t.FirstWriteEndNs = start, e.lastNs
	}
	t.LastWriteNs, t.LastWriteEndNs = start, e.lastNs
	if e.x.opt.TruthChunks {
		for range e.content {
			t.ChunkNs = append(t.ChunkNs, start)
		}
	}
}
