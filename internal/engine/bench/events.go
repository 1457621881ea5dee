package bench

import (
	"encoding/binary"
	"iter"
	"time"
)

// Events are the events of one streamed body, in order of arrival. A stream
// says nearly the same in each of its events, so an event that differs from an
// earlier one only inside JSON strings, or in numbers, is kept as these pieces
// alone: some twelve bytes instead of three hundred. The bytes of every event
// can be had back exactly, whatever they are.
//
// The zero Events is empty and ready. What is appended must be less than 4 GiB
// together, which is for the caller to see to. Reading is safe for concurrent use as long
// as nobody appends.
type Events struct {
	log    []byte // one record an event, see appendHead
	shapes []shape
	recent [recentEvents]example // the last events that are kept whole, a ring
	wholes int                   // events kept whole
	misses int                   // of these, since one had a shape
	last   int                   // shape of the last event that has one
	count  int
	at     time.Duration // stamps of the last event
	read   int32
	match  match
}

// Len returns the number of events.
func (e *Events) Len() int { return e.count }

// Size returns the memory that the events take, in bytes.
func (e *Events) Size() int { return len(e.log) + len(e.shapes)*shapeSize }

// Reset removes all events. It keeps the memory for the next ones, unless that
// is more than limit bytes.
func (e *Events) Reset(limit int) {
	log, shapes := e.log[:0], e.shapes[:0]
	if cap(log) > limit {
		log = nil
	}
	*e = Events{log: log, shapes: shapes}
}

// Append adds an event and keeps nothing of it.
func (e *Events) Append(v Event) {
	if v.Comment == "" {
		n := e.Match(v.Name, v.Data)
		if n == len(v.Data) && n > 0 || e.found(v.Name, v.Data) {
			e.AppendMatch(v.At, v.Read, v.Data)
			return
		}
	}
	e.appendHead(0, v.At, v.Read)
	name := appendPiece(e, v.Name)
	appendPiece(e, v.Comment)
	data := appendPiece(e, v.Data)
	e.misses++
	if v.Comment == "" && len(v.Data) > 0 && len(v.Data) <= maxShapeData {
		e.recent[e.wholes%recentEvents] = example{name: name, data: data}
		e.wholes++
	}
}

// AppendMatch adds the event that the call to [Events.Match] just before found
// at the start of b. It costs no allocation, but for the growth of the whole.
func (e *Events) AppendMatch(at time.Duration, read int32, b []byte) {
	m := &e.match
	e.appendHead(byte(m.shape+1), at, read)
	for _, hole := range m.holes[:e.shapes[m.shape].holes] {
		piece := b[hole.start:hole.end]
		if len(piece) < 0x80 {
			e.log = append(e.log, byte(len(piece)))
		} else {
			e.log = binary.AppendUvarint(e.log, uint64(len(piece)))
		}
		e.log = append(e.log, piece...)
	}
	e.shapes[e.last].next = uint8(m.shape)
	e.last = m.shape
	e.misses = 0
}

// appendHead begins a record: its shape plus 1, or 0 for a whole event; how far
// its stamps are from those of the record before. Then come the pieces, each
// after its length: what is in the holes of the shape, or name, comment and data.
func (e *Events) appendHead(shape byte, at time.Duration, read int32) {
	e.log = append(e.log, shape)
	if at == e.at && read == e.read {
		e.log = append(e.log, 0, 0)
	} else {
		e.log = binary.AppendVarint(e.log, int64(at-e.at))
		e.log = binary.AppendVarint(e.log, int64(read)-int64(e.read))
		e.at, e.read = at, read
	}
	e.count++
}

// appendPiece adds a piece of the current record and returns where it lies.
func appendPiece[T string | []byte](e *Events, s T) span {
	e.log = binary.AppendUvarint(e.log, uint64(len(s)))
	start := len(e.log)
	e.log = append(e.log, s...)
	return span{uint32(start), uint32(len(e.log))}
}

// All returns the events one after another. The bytes of an event are valid
// until the next one is asked for.
func (e *Events) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for c := e.Cursor(); c.Next(); {
			if !yield(c.Event()) {
				return
			}
		}
	}
}

// Cursor reads events without putting their bytes together, for those to whom
// time matters. It must not be used after an append or a reset.
type Cursor struct {
	At    time.Duration // stamps of the current event
	Read  int32
	Shape int // index of its shape, [NoShape] = it is kept whole

	events *Events
	pos    int // of the next record
	pieces [max(maxHoles, 3)]span
	name   string
	buf    []byte
}

// NoShape is the shape of an event that is like no other.
const NoShape = -1

// Cursor returns a cursor before the first event.
func (e *Events) Cursor() Cursor { return Cursor{events: e} }

// Next goes to the next event, and reports whether there is one.
func (c *Cursor) Next() bool {
	log := c.events.log
	if c.pos >= len(log) {
		return false
	}
	c.Shape = int(log[c.pos]) - 1
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
	if c.Shape != NoShape {
		pieces = int(c.events.shapes[c.Shape].holes)
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

// Hole returns what the current event, which has a shape, holds in a hole of it:
// the inside of a JSON string as it was sent, or a JSON number. The bytes belong
// to the Events.
func (c *Cursor) Hole(i int) []byte {
	return c.events.bytes(c.pieces[i])
}

// Size returns the length of the current event's data, in bytes.
func (c *Cursor) Size() int {
	if c.Shape == NoShape {
		return c.pieces[2].size()
	}
	s := &c.events.shapes[c.Shape]
	n := s.size
	for i := range int(s.holes) {
		n += c.pieces[i].size()
	}
	return n
}

// Event returns the current event as it was sent. Its bytes are valid until the
// next call of a method.
func (c *Cursor) Event() Event {
	e := Event{At: c.At, Read: c.Read}
	if c.Shape == NoShape {
		e.Name = c.named(c.pieces[0])
		e.Comment = string(c.events.bytes(c.pieces[1]))
		e.Data = c.events.bytes(c.pieces[2])
		return e
	}
	e.Name = c.named(c.events.shapes[c.Shape].name)
	c.buf = c.events.Fill(c.buf[:0], c.Shape, c.Hole)
	e.Data = c.buf
	return e
}

// named returns a name as a string, allocated when it differs from the last.
func (c *Cursor) named(s span) string {
	if name := c.events.bytes(s); c.name != string(name) {
		c.name = string(name)
	}
	return c.name
}

// bytes returns what a span says; nobody can append to it.
func (e *Events) bytes(s span) []byte { return e.log[s.start:s.end:s.end] }
