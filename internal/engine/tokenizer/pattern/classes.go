package pattern

import (
	_ "embed"
	"encoding/binary"
	"sync"
	"unicode/utf8"
)

// The Unicode properties of characters as the reference implementation of tokenizers
// defines them, not Go, one bit each. scripts/tokenizer writes them in this order.
const (
	PropLu         uint32 = 1 << 0  // 1858 code points
	PropLl         uint32 = 1 << 1  // 2258 code points
	PropLt         uint32 = 1 << 2  // 31 code points
	PropLm         uint32 = 1 << 3  // 404 code points
	PropLo         uint32 = 1 << 4  // 136477 code points
	PropM          uint32 = 1 << 5  // 2501 code points
	PropN          uint32 = 1 << 6  // 1911 code points
	PropP          uint32 = 1 << 7  // 855 code points
	PropS          uint32 = 1 << 8  // 8514 code points
	PropSpace      uint32 = 1 << 9  // 25 code points
	PropWord       uint32 = 1 << 10 // 144667 code points
	PropPunct      uint32 = 1 << 11 // 726 code points
	PropNumeric    uint32 = 1 << 12 // 1924 code points
	PropControl    uint32 = 1 << 13 // 137681 code points
	PropAccent     uint32 = 1 << 14 // 2097 code points
	PropBertAccent uint32 = 1 << 15 // 1567 code points
	PropNewer      uint32 = 1 << 16 // 588 code points
	PropRegexWord  uint32 = 1 << 17 // 144671 code points
	PropRegexDigit uint32 = 1 << 18 // 760 code points
)

// Unions of properties.
const (
	PropL = PropLu | PropLl | PropLt | PropLm | PropLo
	// The two halves of a word in the o200k pattern: [Lu Lt Lm Lo M] and [Ll Lm Lo M].
	PropUpper = PropLu | PropLt | PropLm | PropLo | PropM
	PropLower = PropLl | PropLm | PropLo | PropM
)

// classData holds the properties of all code points and the one-to-one lower-case
// mappings, as scripts/tokenizer/classes.py packs them: varints, each list after its
// length.
//
//go:embed classes.bin
var classData []byte

// classReader reads packed numbers.
type classReader []byte

func (r *classReader) next() int {
	n, size := binary.Uvarint(*r)
	*r = (*r)[size:]
	return int(n)
}

// signed undoes the zigzag encoding of a number.
func (r *classReader) signed() int {
	n := r.next()
	return n>>1 ^ -(n & 1)
}

// Table has the properties of all code points. It is immutable; the zero Table is
// not usable. Safe for concurrent use.
type Table struct {
	ascii  [utf8.RuneSelf]uint32
	blocks [0x110000 >> 8]uint16
	kinds  [256]uint32 // the property sets that occur
	data   []uint8     // 256 indexes into kinds a block
	lower  map[rune]rune
}

// Reference returns the table of the reference implementation. The first call
// expands the packed runs into two stages (about 90 kB).
var Reference = sync.OnceValue(func() *Table {
	t := &Table{lower: make(map[rune]rune, 1500)}
	r := classReader(classData)
	for i := range r.next() {
		t.kinds[i] = uint32(r.next())
	}
	seen := make(map[[256]uint8]uint16)
	var block [256]uint8
	at := 0
	for range r.next() { // runs from U+0000 to U+10FFFF
		n, kind := r.next(), uint8(r.next())
		for range n {
			block[at&0xff] = kind
			if at&0xff == 0xff {
				index, ok := seen[block]
				if !ok {
					index = uint16(len(seen))
					seen[block] = index
					t.data = append(t.data, block[:]...)
				}
				t.blocks[at>>8] = index
			}
			at++
		}
	}
	for c := range t.ascii {
		t.ascii[c] = t.slow(rune(c))
	}
	for range r.next() { // every step-th code point from first to last
		first, last, step, delta := r.next(), r.next(), r.next(), r.signed()
		for c := first; c <= last; c += step {
			t.lower[rune(c)] = rune(c + delta)
		}
	}
	return t
})

func (t *Table) slow(r rune) uint32 {
	if uint32(r) > utf8.MaxRune {
		return 0
	}
	return t.kinds[t.data[int(t.blocks[r>>8])<<8|int(r&0xff)]]
}

// Of returns the properties of r.
func (t *Table) Of(r rune) uint32 {
	if uint32(r) < utf8.RuneSelf {
		return t.ascii[r]
	}
	return t.slow(r)
}

// Lower returns the lower-case letter of r; false if it has none, or more than one.
func (t *Table) Lower(r rune) (rune, bool) {
	to, ok := t.lower[r]
	return to, ok
}

// At returns the properties and the width of the character of s at i. Past the
// end it returns 0, 0.
func (t *Table) At(s string, i int) (props uint32, width int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return t.slow(r), w
}

// Run returns the end of the run of characters at i that have any property of mask.
func (t *Table) Run(s string, i int, mask uint32) int {
	for i < len(s) {
		p, w := t.At(s, i)
		if p&mask == 0 {
			break
		}
		i += w
	}
	return i
}

// RunNot is run for characters without any property of mask.
func (t *Table) RunNot(s string, i int, mask uint32) int {
	for i < len(s) {
		p, w := t.At(s, i)
		if p&mask != 0 {
			break
		}
		i += w
	}
	return i
}

// Ranges calls yield with every maximal range of code points that have any
// property of mask (or, with want false, none).
func (t *Table) Ranges(mask uint32, want bool, yield func(first, last rune)) {
	first := rune(-1)
	for c := rune(0); c <= utf8.MaxRune+1; c++ {
		in := c <= utf8.MaxRune && (t.Of(c)&mask != 0) == want
		switch {
		case in && first < 0:
			first = c
		case !in && first >= 0:
			yield(first, c-1)
			first = -1
		}
	}
}
