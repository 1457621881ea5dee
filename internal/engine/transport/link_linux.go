//go:build amd64 || arm64

package transport

import (
	"time"

	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/loop"
)

// link is one connection to a server. While a flight is on it, what happens is
// the flight's; while it is idle, whatever happens ends it. Its lock is that of
// conn.
type link struct {
	owner  *looped
	conn   *loop.Conn
	key    string // of the pool
	host   string // host and port
	parser http1.Parser
	flight *flight       // nil = idle
	since  time.Duration // when it became idle
	index  int           // guarded by the pool
}

var _ loop.Handler = (*link)(nil)

// Connected implements loop.Handler.
func (k *link) Connected(err error) {
	if k.flight != nil {
		k.flight.connected(err)
	}
}

// Wrote implements loop.Handler.
func (k *link) Wrote() {
	if k.flight != nil {
		k.flight.wrote()
	}
}

// Received implements loop.Handler. Bytes that nobody asked for end an idle
// connection: the next response could not be told from them.
func (k *link) Received(r loop.Read) {
	if k.flight != nil {
		k.flight.received(r)
		return
	}
	k.leave()
}

// Ended implements loop.Handler.
func (k *link) Ended(err error) {
	if k.flight != nil {
		k.flight.ended(err)
		return
	}
	k.leave()
}

// Expired implements loop.Handler.
func (k *link) Expired(now time.Duration) {
	switch {
	case k.flight != nil:
		k.flight.expired(now)
	case now >= k.since+idleConnTimeout:
		k.leave()
	default:
		k.conn.Arm(k.since + idleConnTimeout)
	}
}

// leave ends an idle connection.
func (k *link) leave() {
	k.owner.pool.remove(k)
	k.conn.Shut()
}

// park makes the connection available to others; false if it is not wanted.
func (k *link) park(now time.Duration) bool {
	k.since = now
	if k.owner.opts.Reuse == Never || !k.parser.Reusable() {
		return false
	}
	k.conn.Arm(now + idleConnTimeout)
	return k.owner.pool.put(k)
}
