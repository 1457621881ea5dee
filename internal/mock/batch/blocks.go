package batch

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"
)

// pool is the key-value cache: a fixed number of blocks. A full block of computed tokens
// can be found by its prefix until it is evicted.
type pool struct {
	size  int // tokens in a block
	free  int // empty blocks
	seed  maphash.Seed
	known map[uint64]*block // full blocks by the key of their prefix; nil = no prefix cache
	idle  *list.List        // of *block: known, unreferenced; least recently used first
}

type block struct {
	key  uint64 // 0 = cannot be found
	refs int
	idle *list.Element // in pool.idle; nil while referenced
}

func newPool(p Params) *pool {
	b := &pool{size: p.BlockSize, free: p.Blocks, seed: maphash.MakeSeed(), idle: list.New()}
	if p.PrefixCache {
		b.known = map[uint64]*block{}
	}
	return b
}

// available returns the number of blocks that are not held by sequences.
func (p *pool) available() int { return p.free + p.idle.Len() }

// take returns an empty block and evicts the least recently used cached one if
// necessary; nil = there is none.
func (p *pool) take() *block {
	if p.free > 0 {
		p.free--
		return &block{refs: 1}
	}
	oldest := p.idle.Front()
	if oldest == nil {
		return nil
	}
	p.idle.Remove(oldest)
	delete(p.known, oldest.Value.(*block).key)
	return &block{refs: 1}
}

// share returns the block with a prefix and adds a reference; nil = not cached.
func (p *pool) share(key uint64) *block {
	b := p.known[key]
	if b == nil {
		return nil
	}
	p.hold(b)
	return b
}

func (p *pool) hold(b *block) {
	if b.idle != nil {
		p.idle.Remove(b.idle)
		b.idle = nil
	}
	b.refs++
}

// publish adds a full block to the prefix cache, unless its prefix is cached already.
func (p *pool) publish(b *block, key uint64) {
	if p.known == nil || b.key != 0 || p.known[key] != nil {
		return
	}
	b.key = key
	p.known[key] = b
}

// release removes one reference.
func (p *pool) release(b *block) {
	b.refs--
	switch {
	case b.refs > 0:
	case b.key != 0:
		b.idle = p.idle.PushBack(b)
	default:
		p.free++
	}
}

// key extends the key of a prefix by the tokens of one more block. It is never 0.
func (p *pool) key(prefix uint64, tokens []uint32) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], prefix)
	_, _ = h.Write(word[:]) // never fails
	for _, t := range tokens {
		binary.LittleEndian.PutUint32(word[:4], t)
		_, _ = h.Write(word[:4])
	}
	return max(1, h.Sum64())
}

// clear evicts every cached prefix that no sequence holds.
func (p *pool) clear() {
	for e := p.idle.Front(); e != nil; e = p.idle.Front() {
		p.idle.Remove(e)
		delete(p.known, e.Value.(*block).key)
		p.free++
	}
}
