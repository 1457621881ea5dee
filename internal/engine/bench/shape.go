package bench

import (
	"bytes"
	"math"
	"unsafe"
)

// The bounds of what is tried to find events that are alike.
const (
	maxHoles     = 8        // of one shape
	maxShapes    = 127      // a shape is one byte in a record
	maxShapeData = 64 << 10 // bytes of an event that others are compared with
	recentEvents = 8        // whole events that a new one is compared with
	triedShapes  = 8        // newest shapes that are tried beside the expected one
	hopeless     = 64       // whole events in a row, after which few are compared
)

// span is a range of the log, or of data.
type span struct{ start, end uint32 }

func (s span) size() int { return int(s.end - s.start) }

// shape is what several events have in common: literal bytes with holes between
// them. A hole is the inside of a JSON string that is no member name, or a JSON
// number. Literals lie in the log, in the event that was the first of its kind.
type shape struct {
	name     span
	literals [maxHoles + 1]span // before each hole, and after the last
	size     int                // bytes of all literals
	holes    uint8
	numbers  uint8 // bit i: hole i is a number
	next     uint8 // the shape that came after it last
}

const shapeSize = int(unsafe.Sizeof(shape{}))

// example is a whole event in the log.
type example struct{ name, data span }

// match is the last event that was found to have a shape.
type match struct {
	shape int
	holes [maxHoles]span // in its data
}

// Shapes returns how many shapes there are.
func (e *Events) Shapes() int { return len(e.shapes) }

// Holes returns the number of holes of a shape.
func (e *Events) Holes(shape int) int { return int(e.shapes[shape].holes) }

// IsNumber reports whether a hole of a shape is a number; else it is the inside
// of a string.
func (e *Events) IsNumber(shape, hole int) bool { return e.shapes[shape].numbers>>hole&1 != 0 }

// Fill appends the data of an event of a shape, with what fill says in its holes.
func (e *Events) Fill(dst []byte, shape int, fill func(hole int) []byte) []byte {
	s := &e.shapes[shape]
	for i := range int(s.holes) {
		dst = append(dst, e.bytes(s.literals[i])...)
		dst = append(dst, fill(i)...)
	}
	return append(dst, e.bytes(s.literals[s.holes])...)
}

// Match looks for data that has the shape of earlier events with this name at
// the start of b, and returns its length; 0 = none. More may follow in b: whether
// the event ends there is for the caller to say, who may then call
// [Events.AppendMatch].
func (e *Events) Match(name string, b []byte) int {
	if len(e.shapes) == 0 {
		return 0
	}
	expected := int(e.shapes[e.last].next)
	if n := e.matchShape(expected, name, b); n > 0 {
		return n
	}
	newest := len(e.shapes) - 1
	for i := newest; i >= 0 && i > newest-triedShapes; i-- {
		if i == expected {
			continue
		}
		if n := e.matchShape(i, name, b); n > 0 {
			return n
		}
	}
	return 0
}

// matchShape is [Events.Match] for one shape.
func (e *Events) matchShape(i int, name string, b []byte) int {
	s := &e.shapes[i]
	if len(b) < s.size || len(b) > math.MaxUint32 || string(e.bytes(s.name)) != name {
		return 0
	}
	pos := 0
	for hole := range int(s.holes) {
		literal := e.bytes(s.literals[hole])
		if !bytes.HasPrefix(b[pos:], literal) {
			return 0
		}
		pos += len(literal)
		n := 0
		if s.numbers>>hole&1 == 0 {
			n = insideLength(b[pos:])
		} else if n = numberLength(b[pos:]); n == 0 {
			return 0
		}
		if n < 0 {
			return 0
		}
		e.match.holes[hole] = span{uint32(pos), uint32(pos + n)}
		pos += n
	}
	literal := e.bytes(s.literals[s.holes])
	if !bytes.HasPrefix(b[pos:], literal) {
		return 0
	}
	e.match.shape = i
	return pos + len(literal)
}

// found makes a new shape out of data and the recent event that is most like it,
// and reports whether there is one; data then is the last match. A single hole
// in a string is sure to be the text that streams are made of. More than that is
// believed only of a stream that has shown many whole events, since it may be
// one event in the place of another.
func (e *Events) found(name string, data []byte) bool {
	if len(data) == 0 || len(data) > maxShapeData || len(e.shapes) >= maxShapes {
		return false
	}
	if e.misses > hopeless && e.misses&(e.misses-1) != 0 {
		return false
	}
	best, cost := shape{}, math.MaxInt
	for i := range min(e.wholes, recentEvents) {
		old := &e.recent[i]
		if string(e.bytes(old.name)) != name {
			continue
		}
		s, ok := align(e.bytes(old.data), data, old.data.start)
		if !ok || (s.holes > 1 || s.numbers != 0) && e.wholes < recentEvents {
			continue
		}
		if c := 2*int(s.holes) + bitCount(s.numbers); c < cost {
			s.name = old.name
			best, cost = s, c
		}
	}
	if cost == math.MaxInt {
		return false
	}
	best.next = uint8(len(e.shapes))
	e.shapes = append(e.shapes, best)
	return e.matchShape(len(e.shapes)-1, name, data) == len(data)
}

func bitCount(b uint8) int {
	n := 0
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}

// align compares two events and returns their shape, if they have one: the same
// bytes but for strings and numbers. offset is where a lies in the log.
func align(a, b []byte, offset uint32) (s shape, ok bool) {
	i, j, literal := 0, 0, 0 // literal: where the current one starts in a
	hole := func(start, end int, number bool) bool {
		if s.holes == maxHoles {
			return false
		}
		if number {
			s.numbers |= 1 << s.holes
		}
		s.literals[s.holes] = span{offset + uint32(literal), offset + uint32(start)}
		s.size += start - literal
		s.holes++
		literal = end
		return true
	}
	for i < len(a) && j < len(b) {
		n, m := 0, 0
		if startsNumber(a[i]) && startsNumber(b[j]) {
			n, m = numberLength(a[i:]), numberLength(b[j:])
		}
		if n > 0 && m > 0 {
			if !bytes.Equal(a[i:i+n], b[j:j+m]) && !hole(i, i+n, true) {
				return s, false
			}
			i, j = i+n, j+m
			continue
		}
		if a[i] != b[j] {
			return s, false
		}
		i, j = i+1, j+1
		if a[i-1] != '"' {
			continue
		}
		if n = insideLength(a[i:]); n < 0 {
			return s, false
		}
		if bytes.HasPrefix(b[j:], a[i:i+n+1]) {
			i, j = i+n+1, j+n+1
			continue
		}
		if m = insideLength(b[j:]); m < 0 || isName(a[i+n:]) || !hole(i, i+n, false) {
			return s, false
		}
		i, j = i+n+1, j+m+1
	}
	if i < len(a) || j < len(b) {
		return s, false
	}
	s.literals[s.holes] = span{offset + uint32(literal), offset + uint32(len(a))}
	s.size += len(a) - literal
	return s, true
}

// isName reports whether the string whose closing quote b starts with is the
// name of a member.
func isName(b []byte) bool {
	rest := bytes.TrimLeft(b[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// insideLength returns the length of the inside of a JSON string at whose first
// character b starts; -1 when there is no closing quote, or a control character
// before it.
func insideLength(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i
		case c < ' ':
			return -1
		case c == '\\':
			if i++; i < len(b) && b[i] < ' ' {
				return -1
			}
		}
	}
	return -1
}

// startsNumber reports whether a JSON number may start with c.
func startsNumber(c byte) bool { return c == '-' || c-'0' <= 9 }

// numberLength returns the length of the JSON number at the start of b; 0 when
// there is none.
func numberLength(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 {
		return 0
	}
	if b[i] == '0' {
		whole = 1
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		if n := digits(b[i+1:]); n > 0 {
			i += 1 + n
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		sign := i + 1
		if sign < len(b) && (b[sign] == '+' || b[sign] == '-') {
			sign++
		}
		if n := digits(b[min(sign, len(b)):]); n > 0 {
			i = sign + n
		}
	}
	return i
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
