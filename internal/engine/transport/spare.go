package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
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
func (s *stdlib) spareOr(open dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c := s.ahead.take(addr); c != nil {
			return c, nil
		}
		return open(ctx, network, addr)
	}
}

// connect opens a connection.
func (s *stdlib) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.ahead.count(addr, c)
	return c, nil
}

// connectTLS opens a connection with TLS.
func (s *stdlib) connectTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := s.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errors.Join(&dialError{err}, c.Close())
	}
	secured, err := s.secure(ctx, c, host)
	if err != nil {
		return nil, err
	}
	return secured, nil
}

// secure does the TLS handshake, which offers the given protocols. It closes the
// connection if that fails.
func (s *stdlib) secure(ctx context.Context, raw net.Conn, host string, protocols ...string) (*tls.Conn, error) {
	config := s.opts.tlsConfig()
	config.NextProtos = protocols
	if config.ServerName == "" {
		config.ServerName = host
	}
	ctx, cancel := s.opts.connecting(ctx)
	defer cancel()
	c := tls.Client(raw, config)
	if hooks := httptrace.ContextClientTrace(ctx); hooks != nil {
		hooks.TLSHandshakeStart()
		defer func() { hooks.TLSHandshakeDone(tls.ConnectionState{}, nil) }()
	}
	if err := c.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if errors.Is(err, errConnectTimeout) {
			err = fmt.Errorf("TLS handshake not answered: %w", err)
		}
		_ = raw.Close() // an interrupted handshake has closed it
		return nil, &dialError{err}
	}
	return c, nil
}

// lacks implements roundTripper. Connections behind a proxy are not opened ahead.
func (s *stdlib) lacks(target *url.URL, n int) int {
	if s.opts.Proxy != nil || s.opts.EnvProxy {
		return 0
	}
	s.ahead.mu.Lock()
	defer s.ahead.mu.Unlock()
	return n - s.ahead.open[hostPort(target)]
}

// open implements roundTripper.
func (s *stdlib) open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool) {
	timed, done := timeSetup(ctx, s.opts.Clock)
	addr, dial := hostPort(target), s.connect
	if target.Scheme == "https" {
		dial = s.connectTLS
	}
	c, err := dial(timed, "tcp", addr)
	if err != nil {
		return bench.Setup{}, false
	}
	cost = done()
	s.ahead.put(addr, c)
	return cost, true
}
