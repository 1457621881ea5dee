package redact

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// automaton finds all patterns of a set in one pass over a text, after Aho and
// Corasick, "Efficient string matching", CACM 18(6), 1975. Bytes that occur in
// no pattern share one column, so that the table stays small. It is immutable
// once built.
type automaton struct {
	column [256]uint16
	shift  int        // a row has 1<<shift columns, so that its number costs no division
	first  [256]int32 // the row that a byte leads to from the start; saves a look-up
	next   []int32    // row + column → row, both offsets in next
	out    []match    // by row

	shortest, longest int      // pattern, in bytes
	tokens            []string // patterns of which the end counts by itself
	numerals          [2]numeral
	searches          sync.Pool // of *search; their buffers are worth keeping
}

// match is what ends in a row.
type match struct {
	depth  int32 // the length of the longest start of a pattern
	length int32 // of the longest pattern; 0: none
	begun  int32 // of the longest start of a pattern that counts when the text is cut behind it
	start  int32 // of the longest start of a token that counts anywhere; 0: none
	digits bool  // the pattern has digits only; see isNumber
	tail   bool  // a token may have ended
}

// pattern says how much of a pattern counts by itself.
type pattern struct {
	starts bool // its start at the end of a text
	token  bool // its first or last minPart bytes or more, anywhere
}

// minPart is how many bytes of a token count wherever they stand, because servers repeat
// keys without their start or end.
const minPart = 12

// partCounts reports whether a secret is one word of ASCII that a program has made: so long a
// part of a word of a language, or of a number, may occur by chance.
func partCounts(secret string) bool {
	return len(secret) > minPart && mixed(secret) && !strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' })
}

// newAutomaton builds the automaton of patterns, none of them empty. It returns nil for no
// patterns. A blank and a plus are the same to it, because they are in a query, and
// so are upper and lower case letters of ASCII.
func newAutomaton(patterns map[string]pattern) *automaton {
	if len(patterns) == 0 {
		return nil
	}
	a := &automaton{numerals: numerals()}
	a.searches.New = func() any { return &search{a: a} }
	sorted := slices.Sorted(maps.Keys(patterns)) // equal sets make equal automata
	columns := 1
	for _, p := range sorted {
		if a.shortest == 0 || len(p) < a.shortest {
			a.shortest = len(p)
		}
		a.longest = max(a.longest, len(p))
		for i := range len(p) {
			if c := lower(p[i]); a.column[c] == 0 {
				a.column[c] = uint16(columns)
				columns++
			}
			a.column[' '] = max(a.column[' '], a.column['+'])
			a.column['+'] = a.column[' ']
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		a.column[c] = a.column[lower(byte(c))]
	}
	a.shift = bits.Len(uint(columns - 1))
	a.addRow()
	for _, p := range sorted {
		a.insert(p, patterns[p])
	}
	a.link()
	for c, column := range a.column {
		a.first[c] = a.next[column]
	}
	return a
}

func (a *automaton) addRow() int32 {
	row := int32(len(a.next))
	a.next = append(a.next, make([]int32, 1<<a.shift)...)
	a.out = append(a.out, match{})
	return row
}

func (a *automaton) insert(text string, p pattern) {
	end := a.path(text, func(i int, m *match) {
		if p.starts {
			m.begun = int32(i)
		}
		if p.token && i >= minPart && !allDigits(text[:i]) {
			m.start = int32(i)
		}
	})
	end.length, end.digits = int32(len(text)), allDigits(text)
	if tail := text[len(text)-min(len(text), minPart):]; p.token && !allDigits(tail) {
		a.tokens = append(a.tokens, text)
		a.path(tail, func(int, *match) {}).tail = true
	}
}

// path adds the rows of a text, shows each of them with its depth, and returns the last.
func (a *automaton) path(text string, show func(depth int, m *match)) *match {
	row := int32(0)
	for i := range len(text) {
		cell := row + int32(a.column[text[i]])
		if a.next[cell] == 0 {
			child := a.addRow() // may move a.next
			a.next[cell] = child
		}
		row = a.next[cell]
		a.out[row>>a.shift].depth = int32(i + 1)
		show(i+1, &a.out[row>>a.shift])
	}
	return &a.out[row>>a.shift]
}

// link turns the tree into an automaton: breadth first, a missing child becomes
// the child of the longest proper suffix.
func (a *automaton) link() {
	fail := make([]int32, len(a.out))
	var queue []int32
	for _, child := range a.next[:1<<a.shift] {
		if child != 0 {
			queue = append(queue, child)
		}
	}
	for len(queue) > 0 {
		row := queue[0]
		queue = queue[1:]
		suffix := fail[row>>a.shift]
		out, shorter := &a.out[row>>a.shift], a.out[suffix>>a.shift]
		if out.length == 0 {
			out.length, out.digits = shorter.length, shorter.digits
		}
		out.begun, out.start = cmp.Or(out.begun, shorter.begun), cmp.Or(out.start, shorter.start)
		out.tail = out.tail || shorter.tail
		for c := range 1 << a.shift {
			child := a.next[int(row)+c]
			if child == 0 {
				a.next[int(row)+c] = a.next[int(suffix)+c]
				continue
			}
			fail[child>>a.shift] = a.next[int(suffix)+c]
			queue = append(queue, child)
		}
	}
}

// find adds to a search all places of a layer's source where a pattern occurs, or a part of
// a token. A placeholder in the text is a wall.
func (a *automaton) find(l layer, s *search) {
	text, row := l.text, int32(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '<' && strings.HasPrefix(text[i:], Placeholder) {
			row, i = 0, i+len(Placeholder)-1
			continue
		}
		if row == 0 {
			row = a.first[c] // no pattern is one byte long
			continue
		}
		before := row
		row = a.next[row+int32(a.column[c])]
		if (row == 0 || c == '\\') && spaceLength(text[i:]) > 0 {
			s.found = a.across(l, i, before, s.found)
		}
		m := &a.out[row>>a.shift]
		if m.start > 0 || m.tail {
			s.seen = true
			if s.parts {
				n := max(int(m.start), a.tail(text[:i+1], m.tail))
				s.found = append(s.found, span{l.start(i + 1 - n), l.end(i + 1)})
			}
		}
		if m.length == 0 {
			continue
		}
		sp := span{i + 1 - int(m.length), i + 1}
		if m.digits && isNumber(text, sp) {
			continue
		}
		s.found = append(s.found, span{l.start(sp.from), l.end(sp.to)})
	}
}

// tail returns how many bytes at the end of text are the end of a token, if one may have
// ended there.
func (a *automaton) tail(text string, may bool) (longest int) {
	if !may {
		return 0
	}
	for _, token := range a.tokens {
		n := 0
		for n < min(len(token), len(text)) && a.column[text[len(text)-1-n]] == a.column[token[len(token)-1-n]] {
			n++
		}
		if n >= minPart {
			longest = max(longest, n)
		}
	}
	return longest
}

// across appends the places where a pattern goes on behind the line break at i, in front
// of which the automaton was in row. Digits are not joined: they may be numbers.
func (a *automaton) across(l layer, i int, row int32, found []span) []span {
	text, first := l.text, i
	for n := int32(1); ; n++ {
		if at := skipBreaks(text, i, spaceLength); at < len(text) && !a.continues(row, text[i]) {
			i = at
		} else if at == len(text) {
			return found
		}
		row = a.next[row+int32(a.column[text[i]])]
		m := a.out[row>>a.shift]
		i++
		if m.depth <= n {
			return found // all that began in front of the break has ended
		}
		if m.length > n && !m.digits {
			found = append(found, span{l.start(first - int(m.length-n)), l.end(i)})
		}
	}
}

// continues reports whether a pattern that has begun in row goes on with c.
func (a *automaton) continues(row int32, c byte) bool {
	next := a.next[row+int32(a.column[c])]
	return a.out[next>>a.shift].depth == a.out[row>>a.shift].depth+1
}

// begun returns how many bytes at the end of text are the start of a pattern.
func (a *automaton) begun(text string) int {
	row := int32(0)
	for i := 0; i < len(text); i++ {
		if text[i] == '<' && strings.HasPrefix(text[i:], Placeholder) {
			row, i = 0, i+len(Placeholder)-1
			continue
		}
		row = a.next[row+int32(a.column[text[i]])]
	}
	n := int(a.out[row>>a.shift].begun)
	if sp := (span{len(text) - n, len(text)}); allDigits(text[sp.from:]) && isNumber(text, sp) {
		return 0
	}
	return n
}

// isNumber reports whether the digits at sp are a number, or part of one, and
// not a secret that happens to have digits only: replacing them would turn
// 1234567 into "<redacted>7" and break JSON.
func isNumber(text string, sp span) bool {
	before, after := text[:sp.from], text[sp.to:]
	if strings.HasSuffix(before, Placeholder) || strings.HasPrefix(after, Placeholder) {
		return true // else redacting twice would differ from once
	}
	if before != "" && partOfNumber(before[len(before)-1]) || after != "" && partOfNumber(after[0]) {
		return true
	}
	before = strings.TrimRight(before, " ")
	for _, end := range [...]string{"[", ",", `":`, Placeholder} {
		if strings.HasSuffix(before, end) {
			return true
		}
	}
	return false
}

func partOfNumber(c byte) bool { return isDigit(c) || c == '.' }
