package eventlog

import (
	"bytes"
	"math"
	"math/bits"
	"unsafe"
)

// Limits of the search for templates.
const (
	maxVariables    = 8        // per template
	maxTemplates    = 127      // the number of a template is one byte of a record
	maxTemplateData = 64 << 10 // bytes of an event that later events are compared with
	recentEvents    = 8        // verbatim events that a new one is compared with
	triedTemplates  = 8        // newest templates that are tried besides the expected one
	maxMisses       = 64       // events in a row without a template, after which few are compared
)

// span is a range of the log, or of data.
type span struct{ start, end uint32 }

func (s span) size() int { return int(s.end - s.start) }

// template is the common part of several events: literals with variables between
// them. A variable is the inside of a JSON string that is not a member name, or a
// JSON number. The literals are ranges of the log, in the first event of the kind.
type template struct {
	name      span
	literals  [maxVariables + 1]span // before each variable, and after the last
	size      int                    // bytes of all literals
	variables uint8
	numbers   uint8 // bit i: variable i is a number
	next      uint8 // the template that followed it last
}

const templateSize = int(unsafe.Sizeof(template{}))

// example is the place of a verbatim event in the log.
type example struct{ name, data span }

// match is the result of the last successful match.
type match struct {
	template  int
	variables [maxVariables]span // ranges of the matched data
}

// Templates returns the number of templates.
func (l *Log) Templates() int { return len(l.templates) }

// Variables returns the number of variables of a template.
func (l *Log) Variables(template int) int { return int(l.templates[template].variables) }

// IsNumber reports whether a variable is a number; otherwise it is the inside of a
// string.
func (l *Log) IsNumber(template, variable int) bool {
	return l.templates[template].numbers>>variable&1 != 0
}

// AppendData appends the data of an event with the given template; value returns
// the bytes of each variable.
func (l *Log) AppendData(dst []byte, template int, value func(variable int) []byte) []byte {
	t := &l.templates[template]
	for i := range int(t.variables) {
		dst = append(dst, l.bytes(t.literals[i])...)
		dst = append(dst, value(i)...)
	}
	return append(dst, l.bytes(t.literals[t.variables])...)
}

// Match finds data at the start of b that matches a template of events with this
// name, and returns its length; 0 = none. More bytes may follow in b: the caller
// checks whether the event ends there, and if so may call [Log.AppendMatch].
func (l *Log) Match(name string, b []byte) int {
	if len(l.templates) == 0 {
		return 0
	}
	expected := int(l.templates[l.last].next)
	if n := l.matchTemplate(expected, name, b); n > 0 {
		return n
	}
	newest := len(l.templates) - 1
	for i := newest; i >= 0 && i > newest-triedTemplates; i-- {
		if i == expected {
			continue
		}
		if n := l.matchTemplate(i, name, b); n > 0 {
			return n
		}
	}
	return 0
}

// matchTemplate is [Log.Match] for one template.
func (l *Log) matchTemplate(i int, name string, b []byte) int {
	t := &l.templates[i]
	if len(b) < t.size || len(b) > math.MaxUint32 || string(l.bytes(t.name)) != name {
		return 0
	}
	pos := 0
	for v := range int(t.variables) {
		literal := l.bytes(t.literals[v])
		if !bytes.HasPrefix(b[pos:], literal) {
			return 0
		}
		pos += len(literal)
		n := 0
		if t.numbers>>v&1 == 0 {
			n = insideLength(b[pos:])
		} else if n = NumberLength(b[pos:]); n == 0 {
			return 0
		}
		if n < 0 {
			return 0
		}
		l.match.variables[v] = span{uint32(pos), uint32(pos + n)}
		pos += n
	}
	literal := l.bytes(t.literals[t.variables])
	if !bytes.HasPrefix(b[pos:], literal) {
		return 0
	}
	l.match.template = i
	return pos + len(literal)
}

// learn creates a template from data and the most similar recent event, and reports
// whether it found one; data is then the last match. A single variable in a string
// is certain to be the text of the stream. Several variables, or a number, are
// accepted only after enough verbatim events, because before that the second event
// may be of another kind.
func (l *Log) learn(name string, data []byte) bool {
	if len(data) == 0 || len(data) > maxTemplateData || len(l.templates) >= maxTemplates {
		return false
	}
	if l.misses > maxMisses && l.misses&(l.misses-1) != 0 {
		return false
	}
	best, cost := template{}, math.MaxInt
	for i := range min(l.verbatim, recentEvents) {
		old := &l.recent[i]
		if string(l.bytes(old.name)) != name {
			continue
		}
		t, ok := align(l.bytes(old.data), data, old.data.start)
		if !ok || (t.variables > 1 || t.numbers != 0) && l.verbatim < recentEvents {
			continue
		}
		if c := 2*int(t.variables) + bits.OnesCount8(t.numbers); c < cost {
			t.name = old.name
			best, cost = t, c
		}
	}
	if cost == math.MaxInt {
		return false
	}
	best.next = uint8(len(l.templates))
	l.templates = append(l.templates, best)
	return l.matchTemplate(len(l.templates)-1, name, data) == len(data)
}

// align compares two events and returns their template; ok = false if they differ
// in more than strings and numbers. offset is the place of a in the log.
func align(a, b []byte, offset uint32) (t template, ok bool) {
	i, j, literal := 0, 0, 0 // literal: start of the current one in a
	add := func(start, end int, number bool) bool {
		if t.variables == maxVariables {
			return false
		}
		if number {
			t.numbers |= 1 << t.variables
		}
		t.literals[t.variables] = span{offset + uint32(literal), offset + uint32(start)}
		t.size += start - literal
		t.variables++
		literal = end
		return true
	}
	for i < len(a) && j < len(b) {
		n, m := 0, 0
		if startsNumber(a[i]) && startsNumber(b[j]) {
			n, m = NumberLength(a[i:]), NumberLength(b[j:])
		}
		if n > 0 && m > 0 {
			if !bytes.Equal(a[i:i+n], b[j:j+m]) && !add(i, i+n, true) {
				return t, false
			}
			i, j = i+n, j+m
			continue
		}
		if a[i] != b[j] {
			return t, false
		}
		i, j = i+1, j+1
		if a[i-1] != '"' {
			continue
		}
		if n = insideLength(a[i:]); n < 0 {
			return t, false
		}
		if bytes.HasPrefix(b[j:], a[i:i+n+1]) {
			i, j = i+n+1, j+n+1
			continue
		}
		if m = insideLength(b[j:]); m < 0 || isName(a[i+n:]) || !add(i, i+n, false) {
			return t, false
		}
		i, j = i+n+1, j+m+1
	}
	if i < len(a) || j < len(b) {
		return t, false
	}
	t.literals[t.variables] = span{offset + uint32(literal), offset + uint32(len(a))}
	t.size += len(a) - literal
	return t, true
}

// isName reports whether a string is the name of a member; b starts with its
// closing quote.
func isName(b []byte) bool {
	rest := bytes.TrimLeft(b[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// insideLength returns the length of the inside of a JSON string; b starts behind
// its opening quote. It returns -1 if there is no closing quote, or a control
// character before it.
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

// NumberLength returns the length of the JSON number (RFC 8259, section 6) at the
// start of b; 0 = there is none. The number ends at the end of its syntax, whatever
// follows: it is 1 for "01" and for "1.x".
func NumberLength(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	integer := digits(b[i:])
	if integer == 0 {
		return 0
	}
	if b[i] == '0' {
		integer = 1
	}
	i += integer
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
