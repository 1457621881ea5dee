// Package listen bounds the connections of a server so that clients that hold many of
// them cannot keep others out. Accepting never waits for a client to leave:
//
//   - Below the bound, every connection is served.
//   - At the bound, a connection that waits for its client is closed: one that is idle,
//     that has sent no complete header, or whose body is still arriving. It is the one
//     that has waited longest of the address with the most connections that wait. If there
//     is none, it is one whose client does not read its response.
//   - If all connections are busy with responses, a few more are accepted, on which a
//     server answers nothing but probes (see [Spare]). The oldest of them gives way.
//   - So it is if the process can open no more files: a few descriptors are kept for that.
//
// A connection moves between these states by the calls of net/http to
// [Listener.ConnState], and by [Body].
package listen

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// retryAfter is the time between attempts to accept a connection when the process can open
// no more files.
const retryAfter = 10 * time.Millisecond

// unreadAfter is the time of a write after which its client counts as one that does not read.
const unreadAfter = 5 * time.Second

// spares is the number of connections beyond the bound.
const spares = 32

// Listener bounds the open connections of another listener. Make one with [New].
// Install its methods ConnState and ConnContext in the http.Server that serves it.
type Listener struct {
	net.Listener
	max  int
	kept descriptors

	mu      sync.Mutex
	open    map[*conn]struct{} // guarded by mu; without those that are being closed
	spares  int                // guarded by mu; of open
	counter uint64             // guarded by mu; orders the changes of states
}

// New returns a listener with at most n connections, ≥ 1, and a few for probes. It must be
// closed.
func New(l net.Listener, n int) *Listener {
	out := &Listener{Listener: l, max: n, open: make(map[*conn]struct{})}
	out.kept.fill()
	return out
}

// state is who has to act next on a connection.
type state uint8

const (
	waiting state = iota // the client: it owes a header or a body, or may send a request
	busy                 // the server
)

// conn is an open connection.
type conn struct {
	net.Conn
	owner *Listener
	host  string // of the client, without its port
	spare bool

	writing atomic.Pointer[time.Time] // when the write in progress began; nil = none

	// Guarded by the mutex of owner.
	state state
	since uint64 // value of the counter when state began
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	scarce := false
	for exhausted(err) {
		// Others may be faster to use the descriptor.
		if scarce = true; !l.kept.release() {
			<-time.After(retryAfter)
			l.kept.fill()
		}
		accepted, err = l.Listener.Accept()
	}
	if err != nil {
		return nil, err
	}
	if !scarce {
		l.kept.fill()
	}
	c := &conn{Conn: accepted, owner: l, spare: scarce}
	if host, _, err := net.SplitHostPort(accepted.RemoteAddr().String()); err == nil {
		c.host = host
	}
	if victim := l.admit(c); victim != nil {
		victim.Conn.Close() // it is forgotten already; its error interests nobody
	}
	return c, nil
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.kept.close()
	return l.Listener.Close()
}

// admit adds a connection and returns the one that has to be closed for it, if any.
func (l *Listener) admit(c *conn) (victim *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.spare && len(l.open)-l.spares >= l.max {
		victim = l.oldest(func(c *conn) bool { return !c.spare && c.state == waiting })
		if victim == nil {
			victim = l.oldest(func(c *conn) bool { return !c.spare && c.unread() })
		}
		c.spare = victim == nil
	}
	if c.spare && l.spares >= spares {
		victim = l.oldest(func(c *conn) bool { return c.spare })
	}
	if victim != nil {
		l.forget(victim)
	}
	l.counter++
	c.since = l.counter
	l.open[c] = struct{}{}
	if c.spare {
		l.spares++
	}
	return victim
}

// oldest returns the connection whose state began first among those that match, of the
// address that has the most of these; nil if none matches.
func (l *Listener) oldest(match func(*conn) bool) *conn {
	type group struct {
		size  int
		first *conn
	}
	groups := make(map[string]group)
	var most group
	for c := range l.open {
		if !match(c) {
			continue
		}
		g := groups[c.host]
		g.size++
		if g.first == nil || c.since < g.first.since {
			g.first = c
		}
		groups[c.host] = g
	}
	for _, g := range groups {
		if g.size > most.size || g.size == most.size && g.first.since < most.first.since {
			most = g
		}
	}
	return most.first
}

// forget removes a connection if it is there.
func (l *Listener) forget(c *conn) {
	if _, ok := l.open[c]; !ok {
		return
	}
	delete(l.open, c)
	if c.spare {
		l.spares--
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Store(new(time.Now()))
	defer c.writing.Store(nil)
	return c.Conn.Write(b)
}

// unread reports whether the client has not read what is being written for a while.
func (c *conn) unread() bool {
	began := c.writing.Load()
	return began != nil && time.Since(*began) >= unreadAfter
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.forget(c)
	c.owner.mu.Unlock()
	err := c.Conn.Close()
	if c.spare {
		c.owner.kept.fill()
	}
	return err
}

// enter changes the state of a connection.
func (c *conn) enter(s state) {
	l := c.owner
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counter++
	c.state, c.since = s, l.counter
}

// ConnState is for http.Server.ConnState.
func (*Listener) ConnState(nc net.Conn, s http.ConnState) {
	c := unwrap(nc)
	if c == nil {
		return
	}
	switch s {
	case http.StateActive, http.StateHijacked:
		c.enter(busy)
	case http.StateIdle:
		c.enter(waiting)
	case http.StateNew, http.StateClosed:
	}
}

// unwrap returns the connection below TLS; nil if it is not one of a [Listener].
func unwrap(nc net.Conn) *conn {
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok { // *tls.Conn
		nc = outer.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

type contextKey struct{}

// ConnContext is for http.Server.ConnContext.
func (*Listener) ConnContext(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, unwrap(nc))
}

func of(ctx context.Context) *conn {
	c, _ := ctx.Value(contextKey{}).(*conn)
	return c
}

// Spare reports whether the connection of a request is kept for probes.
func Spare(ctx context.Context) bool {
	c := of(ctx)
	return c != nil && c.spare
}

// Body marks the connection of a request as waiting for its client until the body has
// been read to its end, and returns the body to be read instead.
func Body(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	c := of(ctx)
	if c == nil {
		return body
	}
	c.enter(waiting)
	return &tracked{ReadCloser: body, conn: c}
}

// tracked is a body whose end changes the state of its connection.
type tracked struct {
	io.ReadCloser
	conn *conn
}

// Read implements io.Reader.
func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err != nil {
		t.conn.enter(busy)
	}
	return n, err
}
