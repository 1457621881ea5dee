package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
)

// feedBody keeps bytes, and for each read that ends a line where and when.
func (f *Framer) feedBody(at time.Duration, b []byte) {
	if room := f.limit - len(f.arena); len(b) > room {
		if !f.truncates {
			f.giveUp("body_size", fmt.Sprintf("body is larger than %d bytes", f.limit))
			return
		}
		b, f.full = b[:room], true
	}
	lineEnd := -1
	if f.wantsLines() {
		lineEnd = bytes.LastIndexByte(b, '\n')
	}
	if lineEnd >= 0 && len(f.marks) >= f.maxEvents {
		f.giveUp("event_count", fmt.Sprintf("more than %d events in one response", f.maxEvents))
		return
	}
	before := len(f.arena)
	f.arena = append(f.arena, b...)
	if lineEnd >= 0 {
		f.line0 = before + lineEnd + 1
		f.marks = append(f.marks, mark{end: f.line0, at: at, read: f.reads})
	}
	if f.mode == modeLines && len(f.arena)-f.line0 > f.maxEvent {
		f.giveUp("event_size", fmt.Sprintf("one line is larger than %d bytes", f.maxEvent))
	}
}

// wantsLines reports whether the body is, or may turn out to be, JSON lines: a
// stream was asked for and JSON came.
func (f *Framer) wantsLines() bool {
	return f.mode == modeLines || f.head.Streaming && f.framing == bench.FramingJSON
}

// finishBody names an error body and cuts JSON lines.
func (f *Framer) finishBody(how bench.End) {
	switch {
	case f.framing == bench.FramingNone:
		f.nameDocument()
	case f.mode == modeLines:
		f.cutLines(how)
	case f.wantsLines() && f.severalObjects():
		f.framing = bench.FramingNDJSON
		f.cutLines(how)
	}
}

// severalObjects reports whether the body starts with a line that is a JSON
// object of its own, and more follows.
func (f *Framer) severalObjects() bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(f.arena, []byte(bom)), " \t\r\n")
	first, rest, _ := bytes.Cut(rest, []byte{'\n'})
	return len(bytes.Trim(rest, " \t\r\n")) > 0 && len(first) > 0 && first[0] == '{' && json.Valid(first)
}

// cutLines makes an event of every line that is not blank. A last line without
// its end counts after a clean end of the body, when it is whole.
func (f *Framer) cutLines(how bench.End) {
	body := f.arena
	next := 0 // index of the mark that covers the current line
	for pos := 0; pos < len(body); {
		at, read := f.lastAt, f.reads
		end := bytes.IndexByte(body[pos:], '\n')
		open := end < 0
		if open {
			end = len(body)
		} else {
			end += pos
			for f.marks[next].end <= end {
				next++
			}
			at, read = f.marks[next].at, f.marks[next].read
		}
		s := trimSpan(body, span{pos, end})
		pos = end + 1
		switch line := body[s.start:s.end]; {
		case len(line) == 0:
		case !open || how == bench.EndEOF && json.Valid(line):
			if !f.push(bench.Event{At: at, Read: read}, s) {
				return
			}
		case how == bench.EndEOF:
			f.malformed++
		}
	}
}

// trimSpan narrows s to what is neither white space nor a byte order mark at
// the start of the body.
func trimSpan(body []byte, s span) span {
	if s.start == 0 && bytes.HasPrefix(body[:s.end], []byte(bom)) {
		s.start = len(bom)
	}
	for s.start < s.end && isSpace(body[s.start]) {
		s.start++
	}
	for s.start < s.end && isSpace(body[s.end-1]) {
		s.end--
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
