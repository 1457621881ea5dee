package random

import (
	"sync"
	"sync/atomic"
)

// generator draws integers as one of NumPy's generators does.
type generator interface {
	// draw fills dst with integers from low to high; low < high, and high-low < 2³¹.
	draw(dst []int32, low, high int)
	clone() generator
}

var (
	_ generator = (*PCG64)(nil)
	_ generator = (*MT19937)(nil)
)

// blockLen is the number of values that are drawn together. The state of the generator
// is kept before each block: at most 2.5 KB per block.
const blockLen = 8192

// Array is an array of integers that one generator draws in order, of which only one
// block is in memory. It is safe for concurrent use.
type Array struct {
	low, high, n int
	recent       atomic.Pointer[block]

	mu     sync.Mutex
	states []generator // before block 0, 1, …, as far as blocks have been drawn
}

// block holds the values from index·blockLen on.
type block struct {
	index  int
	values [blockLen]int32
}

// newArray returns the n integers from low to high that g draws next. It takes g over.
// If low equals high, nothing is drawn, as in NumPy.
func newArray(g generator, low, high, n int) *Array {
	return &Array{low: low, high: high, n: n, states: []generator{g}}
}

// At returns value i, 0 ≤ i < n. Neighbours of the last value are read from memory; for
// others, a block is drawn again.
func (a *Array) At(i int) int {
	if a.low == a.high {
		return a.low
	}
	b := a.recent.Load()
	if b == nil || b.index != i/blockLen {
		b = a.block(i / blockLen)
	}
	return int(b.values[i%blockLen])
}

func (a *Array) block(index int) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b := a.recent.Load(); b != nil && b.index == index {
		return b
	}
	b := &block{index: index}
	a.extend(index, &b.values)
	a.states[index].clone().draw(b.values[:], a.low, a.high)
	a.recent.Store(b)
	return b
}

// extend keeps the states up to the one before block index. It overwrites scratch.
func (a *Array) extend(index int, scratch *[blockLen]int32) {
	for len(a.states) <= index {
		g := a.states[len(a.states)-1].clone()
		g.draw(scratch[:], a.low, a.high)
		a.states = append(a.states, g)
	}
}

// after returns the generator as it is after the last value.
func (a *Array) after() generator {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.low == a.high {
		return a.states[0].clone()
	}
	var scratch [blockLen]int32
	last := a.n / blockLen
	a.extend(last, &scratch)
	g := a.states[last].clone()
	g.draw(scratch[:a.n%blockLen], a.low, a.high)
	return g
}
