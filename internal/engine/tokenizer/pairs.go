package tokenizer

import "math/bits"

// pairTable maps a pair of 32-bit numbers to a third by open addressing. It is
// filled once and then only read. It serves as the merge table of BPE and as
// the edges of a trie.
type pairTable struct {
	slots []pairSlot
}

// pairSlot is a place for one pair; key and value lie together, because they are
// used together and seldom in the processor's cache.
type pairSlot struct {
	key uint64 // key+1; 0 marks a free slot
	val uint32
}

// newPairTable returns a table with room for n pairs.
func newPairTable(n int) pairTable {
	return pairTable{make([]pairSlot, n+n/2+8)}
}

func pairKey(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

// slot returns the first slot to probe for key (Fibonacci hashing, then scaled
// to the size of the table).
func (t *pairTable) slot(key uint64) int {
	key ^= key >> 29
	hi, _ := bits.Mul64(key*0x9E3779B97F4A7C15, uint64(len(t.slots)))
	return int(hi)
}

// put stores v for (a, b), replacing an earlier value.
func (t *pairTable) put(a, b, v uint32) {
	key := pairKey(a, b)
	for i := t.slot(key); ; {
		switch s := &t.slots[i]; s.key {
		case 0:
			s.key, s.val = key+1, v
			return
		case key + 1:
			s.val = v
			return
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// noValue is what get returns for a pair that is not in the table.
const noValue = ^uint32(0)

// get returns the value of (a, b), or noValue.
func (t *pairTable) get(a, b uint32) uint32 {
	key := pairKey(a, b)
	for i := t.slot(key); ; {
		switch s := &t.slots[i]; s.key {
		case key + 1:
			return s.val
		case 0:
			return noValue
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}
