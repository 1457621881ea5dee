package mock

import (
	"net/http"
	"strconv"
)

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
	head    []byte // start of every event, up to the bracket of choices
	eol     string

	b         []byte // events that are not written yet; a part of frame.b
	gathered  int    // how many
	content   int    // how many of them are content events
	lastNs    int64  // end of the last write
	unseen    int    // tokens that are gathered since the last content write
	breakNext bool   // the next content event is to be malformed

	chunkUsage bool // usage on every event
	finalUsage bool // usage event at the end
}

func (x *exchange) newEvents() *events {
	opt := &x.s.opt
	f := x.s.frames.Get().(*frame)
	e := &events{x: x, flusher: http.NewResponseController(x.w), frame: f, eol: "\n"}
	if opt.LineEnd == LineCRLF {
		e.eol = "\r\n"
	}
	prefix, _, object := x.dialect.names()
	// The head stays at the front of the buffer, events are rendered behind it.
	f.b = x.appendHead(append(f.b[:0], "data: "...), prefix, object)
	e.head = f.b
	e.b = f.b[len(f.b):]
	switch opt.Usage {
	case UsageOnRequest:
		e.finalUsage = x.q.includeUsage
		e.chunkUsage = x.q.includeUsage && x.q.continuousUsage
	case UsageAlways:
		e.finalUsage = true
	case UsageEveryChunk:
		e.finalUsage, e.chunkUsage = true, true
	}
	return e
}

func (e *events) release() {
	if cap(e.b) > cap(e.frame.b) {
		e.frame.b = e.b // it has grown out of the old one
	}
	e.x.s.putFrame(e.frame)
}

// roles adds the role event of every choice.
func (e *events) roles() error {
	if !e.x.dialect.hasRole() {
		return nil
	}
	for i := range e.x.choices {
		e.open(&e.x.choices[i])
		e.b = e.x.dialect.openDelta(e.b, true, "")
		e.b = e.x.dialect.closeDelta(e.b, true, "")
		if err := e.close(nil, false); err != nil {
			return err
		}
	}
	return nil
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

// tokens adds one content event of c, and its finish event when it ends there.
func (e *events) tokens(c *choice, from, to int) error {
	opt := &e.x.s.opt
	ends := to == c.total && (to > from || c.total == 0)
	if to > from {
		finish := (*choice)(nil)
		if ends && opt.FinishChunk == FinishWithLast {
			finish = c
		}
		if err := e.contentEvent(c, from, to, finish); err != nil {
			return err
		}
	}
	if !ends {
		return nil
	}
	e.x.noteFinish(c)
	if opt.FinishChunk == FinishSeparate || opt.FinishChunk == FinishWithLast && c.total == 0 {
		e.open(c)
		e.b = e.x.dialect.openDelta(e.b, false, "")
		e.b = e.x.dialect.closeDelta(e.b, false, "")
		return e.close(c, false)
	}
	return nil
}

// noteFinish records a finish that the client is told, or would be.
func (x *exchange) noteFinish(c *choice) {
	if c.index == 0 {
		x.truth.FinishReason = c.finish
	}
}

func (e *events) contentEvent(c *choice, from, to int, finish *choice) error {
	x := e.x
	field := "content"
	if from < c.reasoning {
		field = x.s.opt.ReasoningField
		x.truth.ReasoningTokens += to - from
	}
	x.truth.OutputTokens += to - from
	role := from == 0 && x.s.opt.RoleChunk == RoleWithFirst && x.dialect.hasRole()
	start := len(e.b)
	e.open(c)
	e.b = x.dialect.openDelta(e.b, role, field)
	e.b = c.appendTokens(e.b, from, to)
	e.b = x.dialect.closeDelta(e.b, true, field)
	if e.breakNext {
		e.breakNext, x.acted = false, true
		e.finishObject(finish)
		e.b = corrupt(e.b, start+len("data: "), x.rule.kind)
		return e.end(true)
	}
	return e.close(finish, true)
}

// open starts an event for choice c.
func (e *events) open(c *choice) {
	e.b = append(e.b, e.head...)
	e.b = append(e.b, `{"index":`...)
	e.b = strconv.AppendInt(e.b, int64(c.index), 10)
}

// close completes an event that open has started; finish is the choice that
// ends, or nil.
func (e *events) close(finish *choice, content bool) error {
	e.finishObject(finish)
	return e.end(content)
}

func (e *events) finishObject(finish *choice) {
	e.b = append(e.b, `,"logprobs":null,"finish_reason":`...)
	if finish == nil {
		e.b = append(e.b, "null}]"...)
	} else {
		e.b = appendJSONString(e.b, finish.finish)
		e.b = append(e.b, `,"stop_reason":null}]`...)
	}
	if e.chunkUsage {
		e.b = append(e.b, ',')
		e.b = e.x.appendUsage(e.b, e.x.truth.OutputTokens, e.x.truth.ReasoningTokens)
	}
	e.b = append(e.b, '}')
}

// end puts the blank line behind an event and writes when enough are gathered.
func (e *events) end(content bool) error {
	e.b = append(e.b, e.eol...)
	e.b = append(e.b, e.eol...)
	e.gathered++
	if content {
		e.content++
	}
	if e.gathered >= e.x.s.opt.Coalesce {
		return e.flush()
	}
	return nil
}

// usage adds the event with choices [] and usage.
func (e *events) usage() error {
	e.b = append(e.b, e.head...)
	e.b = append(e.b, "],"...)
	e.b = e.x.appendUsage(e.b, e.x.truth.OutputTokens, e.x.truth.ReasoningTokens)
	e.b = append(e.b, '}')
	return e.end(false)
}

func (e *events) done() error {
	e.b = append(e.b, "data: [DONE]"...)
	return e.end(false)
}

// comment writes a keep-alive comment, with whatever is gathered.
func (e *events) comment() error {
	e.b = append(e.b, ": keep-alive"...)
	if err := e.end(false); err != nil {
		return err
	}
	return e.flush()
}

// streamError writes vLLM's error event and the end of the stream.
func (e *events) streamError(message string) error {
	status := http.StatusInternalServerError
	e.b = append(e.b, "data: "...)
	e.b = appendError(e.b, &apiError{status, message, kindOf(status), ""})
	if err := e.end(false); err != nil {
		return err
	}
	if err := e.done(); err != nil {
		return err
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
	e.gathered, e.content = 0, 0
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

// write sends e.b in one write, or byte by byte.
func (e *events) write() error {
	size := len(e.b)
	if e.x.s.opt.Split == SplitEveryByte {
		size = 1
	}
	for rest := e.b; len(rest) > 0; rest = rest[size:] {
		if _, err := e.x.w.Write(rest[:size]); err != nil {
			return err
		}
		if err := e.flusher.Flush(); err != nil {
			return err
		}
	}
	return nil
}
