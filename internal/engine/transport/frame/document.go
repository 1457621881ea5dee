package frame

import (
	"bytes"
	"encoding/json"
	"time"

	"aiperfd/internal/engine/bench"
)

// document stores a body. JSON that may be JSON lines is split at its end.
type document struct {
	*output
	media     string // content type of the response
	streaming bool   // a stream was requested or announced
	truncates bool   // only the first limit bytes are stored
	marks     []mark
}

var _ splitter = (*document)(nil)

// mark is the end of the last complete line of a read, as a position in the body.
type mark struct {
	end  int
	at   time.Duration
	read int32
}

// feed stores bytes and, if they may be JSON lines, a mark for each read that
// completes one.
func (d *document) feed(b []byte) {
	if room := d.limit - len(d.arena); len(b) > room {
		if !d.truncates {
			d.giveUpBody()
			return
		}
		b, d.full = b[:room], true
	}
	lineEnd := -1
	if d.maybeLines() {
		lineEnd = bytes.LastIndexByte(b, '\n')
	}
	if lineEnd >= 0 && len(d.marks) >= d.maxEvents {
		d.giveUpCount()
		return
	}
	before := len(d.arena)
	d.arena = extend(d.arena, b)
	if lineEnd >= 0 {
		d.marks = append(d.marks, mark{end: before + lineEnd + 1, at: d.lastAt, read: d.reads})
	}
}

// maybeLines reports whether a document may be JSON lines: a stream was requested or
// announced, and the body is JSON.
func (d *document) maybeLines() bool { return d.streaming && d.framing == bench.FramingJSON }

// finish determines the framing of an error body, and splits JSON lines that were
// announced as a document.
func (d *document) finish(how bench.End) {
	if d.framing == bench.FramingNone {
		d.framing = d.kind()
	}
	if !d.maybeLines() || !d.severalObjects() {
		return
	}
	d.framing = bench.FramingNDJSON
	l := lines{output: d.output}
	body, start := d.arena, 0
	d.arena = nil
	for _, m := range d.marks {
		l.split(m.at, m.read, body[start:m.end])
		start = m.end
	}
	d.arena = body[start:]
	l.finish(how)
}

// kind returns the framing of an error body according to its content type and first
// byte.
func (d *document) kind() bench.Framing {
	start := bytes.TrimLeft(bytes.TrimPrefix(d.arena, []byte(bom)), space)
	switch {
	case len(start) == 0:
		return bench.FramingNone
	case start[0] == '{' || start[0] == '[' || isJSON(d.media):
		return bench.FramingJSON
	case d.media == "text/html" || start[0] == '<':
		return bench.FramingHTML
	}
	return bench.FramingText
}

// severalObjects reports whether the first line of the body is a complete JSON object
// and the body continues after it.
func (d *document) severalObjects() bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(d.arena, []byte(bom)), space)
	first, rest, _ := bytes.Cut(rest, []byte{'\n'})
	return len(bytes.Trim(rest, space)) > 0 && len(first) > 0 && first[0] == '{' && json.Valid(first)
}
