package tokenizer

import (
	"encoding/binary"
	"math/bits"
)

// pairTable maps a pair of numbers to a third by open addressing. It is filled
// once and then only read. It serves as the merge table of BPE and as the edges
// of a trie.
type pairTable struct {
	slots  []byte // Of 8 bytes, little endian: used, the pair, the value; 0 = free
	second uint8  // bits of the pair's second number
	value  uint8  // bits of the value
}

// The widths of a table leave 63 bits to its three numbers.
const (
	mergeBits = 21 // Of each of two ids and a rank: up to 2,097,151
	edgeBits  = 27 // Of each of two nodes
	byteBits  = 8
)

// slotBytes is the size of a slot: pair and value lie together, because they are
// used together and seldom in the processor's cache.
const slotBytes = 8

const usedSlot = 1 << 63

// newMerges returns a table of n merges: two ids to a rank.
func newMerges(n int) pairTable { return newPairTable(n, mergeBits, mergeBits) }

// newEdges returns a table of the edges to n nodes: node and byte to node.
func newEdges(n int) pairTable { return newPairTable(n, byteBits, edgeBits) }

func newPairTable(n int, second, value uint8) pairTable {
	return pairTable{make([]byte, slotBytes*(n+n/2+8)), second, value}
}

// key returns the upper bits of the slot of (a, b), above its value.
func (t *pairTable) key(a, b uint32) uint64 {
	return usedSlot>>(t.value&63) | uint64(a)<<(t.second&63) | uint64(b)
}

// slot returns the offset of the first slot to probe for key (Fibonacci hashing,
// then scaled to the size of the table).
func (t *pairTable) slot(key uint64) int {
	key ^= key >> 29
	hi, _ := bits.Mul64(key*0x9E3779B97F4A7C15, uint64(len(t.slots)/slotBytes))
	return slotBytes * int(hi)
}

// put stores v for (a, b), replacing an earlier value.
func (t *pairTable) put(a, b, v uint32) {
	key := t.key(a, b)
	for i := t.slot(key); ; {
		s := binary.LittleEndian.Uint64(t.slots[i:])
		if s == 0 || s>>(t.value&63) == key {
			binary.LittleEndian.PutUint64(t.slots[i:], key<<(t.value&63)|uint64(v))
			return
		}
		if i += slotBytes; i == len(t.slots) {
			i = 0
		}
	}
}

// noValue is the result of get for a pair that is not in the table.
const noValue = ^uint32(0)

// get returns the value of (a, b), or noValue.
func (t *pairTable) get(a, b uint32) uint32 {
	key := t.key(a, b)
	for i := t.slot(key); ; {
		s := binary.LittleEndian.Uint64(t.slots[i:])
		if s>>(t.value&63) == key {
			return uint32(s &^ (key << (t.value & 63)))
		}
		if s == 0 {
			return noValue
		}
		if i += slotBytes; i == len(t.slots) {
			i = 0
		}
	}
}
