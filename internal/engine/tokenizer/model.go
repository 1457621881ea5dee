package tokenizer

import "aiperfd/internal/engine/tokenizer/pattern"

// A model turns one piece of text into ids. It is immutable to its callers, so
// it is safe for concurrent use with one scratch a caller.
type model interface {
	kind() string // "bpe", "unigram", …
	vocabulary() *vocab
	// encode appends the ids of piece to dst. The piece is not empty and valid UTF-8.
	encode(sc *scratch, dst []uint32, piece string) []uint32
}

// scratch holds the buffers of one Encode call. Pieces are held until the call
// ends, then forgotten, so that no text outlives it.
type scratch struct {
	ids     []uint32
	pieces  []piece
	spans   []pattern.Span
	symbols []uint32
	ranks   []uint32
	prev    []int32
	next    []int32
	heap    mergeHeap
	nodes   []latticeNode
}

// maxScratch bounds the memory that is kept between calls, in pieces.
const maxScratch = 1 << 16

// forget drops the references to texts. It reports whether the buffers are
// small enough to keep.
func (sc *scratch) forget() bool {
	clear(sc.pieces[:cap(sc.pieces)])
	return cap(sc.pieces) <= maxScratch && cap(sc.nodes) <= maxScratch && cap(sc.next) <= maxScratch
}

// links returns the buffers of a linked list of n symbols and an empty heap.
func (sc *scratch) links(n int) (prev, next []int32, heap *mergeHeap) {
	if cap(sc.next) < n {
		sc.prev, sc.next = make([]int32, n), make([]int32, n)
	}
	sc.heap = sc.heap[:0]
	return sc.prev[:n], sc.next[:n], &sc.heap
}

// lattice returns n nodes of which only the first is reached.
func (sc *scratch) lattice(n int) []latticeNode {
	if cap(sc.nodes) < n {
		sc.nodes = make([]latticeNode, n)
	}
	nodes := sc.nodes[:n]
	for i := range nodes {
		nodes[i] = latticeNode{start: -1, id: noValue - 1}
	}
	nodes[0].start = 0
	return nodes
}
