//go:build amd64 || arm64

package transport

import (
	"slices"
	"sync"
)

// pool holds idle connections. The one that became idle last is taken first, so
// that those which are not needed grow old.
//
// Its lock may be taken while a connection's lock is held, never the other way.
type pool struct {
	limit  int // idle connections kept under one key
	mu     sync.Mutex
	idle   map[string][]*link // guarded by mu
	closed bool               // guarded by mu
}

// put keeps a connection; it reports false if there are enough.
func (p *pool) put(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[k.key]
	if p.closed || len(list) >= p.limit {
		return false
	}
	k.index = len(list)
	p.idle[k.key] = append(list, k)
	return true
}

// count returns how many connections to an address are idle.
func (p *pool) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle[key])
}

// take returns an idle connection to an address and forgets it; nil = none.
func (p *pool) take(key, host string) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range slices.Backward(p.idle[key]) {
		if k.host == host {
			p.forget(k)
			return k
		}
	}
	return nil
}

// remove forgets a connection, if it is here.
func (p *pool) remove(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(k)
}

// forget moves the last connection of the list into the place of k. Call with mu
// held.
func (p *pool) forget(k *link) {
	list := p.idle[k.key]
	if k.index >= len(list) || list[k.index] != k {
		return
	}
	last := len(list) - 1
	list[k.index] = list[last]
	list[k.index].index = k.index
	list[last] = nil
	p.idle[k.key] = list[:last]
}

// drop forgets a key and returns its connections.
func (p *pool) drop(key string) []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	delete(p.idle, key)
	return list
}

// shut keeps nothing any more.
func (p *pool) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.idle = nil
}
