//go:build amd64 || arm64

package transport

import (
	"time"

	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/loop"
)

// link is one connection to a server. A flight that is on it handles what happens;
// while it is idle it does so itself, and whatever happens ends it. Its lock is
// that of conn.
type link struct {
	owner  *looped
	conn   *loop.Conn
	key    string // of the pool
	host   string // host and port
	parser http1.Parser
	since  time.Duration // when it became idle
	index  int           // guarded by the pool
}

var _ loop.Handler = (*link)(nil)

// Connected implements loop.Handler; an idle connection is connected.
func (k *link) Connected(error) {}

// Wrote implements loop.Handler; an idle connection has nothing to write.
func (k *link) Wrote() {}

// Received implements loop.Handler. Bytes that nobody asked for end the connection:
// the next response could not be told from them.
func (k *link) Received(loop.Read) { k.leave() }

// Ended implements loop.Handler.
func (k *link) Ended(error) { k.leave() }

// Expired implements loop.Handler.
func (k *link) Expired(now time.Duration) {
	if now >= k.since+idleConnTimeout {
		k.leave()
		return
	}
	k.conn.Arm(k.since + idleConnTimeout)
}

// leave ends an idle connection.
func (k *link) leave() {
	k.owner.pool.remove(k)
	k.conn.Shut()
}

// park makes the connection available to others; false if it is not wanted.
func (k *link) park(now time.Duration) bool {
	return k.owner.opts.Reuse != Never && k.parser.Reusable() && k.keep(now)
}

// keep puts an open connection into the pool; false if there are enough.
func (k *link) keep(now time.Duration) bool {
	k.since = now
	k.conn.Arm(now + idleConnTimeout)
	return k.owner.pool.put(k)
}
