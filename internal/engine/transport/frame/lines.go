package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// lines splits a body into lines of JSON.
type lines struct {
	*output
	begun bool // a line was seen
}

var _ splitter = (*lines)(nil)

// feed adds an event per line.
func (l *lines) feed(b []byte) {
	if len(b) > l.limit-l.total-len(l.arena) {
		l.giveUpBody()
		return
	}
	l.split(l.lastAt, l.reads, b)
}

// split splits b into lines and stores an incomplete one.
func (l *lines) split(at time.Duration, read int32, b []byte) {
	events := &l.resp.Events
	for len(b) > 0 && !l.stopped {
		if len(l.arena) == 0 && events.Len() < l.maxEvents {
			if n := events.Match("", b); n > 0 && n < len(b) && b[n] == '\n' {
				events.AppendMatch(at, read, b[:n])
				l.total += n + 1
				b = b[n+1:]
				continue
			}
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			if len(l.arena)+len(b) > l.maxEvent {
				l.giveUp("event_size", fmt.Sprintf("one line is larger than %d bytes", l.maxEvent))
				return
			}
			l.arena = extend(l.arena, b)
			return
		}
		line := b[:end]
		b = b[end+1:]
		if len(l.arena) > 0 {
			l.arena = extend(l.arena, line)
			line = l.arena
		}
		size := len(line) + 1
		if line = l.trim(line); len(line) > 0 && l.push(eventlog.Event{At: at, Read: read, Data: line}) {
			size -= len(line) // push counted it
		}
		l.total += size
		l.arena = l.arena[:0]
	}
}

// finish processes a last line without a line end: it is an event if the body
// ended normally and the line is valid JSON.
func (l *lines) finish(how bench.End) {
	line := l.trim(l.arena)
	switch {
	case how != bench.EndEOF || len(line) == 0:
	case json.Valid(line):
		l.push(eventlog.Event{At: l.lastAt, Read: l.reads, Data: line})
	default:
		l.warned.malformed++
	}
}

// space is the whitespace of JSON.
const space = " \t\r\n"

// trim removes whitespace, and a byte order mark at the start of the body.
func (l *lines) trim(line []byte) []byte {
	if !l.begun {
		line = bytes.TrimPrefix(line, []byte(bom))
		l.begun = true
	}
	return bytes.Trim(line, space)
}
