package redact

import (
	"slices"
	"strings"
)

// automaton finds all patterns of a set in one pass over a text, after Aho and
// Corasick, "Efficient string matching", CACM 18(6), 1975. Bytes that occur in
// no pattern share one column, so that the table stays small. It is immutable
// once built.
type automaton struct {
	column [256]uint16
	width  int
	first  [256]int32 // the row that a byte leads to from the start; saves a look-up
	next   []int32    // row*width + column → row offset (row*width)
	out    []match    // by row
}

// match is the longest pattern that ends in a row.
type match struct {
	length int32 // 0: none
	digits bool  // digits only; see isNumber
}

// newAutomaton builds the automaton of patterns, none of them empty. It
// returns nil for no patterns.
func newAutomaton(patterns []string) *automaton {
	if len(patterns) == 0 {
		return nil
	}
	a := &automaton{width: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if a.column[p[i]] == 0 {
				a.column[p[i]] = uint16(a.width)
				a.width++
			}
		}
	}
	a.addRow()
	for _, p := range patterns {
		a.insert(p)
	}
	a.link()
	for c, column := range a.column {
		a.first[c] = a.next[column]
	}
	return a
}

func (a *automaton) addRow() int32 {
	row := int32(len(a.next))
	a.next = append(a.next, make([]int32, a.width)...)
	a.out = append(a.out, match{})
	return row
}

func (a *automaton) insert(pattern string) {
	row := int32(0)
	for i := range len(pattern) {
		cell := row + int32(a.column[pattern[i]])
		if a.next[cell] == 0 {
			child := a.addRow() // may move a.next
			a.next[cell] = child
		}
		row = a.next[cell]
	}
	a.out[int(row)/a.width] = match{length: int32(len(pattern)), digits: allDigits(pattern)}
}

// link turns the tree into an automaton: breadth first, a missing child becomes
// the child of the longest proper suffix.
func (a *automaton) link() {
	fail := make([]int32, len(a.out))
	var queue []int32
	for _, child := range a.next[:a.width] {
		if child != 0 {
			queue = append(queue, child)
		}
	}
	for len(queue) > 0 {
		row := queue[0]
		queue = queue[1:]
		suffix := fail[int(row)/a.width]
		if a.out[int(row)/a.width].length == 0 {
			a.out[int(row)/a.width] = a.out[int(suffix)/a.width]
		}
		for c := range a.width {
			child := a.next[int(row)+c]
			if child == 0 {
				a.next[int(row)+c] = a.next[int(suffix)+c]
				continue
			}
			fail[int(child)/a.width] = a.next[int(suffix)+c]
			queue = append(queue, child)
		}
	}
}

// find returns the union of all places where a pattern occurs, in order.
// Overlapping places become one; a placeholder in the text is a wall.
func (a *automaton) find(text string) []span {
	var found []span
	row := int32(0)
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
		row = a.next[row+int32(a.column[c])]
		m := a.out[int(row)/a.width]
		if m.length == 0 {
			continue
		}
		sp := span{i + 1 - int(m.length), i + 1}
		if m.digits && isNumber(text, sp) {
			continue
		}
		found = merge(found, sp)
	}
	return found
}

// merge adds sp, which ends behind all of found, and swallows what it overlaps.
func merge(found []span, sp span) []span {
	for n := len(found); n > 0 && found[n-1].to > sp.from; n = len(found) {
		sp.from = min(sp.from, found[n-1].from)
		found = found[:n-1]
	}
	return append(found, sp)
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

// sortedKeys returns the keys of set in order, so that equal sets make equal
// automata.
func sortedKeys(set map[string]struct{}) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
