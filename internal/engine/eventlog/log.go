package eventlog

import (
	"encoding/binary"
	"iter"
	"time"
)

// Event is one event of a streamed body, timestamped but not decoded.
type Event struct {
	At      time.Duration // when the read that completed it returned
	Read    int32         // number of that read
	Name    string        // SSE event name; empty = "message"
	Data    []byte        // as received; functions that return an Event document the owner
	Comment string        // comment lines before the event (only kept for error events)
}

// Log is a list of events in order of arrival.
//
// The zero Log is empty and ready to use. The total size of all events must be
// less than 4 GiB; the caller enforces this. Any number of goroutines may read a
// Log that is not being modified.
type Log struct {
	log       []byte // one record per event, see appendHead
	templates []template
	recent    [recentEvents]example // ring of the last events stored verbatim
	verbatim  int                   // number of events stored verbatim
	misses    int                   // verbatim events since the last match
	last      int                   // template of the last event that matched one
	count     int
	at        time.Duration // timestamps of the last event
	read      int32
	match     match
}

// Len returns the number of events.
func (l *Log) Len() int { return l.count }

// Size returns the memory that the events occupy, in bytes.
func (l *Log) Size() int { return len(l.log) + len(l.templates)*templateSize }

// Reset removes all events. It keeps the allocated memory for reuse, unless that
// is more than limit bytes.
func (l *Log) Reset(limit int) {
	log, templates := l.log[:0], l.templates[:0]
	if cap(log) > limit {
		log = nil
	}
	*l = Log{log: log, templates: templates}
}

// Append adds an event. It does not retain v.Data.
func (l *Log) Append(v Event) {
	if v.Comment == "" {
		n := l.Match(v.Name, v.Data)
		if n == len(v.Data) && n > 0 || l.learn(v.Name, v.Data) {
			l.AppendMatch(v.At, v.Read, v.Data)
			return
		}
	}
	l.appendHead(0, v.At, v.Read)
	name := appendPiece(l, v.Name)
	appendPiece(l, v.Comment)
	data := appendPiece(l, v.Data)
	l.misses++
	if v.Comment == "" && len(v.Data) > 0 && len(v.Data) <= maxTemplateData {
		l.recent[l.verbatim%recentEvents] = example{name: name, data: data}
		l.verbatim++
	}
}

// AppendMatch adds the event that the preceding call to [Log.Match] found at the
// start of b. It does not allocate, except to grow the log.
func (l *Log) AppendMatch(at time.Duration, read int32, b []byte) {
	m := &l.match
	l.appendHead(byte(m.template+1), at, read)
	for _, variable := range m.variables[:l.templates[m.template].variables] {
		piece := b[variable.start:variable.end]
		if len(piece) < 0x80 {
			l.log = append(l.log, byte(len(piece)))
		} else {
			l.log = binary.AppendUvarint(l.log, uint64(len(piece)))
		}
		l.log = append(l.log, piece...)
	}
	l.templates[l.last].next = uint8(m.template)
	l.last = m.template
	l.misses = 0
}

// appendHead begins a record: the number of the template plus 1, or 0 for an event
// stored verbatim, and the differences from the timestamps of the previous record.
// The pieces follow, each preceded by its length: the variables of the template, or
// name, comment and data.
func (l *Log) appendHead(template byte, at time.Duration, read int32) {
	l.log = append(l.log, template)
	if at == l.at && read == l.read {
		l.log = append(l.log, 0, 0)
	} else {
		l.log = binary.AppendVarint(l.log, int64(at-l.at))
		l.log = binary.AppendVarint(l.log, int64(read)-int64(l.read))
		l.at, l.read = at, read
	}
	l.count++
}

// appendPiece adds a piece to the current record and returns its range.
func appendPiece[T string | []byte](l *Log, s T) span {
	l.log = binary.AppendUvarint(l.log, uint64(len(s)))
	start := len(l.log)
	l.log = append(l.log, s...)
	return span{uint32(start), uint32(len(l.log))}
}

// All returns an iterator over the events. The data of an event is valid until the
// next iteration.
func (l *Log) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for c := l.Cursor(); c.Next(); {
			if !yield(c.Event()) {
				return
			}
		}
	}
}

// Cursor reads events without restoring their bytes. It must not be used after the
// log has been modified.
type Cursor struct {
	At       time.Duration // timestamps of the current event
	Read     int32
	Template int // number of its template; [NoTemplate] = it is stored verbatim

	events *Log
	pos    int // of the next record
	pieces [max(maxVariables, 3)]span
	name   string
	buf    []byte
}

// NoTemplate is the template of an event that is stored verbatim.
const NoTemplate = -1

// Cursor returns a cursor before the first event.
func (l *Log) Cursor() Cursor { return Cursor{events: l} }

// Next advances to the next event and reports whether there is one.
func (c *Cursor) Next() bool {
	log := c.events.log
	if c.pos >= len(log) {
		return false
	}
	c.Template = int(log[c.pos]) - 1
	c.pos++
	if log[c.pos] == 0 && log[c.pos+1] == 0 {
		c.pos += 2
	} else {
		at, n := binary.Varint(log[c.pos:])
		read, m := binary.Varint(log[c.pos+n:])
		c.At += time.Duration(at)
		c.Read += int32(read)
		c.pos += n + m
	}
	pieces := 3
	if c.Template != NoTemplate {
		pieces = int(c.events.templates[c.Template].variables)
	}
	for i := range pieces {
		size, n := uint64(log[c.pos]), 1
		if size >= 0x80 {
			size, n = binary.Uvarint(log[c.pos:])
		}
		start := c.pos + n
		c.pos = start + int(size)
		c.pieces[i] = span{uint32(start), uint32(c.pos)}
	}
	return true
}

// Variable returns the value of a variable of the current event, which must have a
// template: the inside of a JSON string as received, or a JSON number. The bytes
// belong to the Log.
func (c *Cursor) Variable(i int) []byte {
	return c.events.bytes(c.pieces[i])
}

// Size returns the length of the data of the current event, in bytes.
func (c *Cursor) Size() int {
	if c.Template == NoTemplate {
		return c.pieces[2].size()
	}
	t := &c.events.templates[c.Template]
	n := t.size
	for i := range int(t.variables) {
		n += c.pieces[i].size()
	}
	return n
}

// Event returns the current event. Its data is valid until the next method call.
func (c *Cursor) Event() Event {
	e := Event{At: c.At, Read: c.Read}
	if c.Template == NoTemplate {
		e.Name = c.toName(c.pieces[0])
		e.Comment = string(c.events.bytes(c.pieces[1]))
		e.Data = c.events.bytes(c.pieces[2])
		return e
	}
	e.Name = c.toName(c.events.templates[c.Template].name)
	c.buf = c.events.AppendData(c.buf[:0], c.Template, c.Variable)
	e.Data = c.buf
	return e
}

// toName returns a name as a string. It allocates only if the name differs from the
// previous one.
func (c *Cursor) toName(s span) string {
	if name := c.events.bytes(s); c.name != string(name) {
		c.name = string(name)
	}
	return c.name
}

// bytes returns the bytes of a span, with no capacity beyond them.
func (l *Log) bytes(s span) []byte { return l.log[s.start:s.end:s.end] }
