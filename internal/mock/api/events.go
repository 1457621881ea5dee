package api

import (
	"bytes"
	"strconv"

	"aiperfd/internal/mock/options"
)

// EventStream is the content type of server-sent events.
const EventStream = "text/event-stream; charset=utf-8"

// Buffer is a pooled buffer.
type Buffer struct{ B []byte }

// Events renders the events of one stream. It belongs to the goroutine of its request.
type Events struct {
	Answer *Answer
	out    func(b []byte) error // writes b to the client
	Buffer *Buffer
	Head   []byte // what all events begin with; the protocol's
	EOL    string

	Script    *Script
	B         []byte // events that are not written yet; a part of frame.b
	start     int    // of the event that is being rendered
	Gathered  int    // number of these events
	content   int    // number of content events among them
	LastNs    int64  // end of the last write
	serial    int    // of the last event with extra fields
	shown     int    // content events so far
	BreakNext string // how the next content event is malformed; "" = it is not

	Number int // of the next event, where a protocol numbers them

	Err error // of the first write that failed; events after it are not written

	ChunkUsage bool // usage on every event
	FinalUsage bool // usage event at the end
}

// NewEvents returns the events of an answer. They are rendered into f and written with
// out, which must not keep its argument.
func NewEvents(x *Answer, s *Script, f *Buffer, out func(b []byte) error) *Events {
	e := &Events{Answer: x, out: out, Script: s, Buffer: f, EOL: "\n"}
	switch x.Options.LineEnd {
	case options.LineCRLF:
		e.EOL = "\r\n"
	case options.LineCR:
		e.EOL = "\r"
	}
	e.B = f.B[:0]
	if s.Open != nil {
		s.Open(e)
	}
	if x.Options.BOM {
		e.B = append(e.B, "\ufeff"...)
		e.start = len(e.B)
	}
	return e
}

// Release returns the buffer to its pool.
func (e *Events) Release() *Buffer {
	if cap(e.B) > cap(e.Buffer.B) {
		e.Buffer.B = e.B // appending may have reallocated it
	}
	return e.Buffer
}

// Run calls a function of the script, which may be nil.
func (e *Events) Run(step func(*Events)) {
	if step != nil {
		step(e)
	}
}

// Tokens adds the tokens from … to−1 of c, and its finish if it ends with them.
func (e *Events) Tokens(c *Choice, from, to int) {
	if e.Err != nil {
		return
	}
	ends := to == c.Total && (to > from || c.Total == 0)
	if to > from {
		e.Answer.Truth.OutputTokens += to - from
		if from < c.Reasoning {
			e.Answer.Truth.ReasoningTokens += to - from
		}
		shown := e.shown
		if e.Script.Content(e, c, from, to, ends); e.Err != nil {
			return
		}
		if e.Answer.Options.TruthChunks {
			e.Answer.Truth.NoteTokens(to-from, e.shown-shown)
		}
	}
	if !ends {
		return
	}
	e.Answer.noteFinish(c)
	if e.Script.Finish != nil {
		e.Script.Finish(e, c)
	}
}

// End completes an event with a blank line, and writes if enough events are buffered.
func (e *Events) End(content bool) {
	if e.BreakNext != "" && content {
		begin := e.start + max(0, bytes.IndexByte(e.B[e.start:], '{'))
		e.B = Corrupt(e.B, begin, e.BreakNext)
		e.BreakNext, e.Answer.Acted = "", true
	}
	shaped := e.Answer.Options.Shaped()
	if shaped {
		e.decorate()
	}
	e.B = append(e.B, e.EOL...)
	if !e.Script.Lines {
		e.B = append(e.B, e.EOL...)
	}
	if shaped {
		e.nextLineEnd()
	}
	if e.Script.Wrap != nil {
		e.B = e.Script.Wrap(e.B, e.start)
	}
	e.Sealed(content)
}

// JSON adds an event that consists of a prefix and the encoding of v.
func (e *Events) JSON(prefix string, v any, content bool) {
	e.B = AppendJSON(append(e.B, prefix...), v)
	e.End(content)
}

// Sealed counts an event that is complete, and writes if enough events are buffered.
func (e *Events) Sealed(content bool) {
	e.start = len(e.B)
	e.Gathered++
	if content {
		e.content++
		e.shown++
	}
	if e.Gathered >= e.Answer.Options.Coalesce {
		e.Flush()
	}
}

// Comment writes a keep-alive comment together with the buffered events.
func (e *Events) Comment() {
	if e.Script.Lines {
		e.LastNs = e.Answer.Now()
		return
	}
	e.B = append(e.B, ": keep-alive"...)
	e.End(false)
	e.Flush()
}

// Flush writes the buffered events and records the time of the write.
func (e *Events) Flush() {
	if e.Gathered == 0 {
		return
	}
	if e.Err == nil {
		start := e.Answer.Now()
		e.Err = e.out(e.B)
		e.LastNs = e.Answer.Now()
		if e.content > 0 {
			e.stamp(start)
		}
	}
	e.B = e.B[:0]
	e.start, e.Gathered, e.content = 0, 0, 0
}

func (e *Events) stamp(start int64) {
	t := &e.Answer.Truth
	if t.FirstWriteNs == 0 {
		t.FirstWriteNs, t.FirstWriteEndNs = start, e.LastNs
	}
	t.LastWriteNs, t.LastWriteEndNs = start, e.LastNs
	if e.Answer.Options.TruthChunks {
		for range e.content {
			t.ChunkNs = append(t.ChunkNs, start)
		}
	}
}

// PartScript writes an answer part by part: what opens one, its tokens, and what closes it. What
// opens a call has its name, which is its first token.
type PartScript struct {
	Open, Close func(e *Events, c *Choice, p Part)
	Delta       func(e *Events, c *Choice, p Part, from, to int)
}

// Content is a [Script.Content].
func (s *PartScript) Content(e *Events, c *Choice, from, to int, _ bool) {
	p := c.PartAt(from)
	if from == p.From {
		if from > 0 {
			s.Close(e, c, c.PartAt(from-1))
		}
		s.Open(e, c, p)
	}
	if from > p.From || p.Kind != Call {
		s.Delta(e, c, p, from, to)
	}
}

// Finish is a [Script.Finish].
func (s *PartScript) Finish(e *Events, c *Choice) {
	if c.Total > 0 {
		s.Close(e, c, c.PartAt(c.Total-1))
	}
}

// decorate changes the form of the event that is being rendered, according to the
// options. Its meaning stays the same.
func (e *Events) decorate() {
	opt := e.Answer.Options
	event := bytes.Clone(e.B[e.start:])
	if !bytes.HasPrefix(event, []byte("data: ")) && !bytes.Contains(event, []byte("\ndata: ")) {
		return // a comment
	}
	e.B = e.B[:e.start]
	if opt.ExtraFields {
		e.serial++
		e.B = append(e.B, "id: "...)
		e.B = strconv.AppendInt(e.B, int64(e.serial), 10)
		e.B = append(e.B, e.EOL...)
		e.B = append(append(e.B, "retry: 3000"...), e.EOL...)
		e.B = append(append(e.B, "x-unknown: 1"...), e.EOL...)
	}
	if opt.MultiLine {
		// The first comma between two members is outside of all strings.
		event = bytes.Replace(event, []byte(`,"`), []byte(`,`+e.EOL+`data: "`), 1)
	}
	if opt.NoSpace {
		event = bytes.ReplaceAll(event, []byte(e.EOL+"data: "), []byte(e.EOL+"data:"))
		if rest, ok := bytes.CutPrefix(event, []byte("data: ")); ok {
			event = append([]byte("data:"), rest...)
		}
	}
	e.B = append(e.B, event...)
}

// nextLineEnd changes the line ends after every event if they are mixed.
func (e *Events) nextLineEnd() {
	if e.Answer.Options.LineEnd == options.LineMixed {
		e.EOL = map[string]string{"\n": "\r\n", "\r\n": "\r", "\r": "\n"}[e.EOL]
	}
}

// Done writes [DONE] in the form of the option.
func (e *Events) Done() {
	const marker = "data: [DONE]"
	switch e.Answer.Options.Done {
	case options.DoneTwice:
		e.B = append(e.B, marker...)
		e.End(false)
	case options.DoneNoNewline:
		e.B = append(e.B, marker...)
		e.Gathered++
		e.Flush()
		return
	case options.DoneNamed:
		e.B = append(append(e.B, "event: done"...), e.EOL...)
	}
	e.B = append(e.B, marker...)
	e.End(false)
}

// Corrupt makes the JSON text data[start:] invalid in the given way and returns data.
func Corrupt(data []byte, start int, kind string) []byte {
	doc := data[start:]
	switch kind {
	case options.BadJSON:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			doc[i] = '='
		}
	case options.TruncatedJSON:
		return data[:start+len(doc)/2]
	case options.NaNNumber:
		for _, key := range []string{`"created":`, `"sequence_number":`, `"index":`} {
			i := bytes.Index(doc, []byte(key))
			if i < 0 {
				continue
			}
			from := start + i + len(key)
			to := from
			for to < len(data) && data[to] >= '0' && data[to] <= '9' {
				to++
			}
			return splice(data, from, to, "NaN")
		}
	case options.RawNewline:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			return splice(data, start+i+1, start+i+1, "\n")
		}
	case options.WrongTypes:
		if i := bytes.Index(doc, []byte(`"choices":`)); i >= 0 {
			at := start + i + len(`"choices":`)
			return splice(data, at, at, `"none","were":`)
		}
		return append(data[:start], `["not","an","object"]`...)
	case options.NotSSE:
		return append(data[:bytes.LastIndexAny(data[:start], "\r\n")+1], "this is no event"...)
	case options.TwoObjects:
		return append(data, doc...)
	case options.InvalidUTF8:
		for _, key := range []string{`"content":"`, `"text":"`, `"delta":"`, `"thinking":"`, `"reasoning`, `"id":"`} {
			if i := bytes.Index(doc, []byte(key)); i >= 0 {
				at := start + i + len(key)
				return splice(data, at, at, "\xff\xfe")
			}
		}
	}
	return data
}

// splice replaces data[from:to].
func splice(data []byte, from, to int, with string) []byte {
	tail := bytes.Clone(data[to:])
	return append(append(data[:from], with...), tail...)
}
