//go:build amd64 || arm64

package transport

import (
	"net/url"
	"slices"
	"sync"
	"time"
	"unsafe"

	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/loop"
	"aiperfd/internal/engine/transport/netpath"
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
func (p *pool) take(key string, target *url.URL) *pooledConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pc := range slices.Backward(p.idle[key]) {
		if pc.host == target.Host && (pc.secure != nil) == isSecure(target) {
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

// list returns the idle connections.
func (p *pool) list() (all []*pooledConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.idle {
		all = append(all, list...)
	}
	return all
}

// shut forgets and returns all connections, and keeps nothing any more.
func (p *pool) shut() map[string][]*pooledConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle
	p.closed, p.idle = true, nil
	return all
}

// pooledConn is one connection to a server. An exchange on it handles its events; while
// it is idle it does so itself, and any event closes it. Its lock is that of conn.
type pooledConn struct {
	owner  *loopTransport
	conn   *loop.Conn
	key    string       // of the pool
	host   string       // host and port
	secure *loop.Secure // nil = without TLS
	parser http1.Parser
	path   netpath.Conn  // what the kernel counts of it
	since  time.Duration // when it became idle
	index  int           // guarded by the pool
}

var _ loop.Handler = (*pooledConn)(nil)

// Connected implements loop.Handler; an idle connection is connected.
func (pc *pooledConn) Connected(error) {}

// Wrote implements loop.Handler; an idle connection has nothing to write.
func (pc *pooledConn) Wrote() {}

// Received implements loop.Handler. Bytes without a request close the connection: they
// would be read as a part of the next response.
func (pc *pooledConn) Received(loop.Read) { pc.leave() }

// Ended implements loop.Handler.
func (pc *pooledConn) Ended(error) { pc.leave() }

// Expired implements loop.Handler.
func (pc *pooledConn) Expired(now time.Duration) {
	if now >= pc.since+idleConnTimeout {
		pc.leave()
		return
	}
	pc.conn.Arm(pc.since + idleConnTimeout)
}

// leave closes an idle connection.
func (pc *pooledConn) leave() {
	pc.owner.pool.remove(pc)
	pc.shut()
}

// shut closes the connection.
func (pc *pooledConn) shut() {
	if pc.secure != nil {
		pc.secure.Goodbye()
	}
	pc.conn.Shut()
}

// handle sets the handler of the connection, see [loop.Conn.Handle].
func (pc *pooledConn) handle(h loop.Handler, hot unsafe.Pointer) {
	if pc.secure != nil {
		pc.secure.Handle(h, hot)
		return
	}
	pc.conn.Handle(h, hot)
}

// send writes a request, which was encrypted before if the connection has TLS, see
// [loop.Conn.Send].
func (pc *pooledConn) send(r *request) (bool, error) {
	if pc.secure != nil {
		return pc.secure.Send()
	}
	if r.content != nil {
		return pc.conn.SendFrom(*r.head, r.content.Open())
	}
	return pc.conn.Send(*r.head, r.body)
}

// park makes the connection available to other requests; false = it must be closed.
func (pc *pooledConn) park(now time.Duration) bool {
	return pc.owner.opts.Reuse != Never && pc.parser.Reusable() && pc.keep(now)
}

// keep puts an open connection into the pool; false = the pool is full.
func (pc *pooledConn) keep(now time.Duration) bool {
	pc.since = now
	pc.conn.Arm(now + idleConnTimeout)
	return pc.owner.pool.put(pc)
}
