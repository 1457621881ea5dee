package transport

import (
	"context"
	"net"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
)

// spares are connections for net/http that were opened ahead and had no request yet.
// Package net/http cannot add them to its pool: it gets one when it dials.
type spares struct {
	clock bench.Clock

	mu     sync.Mutex
	idle   map[string][]spare       // guarded by mu; by address
	unused map[*sockstamp.Conn]bool // guarded by mu; no request has been given one yet, though it may be closed
	open   map[string]int           // guarded by mu; all connections, by address
}

// spare is a connection that waits for its first request.
type spare struct {
	conn  net.Conn
	since time.Duration
}

func newSpares(clock bench.Clock) spares {
	return spares{clock: clock, idle: map[string][]spare{}, unused: map[*sockstamp.Conn]bool{}, open: map[string]int{}}
}

// count counts a connection until it is closed.
func (s *spares) count(addr string, c *sockstamp.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[addr]++
	c.OnClose(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[addr]--
	})
}

// put adds a connection.
func (s *spares) put(addr string, c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle[addr] = append(s.idle[addr], spare{c, s.clock.Now()})
	s.unused[stamped(c)] = true
}

// take returns the connection that was added last; nil = all are too old, or there is
// none.
func (s *spares) take(addr string) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.idle[addr]
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	if s.clock.Now()-last.since >= idleConnTimeout {
		return nil
	}
	s.idle[addr] = list[:len(list)-1]
	return last.conn
}

// firstUse reports whether a connection was opened ahead and gets its first request.
func (s *spares) firstUse(c *sockstamp.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.unused[c]
	delete(s.unused, c)
	return first
}

// close closes the unused connections.
func (s *spares) close() {
	s.mu.Lock()
	idle := s.idle
	s.idle = map[string][]spare{}
	s.mu.Unlock()
	for _, list := range idle {
		for _, kept := range list {
			_ = kept.conn.Close() // unused
		}
	}
}

// dialer opens connections for http.Transport.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// spareOr returns a dialer that takes a connection that was opened ahead if there is
// one.
func (s *spares) spareOr(open dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c := s.take(addr); c != nil {
			return c, nil
		}
		return open(ctx, network, addr)
	}
}
