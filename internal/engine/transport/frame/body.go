package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// feedBody stores bytes and, if they may be JSON lines, a mark for each read that
// completes one.
func (f *Framer) feedBody(at time.Duration, b []byte) {
	if room := f.limit - len(f.arena); len(b) > room {
		if !f.truncates {
			f.giveUpBody()
			return
		}
		b, f.full = b[:room], true
	}
	lineEnd := -1
	if f.maybeLines() {
		lineEnd = bytes.LastIndexByte(b, '\n')
	}
	if lineEnd >= 0 && len(f.marks) >= f.maxEvents {
		f.giveUp("event_count", fmt.Sprintf("more than %d events in one response", f.maxEvents))
		return
	}
	before := len(f.arena)
	f.arena = extend(f.arena, b)
	if lineEnd >= 0 {
		f.marks = append(f.marks, mark{end: before + lineEnd + 1, at: at, read: f.reads})
	}
}

func (f *Framer) giveUpBody() {
	what := "body"
	if f.unzip != nil {
		what = "decompressed body"
	}
	f.giveUpSize(what, f.limit)
}

func (f *Framer) giveUpSize(what string, limit int) {
	f.giveUp("body_size", fmt.Sprintf("%s is larger than %d bytes", what, limit))
}

// maybeLines reports whether a document may be JSON lines: a stream was requested or
// announced, and the body is JSON.
func (f *Framer) maybeLines() bool {
	return (f.head.Streaming || f.mislabelled) && f.framing == bench.FramingJSON
}

// finishBody determines the framing of an error body, and splits JSON lines that were
// announced as a document.
func (f *Framer) finishBody(how bench.End) {
	if f.framing == bench.FramingNone {
		f.nameDocument()
	}
	if !f.maybeLines() || !f.severalObjects() {
		return
	}
	f.mode, f.framing = modeLines, bench.FramingNDJSON
	body, start := f.arena, 0
	f.arena = nil
	for _, m := range f.marks {
		f.lines(m.at, m.read, body[start:m.end])
		start = m.end
	}
	f.arena = body[start:]
	f.finishLines(how)
}

// severalObjects reports whether the first line of the body is a complete JSON object
// and the body continues after it.
func (f *Framer) severalObjects() bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(f.arena, []byte(bom)), space)
	first, rest, _ := bytes.Cut(rest, []byte{'\n'})
	return len(bytes.Trim(rest, space)) > 0 && len(first) > 0 && first[0] == '{' && json.Valid(first)
}

// feedLines adds an event per line.
func (f *Framer) feedLines(at time.Duration, b []byte) {
	if len(b) > f.limit-f.total-len(f.arena) {
		f.giveUpBody()
		return
	}
	f.lines(at, f.reads, b)
}

// lines splits b into lines and stores an incomplete one.
func (f *Framer) lines(at time.Duration, read int32, b []byte) {
	events := &f.resp.Events
	for len(b) > 0 && f.mode == modeLines {
		if len(f.arena) == 0 && events.Len() < f.maxEvents {
			if n := events.Match("", b); n > 0 && n < len(b) && b[n] == '\n' {
				events.AppendMatch(at, read, b[:n])
				f.total += n + 1
				b = b[n+1:]
				continue
			}
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			if len(f.arena)+len(b) > f.maxEvent {
				f.giveUp("event_size", fmt.Sprintf("one line is larger than %d bytes", f.maxEvent))
				return
			}
			f.arena = extend(f.arena, b)
			return
		}
		line := b[:end]
		b = b[end+1:]
		if len(f.arena) > 0 {
			f.arena = extend(f.arena, line)
			line = f.arena
		}
		size := len(line) + 1
		if line = f.trimLine(line); len(line) > 0 && f.push(eventlog.Event{At: at, Read: read, Data: line}) {
			size -= len(line) // push counted it
		}
		f.total += size
		f.arena = f.arena[:0]
	}
}

// finishLines processes a last line without a line end: it is an event if the body
// ended normally and the line is valid JSON.
func (f *Framer) finishLines(how bench.End) {
	line := f.trimLine(f.arena)
	switch {
	case how != bench.EndEOF || len(line) == 0:
	case json.Valid(line):
		f.push(eventlog.Event{At: f.lastAt, Read: f.reads, Data: line})
	default:
		f.malformed++
	}
}

// space is the whitespace of JSON.
const space = " \t\r\n"

// trimLine removes whitespace, and a byte order mark at the start of the body.
func (f *Framer) trimLine(line []byte) []byte {
	if !f.begun {
		line = bytes.TrimPrefix(line, []byte(bom))
		f.begun = true
	}
	return bytes.Trim(line, space)
}
