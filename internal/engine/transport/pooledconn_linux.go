//go:build amd64 || arm64

package transport

import (
	"time"

	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/loop"
)

// pooledConn is one connection to a server. An exchange on it handles its events; while
// it is idle it does so itself, and any event closes it. Its lock is that of conn.
type pooledConn struct {
	owner  *loopTransport
	conn   *loop.Conn
	key    string // of the pool
	host   string // host and port
	parser http1.Parser
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
	pc.conn.Shut()
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
