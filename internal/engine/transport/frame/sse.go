package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// maxComment is the maximum size of the comment of an error event, in bytes.
const maxComment = 4 << 10

// maxNames limits the table of event names; an API has about twenty.
const maxNames = 64

// sse is the state of the parser of server-sent events.
type sse struct {
	bom     int  // matched bytes of the byte order mark; 3 = it is over
	skipLF  bool // the last line ended with CR; a following LF belongs to it
	done    bool // the end marker was received
	failed  bool // the server reported an error
	line    []byte
	hasData bool   // the pending event has a data line
	unknown bool   // ... followed by a line with an unknown field name
	name    string // event name
	comment []byte
	tail    []byte        // raw lines after the first data line, each preceded by LF
	at      time.Duration // when the last line of the pending event ended
	read    int32         // number of that read
}

// feedSSE splits bytes into lines at LF, CR or CRLF.
func (f *Framer) feedSSE(at time.Duration, b []byte) {
	if f.sse.bom < len(bom) {
		b = f.skipBOM(b)
	}
	lf := -1 // position of the next LF in b; len(b) = there is none
	for pos := 0; pos < len(b) && f.mode == modeSSE; {
		if f.sse.skipLF {
			f.sse.skipLF = false
			if b[pos] == '\n' {
				pos++
				continue
			}
		}
		if n := f.matchEvent(at, b[pos:]); n > 0 {
			pos += n
			continue
		}
		if lf < pos {
			if lf = bytes.IndexByte(b[pos:], '\n'); lf < 0 {
				lf = len(b)
			} else {
				lf += pos
			}
		}
		end := lf
		if cr := bytes.IndexByte(b[pos:lf], '\r'); cr >= 0 {
			end = pos + cr
			f.sse.skipLF = true
		}
		if end == len(b) {
			f.partialLine(b[pos:])
			return
		}
		f.fullLine(at, b[pos:end])
		pos = end + 1
	}
}

// matchEvent adds the event at the start of b if it matches a template and ends within
// b, and returns its length; 0 = it does not. The result is that of
// [Framer.handleLine] and [Framer.dispatch], without splitting lines. An event that
// reports an error is the last one, so that it is never part of a template.
func (f *Framer) matchEvent(at time.Duration, b []byte) int {
	s, events := &f.sse, &f.resp.Events
	if s.hasData || s.done || s.failed || len(s.line) > 0 || events.Templates() == 0 {
		return 0
	}
	const field = "data:"
	if len(b) < len(field) || string(b[:len(field)]) != field {
		return 0
	}
	start := len(field)
	if start < len(b) && b[start] == ' ' {
		start++
	}
	n := events.Match(s.name, b[start:])
	if n == 0 {
		return 0
	}
	end := start + n
	data := b[start:end]
	size := blankLine(b[end:])
	if size == 0 || events.Len() >= f.maxEvents || end > f.maxEvent || f.total+end > f.limit {
		return 0 // not the end of the event, or it exceeds a limit
	}
	events.AppendMatch(at, f.reads, data)
	f.total += n + len(s.name)
	s.name, s.comment = "", s.comment[:0]
	return end + size
}

// blankLine returns the length of the two line ends at the start of b; 0 if they may
// be incomplete.
func blankLine(b []byte) int {
	switch {
	case len(b) >= 2 && b[0] == '\n' && b[1] == '\n':
		return 2
	case len(b) >= 4 && string(b[:4]) == "\r\n\r\n":
		return 4
	}
	return 0
}

// skipBOM removes a byte order mark at the start of the stream, which may be split
// over several reads.
func (f *Framer) skipBOM(b []byte) []byte {
	for i, c := range b {
		if f.sse.bom == len(bom) {
			return b[i:]
		}
		if c != bom[f.sse.bom] {
			f.sse.line = append(f.sse.line, bom[:f.sse.bom]...)
			f.sse.bom = len(bom)
			return b[i:]
		}
		f.sse.bom++
	}
	return nil
}

func (f *Framer) partialLine(part []byte) {
	if f.eventFits(len(part)) {
		f.sse.line = extend(f.sse.line, part)
	}
}

// fullLine completes the pending line with part and processes it.
func (f *Framer) fullLine(at time.Duration, part []byte) {
	if !f.eventFits(len(part)) {
		return
	}
	if len(f.sse.line) == 0 {
		f.handleLine(at, part)
		return
	}
	f.sse.line = extend(f.sse.line, part)
	f.handleLine(at, f.sse.line)
	f.sse.line = f.sse.line[:0]
}

// eventFits checks the limits before n more bytes are stored.
func (f *Framer) eventFits(n int) bool {
	n += len(f.sse.line)
	if len(f.arena)+n > f.maxEvent || len(f.sse.tail)+n > f.maxEvent {
		f.giveUp("event_size", fmt.Sprintf("one event is larger than %d bytes", f.maxEvent))
		return false
	}
	if f.total+len(f.arena)+n > f.limit {
		f.giveUp("body_size", fmt.Sprintf("events are larger than %d bytes together", f.limit))
		return false
	}
	return true
}

// handleLine processes a line without its line end.
func (f *Framer) handleLine(at time.Duration, line []byte) {
	if len(line) == 0 {
		f.dispatch(at, f.reads)
		return
	}
	field, value, hasColon := bytes.Cut(line, []byte{':'})
	if hasColon && len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	s := &f.sse
	hadData := s.hasData
	switch string(field) {
	case "data":
		if s.hasData {
			f.arena = append(f.arena, '\n')
		}
		s.hasData = true
		f.arena = extend(f.arena, value)
		s.at, s.read = at, f.reads
	case "":
		if room := maxComment - len(s.comment); room > 0 {
			if len(s.comment) > 0 {
				s.comment = append(s.comment, '\n')
			}
			s.comment = append(s.comment, value[:min(len(value), room)]...)
		}
	case "event":
		s.name = f.intern(value)
		s.at, s.read = at, f.reads
	case "id", "retry": // only used to reconnect
		s.at, s.read = at, f.reads
	default:
		s.unknown = s.unknown || hadData
	}
	if hadData {
		s.tail = extend(append(s.tail, '\n'), line)
	}
}

// intern returns name as a string that is allocated only once.
func (f *Framer) intern(name []byte) string {
	if len(name) == 0 {
		return ""
	}
	for _, known := range f.names {
		if known == string(name) {
			return known
		}
	}
	s := string(name[:min(len(name), maxComment)])
	if len(f.names) < maxNames && len(s) <= 128 {
		f.names = append(f.names, s)
	}
	return s
}

// dispatch completes the pending event at a blank line.
func (f *Framer) dispatch(at time.Duration, read int32) {
	s := &f.sse
	data := f.arena
	trimmed := data
	if len(data) > 0 && (data[0] <= ' ' || data[len(data)-1] <= ' ') {
		trimmed = bytes.Trim(data, space)
	}
	keep := false
	switch {
	case len(trimmed) == 0 && s.name != "error":
	case s.done:
		f.afterDone++
	case string(trimmed) == "[DONE]":
		s.done = true
	case s.failed:
	default:
		keep = true
	}
	if keep {
		f.pushSSE(at, read)
	}
	f.arena = f.arena[:0]
	s.hasData, s.unknown, s.name = false, false, ""
	s.comment, s.tail = s.comment[:0], s.tail[:0]
}

func (f *Framer) pushSSE(at time.Duration, read int32) {
	s := &f.sse
	if s.unknown && len(f.arena) > 0 && f.arena[0] == '{' {
		f.repair()
	}
	e := eventlog.Event{At: at, Read: read, Name: s.name, Data: f.arena}
	if s.name == "error" {
		e.Comment = string(s.comment)
		s.failed = true
	}
	if isError(e.Data) {
		s.failed = true
	}
	f.push(e)
}

// repair corrects the data of a server that writes unescaped line breaks in JSON
// strings: it appends the lines after the data line with escaped line breaks, if the
// result is valid JSON.
func (f *Framer) repair() {
	s := &f.sse
	if json.Valid(f.arena) {
		return
	}
	first := f.arena
	if i := bytes.IndexByte(first, '\n'); i >= 0 {
		first = first[:i]
	}
	whole := append(bytes.Clone(first), bytes.ReplaceAll(s.tail, []byte("\n"), []byte(`\n`))...)
	if json.Valid(whole) && len(whole) <= f.maxEvent {
		f.arena = append(f.arena[:0], whole...)
		f.repaired++
	}
}

// isError recognises, without decoding, the error object that most servers send in a
// stream: its first member is "error", a non-empty object or string. The codec
// recognises the others later.
func isError(data []byte) bool {
	const member = `{"error":`
	if len(data) <= len(member) || string(data[:len(member)]) != member {
		return false
	}
	rest := bytes.TrimLeft(data[len(member):], " ")
	return len(rest) > 1 && (rest[0] == '{' && rest[1] == '"' || rest[0] == '"' && rest[1] != '"')
}

// finishSSE processes an event that is incomplete at the end of the stream. Only a
// normal end completes it; its timestamp is then that of its last line.
func (f *Framer) finishSSE(how bench.End) {
	s := &f.sse
	if how != bench.EndEOF {
		return
	}
	if len(s.line) > 0 {
		f.handleLine(f.lastAt, s.line)
		s.line = s.line[:0]
	}
	data := bytes.Trim(f.arena, space)
	switch {
	case string(data) == "[DONE]" || s.done || s.failed || len(data) == 0:
	case s.name == "error" || json.Valid(data):
		f.unterminated++
	case s.unknown:
		if f.repair(); !json.Valid(f.arena) {
			f.dropPending()
			return
		}
		f.unterminated++
		s.unknown = false
	default:
		f.dropPending()
		return
	}
	f.dispatch(s.at, s.read)
}

// dropPending discards the pending event, which is incomplete.
func (f *Framer) dropPending() {
	f.malformed++
	f.arena = f.arena[:0]
}
