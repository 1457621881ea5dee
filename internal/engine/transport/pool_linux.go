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
	idle   map[string][]*pooledConn // guarded by mu
	closed bool                     // guarded by mu
}

// put adds a connection; it reports false if the pool is full.
func (p *pool) put(pc *pooledConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[pc.key]
	if p.closed || len(list) >= p.limit {
		return false
	}
	pc.index = len(list)
	p.idle[pc.key] = append(list, pc)
	return true
}

// count returns how many connections to an address are idle.
func (p *pool) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle[key])
}

// take removes an idle connection to an address and returns it; nil = none.
func (p *pool) take(key, host string) *pooledConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pc := range slices.Backward(p.idle[key]) {
		if pc.host == host {
			p.forget(pc)
			return pc
		}
	}
	return nil
}

// remove forgets a connection, if it is here.
func (p *pool) remove(pc *pooledConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(pc)
}

// forget moves the last connection of the list into the place of pc. Call with mu
// held.
func (p *pool) forget(pc *pooledConn) {
	list := p.idle[pc.key]
	if pc.index >= len(list) || list[pc.index] != pc {
		return
	}
	last := len(list) - 1
	list[pc.index] = list[last]
	list[pc.index].index = pc.index
	list[last] = nil
	p.idle[pc.key] = list[:last]
}

// drop forgets a key and returns its connections.
func (p *pool) drop(key string) []*pooledConn {
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
