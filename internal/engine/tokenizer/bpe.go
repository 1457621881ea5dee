package tokenizer

import (
	"fmt"
	"sync/atomic"
	"unicode/utf8"
)

// bpe is byte-pair encoding over bytes or over characters.
type bpe struct {
	vocab   *vocab
	merges  pairTable // (left, right) to rank
	results []uint32  // by rank: id of the merged token; nil means the rank is the id

	// In byte mode a piece is raw bytes and every byte has a token.
	byteMode bool
	byteIDs  [256]uint32

	// In character mode characters outside the vocabulary become byte tokens
	// (byteFallback), the unknown token, or nothing.
	byteFallback   bool
	fallback       [256]uint32 // noValue if <0xNN> is not in the vocabulary
	unk            uint32      // noValue: none
	fuseUnk        bool
	prefix, suffix string // continuing_subword_prefix, end_of_word_suffix

	// takeWhole reports whether a piece that is a token is that token (ignore_merges
	// and tiktoken). Otherwise reachable records, two bits per token, whether the
	// merges really produce it.
	takeWhole bool
	reachable []atomic.Uint32
}

const (
	reachableUnknown = iota
	reachableNo
	reachableYes
)

var _ model = (*bpe)(nil)

func (m *bpe) kind() string       { return "bpe" }
func (m *bpe) vocabulary() *vocab { return m.vocab }

// encode appends the ids of one piece.
func (m *bpe) encode(sc *scratch, dst []uint32, piece string) []uint32 {
	id, ok := m.vocab.lookup(piece)
	if !ok {
		return m.encodeByMerges(sc, dst, piece)
	}
	if m.takeWhole {
		return append(dst, id)
	}
	word, shift := &m.reachable[id/16], id%16*2
	switch word.Load() >> shift & 3 {
	case reachableYes:
		return append(dst, id)
	case reachableUnknown:
		from := len(dst)
		dst = m.encodeByMerges(sc, dst, piece)
		state := uint32(reachableNo)
		if len(dst) == from+1 && dst[from] == id {
			state = reachableYes
		}
		word.Or(state << shift)
		return dst
	}
	return m.encodeByMerges(sc, dst, piece)
}

// encodeByMerges appends the ids of piece as the merges make them.
func (m *bpe) encodeByMerges(sc *scratch, dst []uint32, piece string) []uint32 {
	ids := sc.symbols[:0]
	if m.byteMode {
		for i := range len(piece) {
			ids = append(ids, m.byteIDs[piece[i]])
		}
	} else {
		ids = m.characters(ids, piece)
	}
	sc.symbols = ids
	if len(ids) <= smallPiece {
		ids = m.mergeSmall(sc, ids)
	} else {
		ids = m.mergeLarge(sc, ids)
	}
	return append(dst, ids...)
}

// characters appends the tokens of single characters, before any merge.
func (m *bpe) characters(ids []uint32, piece string) []uint32 {
	pending := false // an unknown token that later ones may be fused into
	for i, w := 0, 0; i < len(piece); i += w {
		_, w = utf8.DecodeRuneInString(piece[i:])
		char := piece[i : i+w]
		if i > 0 {
			char = m.prefix + char
		}
		if i+w == len(piece) {
			char += m.suffix
		}
		if id, ok := m.vocab.lookup(char); ok {
			if pending {
				ids, pending = append(ids, m.unk), false
			}
			ids = append(ids, id)
			continue
		}
		if m.byteFallback && m.hasFallback(char) {
			for j := range len(char) {
				ids = append(ids, m.fallback[char[j]])
			}
			continue
		}
		if m.unk == noValue {
			continue
		}
		if pending && !m.fuseUnk {
			ids = append(ids, m.unk)
		}
		pending = true
	}
	if pending {
		ids = append(ids, m.unk)
	}
	return ids
}

func (m *bpe) hasFallback(char string) bool {
	for i := range len(char) {
		if m.fallback[char[i]] == noValue {
			return false
		}
	}
	return true
}

func (m *bpe) result(rank uint32) uint32 {
	if m.results == nil {
		return rank
	}
	return m.results[rank]
}

// smallPiece is the number of symbols up to which looking at every pair beats
// keeping a heap.
const smallPiece = 40

// mergeSmall merges in place, always the pair of lowest rank, leftmost first.
func (m *bpe) mergeSmall(sc *scratch, ids []uint32) []uint32 {
	ranks := sc.ranks[:0]
	for i := 0; i+1 < len(ids); i++ {
		ranks = append(ranks, m.merges.get(ids[i], ids[i+1]))
	}
	sc.ranks = ranks
	for {
		best, at := noValue, -1
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = m.result(best)
		ids = append(ids[:at+1], ids[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		if at > 0 {
			ranks[at-1] = m.merges.get(ids[at-1], ids[at])
		}
		if at < len(ranks) {
			ranks[at] = m.merges.get(ids[at], ids[at+1])
		}
	}
}

// mergeLarge is mergeSmall for long pieces: O(n log n) by a heap of
// (rank, position) over a linked list. Entries that no longer hold are skipped.
func (m *bpe) mergeLarge(sc *scratch, ids []uint32) []uint32 {
	n := len(ids)
	prev, next, heap := sc.links(n)
	for i := range n {
		prev[i], next[i] = int32(i-1), int32(i+1)
	}
	for i := 0; i+1 < n; i++ {
		if r := m.merges.get(ids[i], ids[i+1]); r != noValue {
			heap.push(uint64(r)<<32 | uint64(i))
		}
	}
	for len(*heap) > 0 {
		top := heap.pop()
		rank, at := uint32(top>>32), int32(uint32(top))
		right := next[at]
		if right < 0 || int(right) >= n || m.merges.get(ids[at], ids[right]) != rank {
			continue
		}
		ids[at] = m.result(rank)
		next[at] = next[right]
		next[right] = -1 // gone
		if int(next[at]) < n {
			prev[next[at]] = at
			if r := m.merges.get(ids[at], ids[next[at]]); r != noValue {
				heap.push(uint64(r)<<32 | uint64(at))
			}
		}
		if left := prev[at]; left >= 0 {
			if r := m.merges.get(ids[left], ids[at]); r != noValue {
				heap.push(uint64(r)<<32 | uint64(left))
			}
		}
	}
	out := 0
	for at := int32(0); int(at) < n; at = next[at] {
		ids[out] = ids[at]
		out++
	}
	return ids[:out]
}

// fallbackIDs returns the ids of the byte tokens <0x00> to <0xFF>, noValue if absent.
func fallbackIDs(v *vocab) (ids [256]uint32) {
	for b := range ids {
		id, ok := v.lookup(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			id = noValue
		}
		ids[b] = id
	}
	return ids
}

// mergeHeap is a binary min-heap of rank<<32 | position.
type mergeHeap []uint64

func (h *mergeHeap) push(v uint64) {
	a := append(*h, v)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if a[up] <= v {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = v
	*h = a
}

func (h *mergeHeap) pop() uint64 {
	a := *h
	top, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; len(a) > 0; {
		child := 2*i + 1
		if child >= len(a) {
			a[i] = last
			break
		}
		if child+1 < len(a) && a[child+1] < a[child] {
			child++
		}
		if a[child] >= last {
			a[i] = last
			break
		}
		a[i] = a[child]
		i = child
	}
	return top
}
