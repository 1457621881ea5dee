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

// sse splits a body into server-sent events.
type sse struct {
	*output
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
	names   []string      // known event names, to allocate each once
	empty   int           // lines since the last event of which nothing is kept
}

var _ splitter = (*sse)(nil)

// reset prepares the parser for the next body. It keeps the buffers.
func (s *sse) reset(o *output) {
	*s = sse{output: o, line: s.line[:0], tail: s.tail[:0], comment: s.comment[:0], names: s.names}
}

// free releases memory, except buffers of ordinary size.
func (s *sse) free() {
	s.line, s.tail = reuse(s.line, keepCapacity), reuse(s.tail, keepCapacity)
}

// feed splits bytes into lines at LF, CR or CRLF.
func (s *sse) feed(b []byte) {
	if s.bom < len(bom) {
		b = s.skipBOM(b)
	}
	lf := -1 // position of the next LF in b; len(b) = there is none
	for pos := 0; pos < len(b) && !s.stopped; {
		if s.skipLF {
			s.skipLF = false
			if b[pos] == '\n' {
				pos++
				continue
			}
		}
		if n := s.match(b[pos:]); n > 0 {
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
			s.skipLF = true
		}
		if end == len(b) {
			s.partialLine(b[pos:])
			return
		}
		s.fullLine(b[pos:end])
		pos = end + 1
	}
}

// match adds the event at the start of b if it matches a template and ends within
// b, and returns its length; 0 = it does not. The result is that of
// handleLine and dispatch, without splitting lines. An event that
// reports an error is the last one, so that it is never part of a template.
func (s *sse) match(b []byte) int {
	events := &s.resp.Events
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
	if size == 0 || events.Len() >= s.maxEvents || end > s.maxEvent || s.total+end > s.limit {
		return 0 // not the end of the event, or it exceeds a limit
	}
	events.AppendMatch(s.lastAt, s.reads, data)
	s.total += n + len(s.name)
	s.name, s.comment, s.empty = "", s.comment[:0], 0
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
func (s *sse) skipBOM(b []byte) []byte {
	for i, c := range b {
		if s.bom == len(bom) {
			return b[i:]
		}
		if c != bom[s.bom] {
			s.line = append(s.line, bom[:s.bom]...)
			s.bom = len(bom)
			return b[i:]
		}
		s.bom++
	}
	return nil
}

func (s *sse) partialLine(part []byte) {
	if s.fits(len(part)) {
		s.line = extend(s.line, part)
	}
}

// fullLine completes the pending line with part and processes it.
func (s *sse) fullLine(part []byte) {
	if !s.fits(len(part)) {
		return
	}
	if len(s.line) == 0 {
		s.handleLine(part)
		return
	}
	s.line = extend(s.line, part)
	s.handleLine(s.line)
	s.line = s.line[:0]
}

// fits checks the limits before n more bytes are stored.
func (s *sse) fits(n int) bool {
	n += len(s.line)
	if len(s.arena)+n > s.maxEvent || len(s.tail)+n > s.maxEvent {
		s.giveUp("event_size", fmt.Sprintf("one event is larger than %d bytes", s.maxEvent))
		return false
	}
	if s.total+len(s.arena)+n > s.limit {
		s.giveUp("body_size", fmt.Sprintf("events are larger than %d bytes together", s.limit))
		return false
	}
	return true
}

// handleLine processes a line without its line end.
func (s *sse) handleLine(line []byte) {
	if len(line) == 0 {
		s.dispatch(s.lastAt, s.reads)
		return
	}
	field, value, hasColon := bytes.Cut(line, []byte{':'})
	if hasColon && len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	hadData := s.hasData
	switch string(field) {
	case "data":
		if s.hasData {
			s.arena = append(s.arena, '\n')
		}
		s.hasData = true
		s.arena = extend(s.arena, value)
		s.at, s.read = s.lastAt, s.reads
	case "":
		s.skip()
		if room := maxComment - len(s.comment); room > 0 {
			if len(s.comment) > 0 {
				s.comment = append(s.comment, '\n')
			}
			s.comment = append(s.comment, value[:min(len(value), room)]...)
		}
	case "event":
		s.skip()
		s.name = s.intern(value)
		s.at, s.read = s.lastAt, s.reads
	case "id", "retry": // only used to reconnect
		s.skip()
		s.at, s.read = s.lastAt, s.reads
	default:
		s.skip()
		s.unknown = s.unknown || hadData
	}
	if hadData {
		s.tail = extend(append(s.tail, '\n'), line)
	}
}

// skip counts a line of which nothing is kept. Without a bound, a server could send such
// lines until the request timeout.
func (s *sse) skip() {
	if s.empty++; s.empty > s.maxEmpty {
		s.giveUp("empty_lines", fmt.Sprintf("more than %d lines in a row without data", s.maxEmpty))
	}
}

// intern returns name as a string that is allocated only once.
func (s *sse) intern(name []byte) string {
	if len(name) == 0 {
		return ""
	}
	for _, known := range s.names {
		if known == string(name) {
			return known
		}
	}
	n := string(name[:min(len(name), maxComment)])
	if len(s.names) < maxNames && len(n) <= 128 {
		s.names = append(s.names, n)
	}
	return n
}

// dispatch completes the pending event at a blank line.
func (s *sse) dispatch(at time.Duration, read int32) {
	data := s.arena
	trimmed := data
	if len(data) > 0 && (data[0] <= ' ' || data[len(data)-1] <= ' ') {
		trimmed = bytes.Trim(data, space)
	}
	keep := false
	switch {
	case len(trimmed) == 0 && s.name != "error":
	case s.done:
		s.warned.afterDone++
	case string(trimmed) == "[DONE]":
		s.done = true
	case s.failed:
	default:
		keep = true
	}
	if keep {
		s.empty = 0
		s.emit(at, read)
	} else {
		s.skip()
	}
	s.arena = s.arena[:0]
	s.hasData, s.unknown, s.name = false, false, ""
	s.comment, s.tail = s.comment[:0], s.tail[:0]
}

func (s *sse) emit(at time.Duration, read int32) {
	if s.unknown && len(s.arena) > 0 && s.arena[0] == '{' {
		s.repair()
	}
	e := eventlog.Event{At: at, Read: read, Name: s.name, Data: s.arena}
	if s.name == "error" {
		e.Comment = string(s.comment)
		s.failed = true
	}
	if isError(e.Data) {
		s.failed = true
	}
	s.push(e)
}

// repair corrects the data of a server that writes unescaped line breaks in JSON
// strings: it appends the lines after the data line with escaped line breaks, if the
// result is valid JSON.
func (s *sse) repair() {
	if json.Valid(s.arena) {
		return
	}
	first := s.arena
	if i := bytes.IndexByte(first, '\n'); i >= 0 {
		first = first[:i]
	}
	whole := append(bytes.Clone(first), bytes.ReplaceAll(s.tail, []byte("\n"), []byte(`\n`))...)
	if json.Valid(whole) && len(whole) <= s.maxEvent {
		s.arena = append(s.arena[:0], whole...)
		s.warned.repaired++
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

// finish processes an event that is incomplete at the end of the stream. Only a
// normal end completes it; its timestamp is then that of its last line.
func (s *sse) finish(how bench.End) {
	if how != bench.EndEOF {
		return
	}
	if len(s.line) > 0 {
		s.handleLine(s.line)
		s.line = s.line[:0]
	}
	data := bytes.Trim(s.arena, space)
	switch {
	case string(data) == "[DONE]" || s.done || s.failed || len(data) == 0:
	case s.name == "error" || json.Valid(data):
		s.warned.unterminated++
	case s.unknown:
		if s.repair(); !json.Valid(s.arena) {
			s.dropPending()
			return
		}
		s.warned.unterminated++
		s.unknown = false
	default:
		s.dropPending()
		return
	}
	s.dispatch(s.at, s.read)
}

// dropPending discards the pending event, which is incomplete.
func (s *sse) dropPending() {
	s.warned.malformed++
	s.arena = s.arena[:0]
}
