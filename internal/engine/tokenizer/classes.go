package tokenizer

import (
	"sync"
	"unicode/utf8"
)

// Unions of the generated properties.
const (
	propL = propLu | propLl | propLt | propLm | propLo
	// The two halves of a word in the o200k pattern: [Lu Lt Lm Lo M] and [Ll Lm Lo M].
	propUpper = propLu | propLt | propLm | propLo | propM
	propLower = propLl | propLm | propLo | propM
)

// classRun is one run of the generated table: n code points of one property set.
type classRun struct {
	n    uint32
	kind uint8
}

// lowerRange maps every step-th code point of [first, last] to itself plus delta.
type lowerRange struct {
	first, last, step, delta int32
}

// classTable answers what the reference implementation believes about a code
// point. It is built once and never written again.
type classTable struct {
	ascii  [utf8.RuneSelf]uint32
	blocks [0x110000 >> 8]uint16
	data   []uint8 // 256 indexes into classKinds a block
	lower  map[rune]rune
}

// classes expands the generated runs into a two-stage table (about 90 kB).
var classes = sync.OnceValue(func() *classTable {
	t := &classTable{lower: make(map[rune]rune, 1500)}
	seen := make(map[[256]uint8]uint16)
	var block [256]uint8
	at := 0
	for _, run := range classRuns {
		for range run.n {
			block[at&0xff] = run.kind
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
	for _, r := range lowerRanges {
		for c := r.first; c <= r.last; c += r.step {
			t.lower[c] = c + r.delta
		}
	}
	return t
})

func (t *classTable) slow(r rune) uint32 {
	if uint32(r) > utf8.MaxRune {
		return 0
	}
	return classKinds[t.data[int(t.blocks[r>>8])<<8|int(r&0xff)]]
}

// of returns the properties of r.
func (t *classTable) of(r rune) uint32 {
	if uint32(r) < utf8.RuneSelf {
		return t.ascii[r]
	}
	return t.slow(r)
}

// at returns the properties and the width of the character of s at i. Past the
// end it returns 0, 0.
func (t *classTable) at(s string, i int) (props uint32, width int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return t.slow(r), w
}

// run returns the end of the run of characters at i that have any property of mask.
func (t *classTable) run(s string, i int, mask uint32) int {
	for i < len(s) {
		p, w := t.at(s, i)
		if p&mask == 0 {
			break
		}
		i += w
	}
	return i
}

// runNot is run for characters without any property of mask.
func (t *classTable) runNot(s string, i int, mask uint32) int {
	for i < len(s) {
		p, w := t.at(s, i)
		if p&mask != 0 {
			break
		}
		i += w
	}
	return i
}

// ranges calls yield with every maximal range of code points that have any
// property of mask (or, with want false, none).
func (t *classTable) ranges(mask uint32, want bool, yield func(first, last rune)) {
	first := rune(-1)
	for c := rune(0); c <= utf8.MaxRune+1; c++ {
		in := c <= utf8.MaxRune && (t.of(c)&mask != 0) == want
		switch {
		case in && first < 0:
			first = c
		case !in && first >= 0:
			yield(first, c-1)
			first = -1
		}
	}
}
