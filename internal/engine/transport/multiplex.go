package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/http1"
)

// errNoStreams is for servers that take no request at all.
var errNoStreams = errors.New("the server allows no HTTP/2 streams")

// multiplex performs exchanges over HTTP/2: many at a time on a connection, as
// many as the server allows; for more it opens further connections, so that no
// request waits in the client unseen.
type multiplex struct {
	std   *stdlib
	mu    sync.Mutex
	hosts map[string]*origin // guarded by mu; by scheme and host
	count SharedCount        // guarded by mu
}

var _ roundTripper = (*multiplex)(nil)

// SharedCount says how connections were shared.
type SharedCount struct {
	Connections int // opened
	Limit       int // streams at a time on one of them, by the strictest server; 0 = none was opened
	Fallbacks   int // origins that offer no HTTP/2 and were reached by HTTP/1.1
}

// Add returns the connections of two clients together.
func (c SharedCount) Add(o SharedCount) SharedCount {
	limit := max(c.Limit, o.Limit)
	if c.Limit > 0 && o.Limit > 0 {
		limit = min(c.Limit, o.Limit)
	}
	return SharedCount{Connections: c.Connections + o.Connections, Limit: limit, Fallbacks: c.Fallbacks + o.Fallbacks}
}

// origin is one server and the connections to it.
type origin struct {
	mu      sync.Mutex
	conns   []*shareable // guarded by mu; usable ones
	dialing *dialing     // guarded by mu; nil = nobody connects
	http1   bool         // guarded by mu; it offers no HTTP/2
}

// dialing is one attempt to connect, which others wait for.
type dialing struct {
	done  chan struct{} // closed when it is over
	err   error         // valid then; nil = there is a connection
	alone bool          // valid then; only who connected has failed
}

// shareable is a connection with room for several requests.
type shareable struct {
	conn    *http.ClientConn
	below   *shared
	opening chan struct{} // holds one token while a stream is being opened
	active  int           // guarded by the origin's mu
}

func newMultiplex(std *stdlib) *multiplex {
	return &multiplex{std: std, hosts: map[string]*origin{}}
}

func (m *multiplex) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, o := range m.hosts {
		o.mu.Lock()
		for _, c := range o.conns {
			_ = c.conn.Close() // nobody needs it any more
		}
		o.conns = nil
		o.mu.Unlock()
		delete(m.hosts, key)
	}
}

// lacks implements roundTripper. Until a connection is open, the number of requests that
// the server accepts on it is unknown.
func (m *multiplex) lacks(target *url.URL, n int) int {
	o := m.origin(target)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.http1 {
		return m.std.lacks(target, n)
	}
	o.prune()
	limit := n
	for _, c := range o.conns {
		limit = max(1, c.below.streamLimit())
		n -= limit
	}
	return (max(0, n) + limit - 1) / limit
}

// open implements roundTripper.
func (m *multiplex) open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool) {
	timed, done := timeSetup(ctx, m.std.opts.Clock)
	c, err := m.connect(timed, target)
	o := m.origin(target)
	o.mu.Lock()
	switch {
	case err == nil:
		o.conns = append(o.conns, c)
	case errors.Is(err, errNoHTTP2):
		m.withoutHTTP2(o)
	}
	fallback := o.http1
	o.mu.Unlock()
	if fallback {
		return m.std.open(ctx, target)
	}
	return done(), err == nil
}

// withoutHTTP2 notes that an origin offers no HTTP/2. Call with its mu held.
func (m *multiplex) withoutHTTP2(o *origin) {
	if o.http1 || m.std.opts.Version != HTTPAuto {
		return
	}
	o.http1 = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Fallbacks++
}

func (m *multiplex) endSession(string) {} // no session has a connection of its own

// shared returns how connections were shared so far.
func (m *multiplex) shared() SharedCount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *multiplex) origin(u *url.URL) *origin {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	o := m.hosts[key]
	if o == nil {
		o = &origin{}
		m.hosts[key] = o
	}
	return o
}

func (m *multiplex) attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool) {
	opts := m.std.opts
	t := &trace{clock: opts.Clock, ex: a.x, addresses: opts.Trace}
	defer t.finish()
	limited, limits := startTimeouts(ctx, opts, a.Cancel)
	defer limits.stop()
	t.wrote = limits.requestWritten
	traced := t.attach(limited)
	o := m.origin(a.target)
	c, err := m.acquire(traced, o, a.target, t)
	if errors.Is(err, errNoHTTP2) && opts.Version == HTTPAuto {
		limits.stop()
		return m.std.attempt(ctx, a)
	}
	if err != nil {
		return m.std.failed(classify(limited, err, bench.StepConnect)), false
	}
	defer o.release(c)
	hr, st, err := c.roundTrip(traced, a)
	t.share(c.below, st)
	if st != nil {
		defer c.below.forget(st)
	}
	if err != nil {
		if c.conn.Err() != nil && t.stale() && !a.fresh && limited.Err() == nil {
			return nil, true
		}
		return m.std.failed(classify(limited, err, t.step())), false
	}
	return m.std.read(limited, hr, a, limits, t), false
}

// roundTrip sends the request on a stream of its own and returns the head of the
// response. The stream is nil if none was opened.
func (c *shareable) roundTrip(ctx context.Context, a *attempt) (*http.Response, *stream, error) {
	select {
	case c.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	var st *stream
	before := c.below.newest()
	opened := sync.OnceFunc(func() {
		if now := c.below.newest(); now != before {
			st = now
		}
		<-c.opening
	})
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: opened})
	req := a.stdRequest()
	req.Proto, req.ProtoMajor = "HTTP/2.0", 2
	hr, err := c.conn.RoundTrip(req.WithContext(ctx))
	opened()
	return hr, st, err
}

// acquire returns a connection with room for one more stream, a new one if need
// be. One request at a time connects to an origin; if it cannot, those that wait
// for it cannot either.
func (m *multiplex) acquire(ctx context.Context, o *origin, u *url.URL, t *trace) (*shareable, error) {
	for {
		c, d, err := o.take(t)
		switch {
		case c != nil || err != nil:
			return c, err
		case d == nil:
			return m.openFor(ctx, o, u, t)
		}
		select {
		case <-d.done:
			if d.err != nil && !d.alone {
				return nil, d.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// openFor connects for this request, and for those that wait.
func (m *multiplex) openFor(ctx context.Context, o *origin, u *url.URL, t *trace) (*shareable, error) {
	c, err := m.connect(ctx, u)
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.dialing
	o.dialing = nil
	d.err, d.alone = err, ctx.Err() != nil
	defer close(d.done)
	if err != nil {
		if errors.Is(err, errNoHTTP2) {
			m.withoutHTTP2(o)
		}
		return nil, err
	}
	o.conns = append(o.conns, c)
	c.active = 1
	t.gotShared(c.below, false)
	return c, nil
}

// take returns a connection that has room, or the attempt to connect that is
// under way. If there is neither, the caller has to connect.
func (o *origin) take(t *trace) (*shareable, *dialing, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.http1 {
		return nil, nil, errNoHTTP2
	}
	o.prune()
	for _, c := range o.conns {
		if c.active >= c.below.streamLimit() {
			continue
		}
		c.active++
		t.gotShared(c.below, true)
		return c, nil, nil
	}
	waiting := o.dialing
	if waiting == nil {
		o.dialing = &dialing{done: make(chan struct{})}
	}
	return nil, waiting, nil
}

// prune forgets connections that take no more requests. Call with mu held.
func (o *origin) prune() {
	o.conns = slices.DeleteFunc(o.conns, func(c *shareable) bool {
		closing := c.conn.Available() == 0 && c.conn.InFlight() < c.below.streamLimit() // GOAWAY: no more after these
		return c.conn.Err() != nil || closing
	})
}

// release gives the place of a stream back.
func (o *origin) release(c *shareable) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.active--
}

// connect opens a connection and waits until the server has said how many streams
// it takes.
func (m *multiplex) connect(ctx context.Context, u *url.URL) (*shareable, error) {
	raw, err := m.std.dial(ctx, "tcp", hostPort(u))
	if err != nil {
		return nil, err
	}
	ctx, cancel := m.std.opts.connecting(ctx)
	defer cancel()
	var conn net.Conn = raw
	if u.Scheme == "https" {
		secured, err := m.std.secure(ctx, raw, u.Hostname(), "h2", "http/1.1")
		if err != nil {
			return nil, err
		}
		if conn = secured; secured.ConnectionState().NegotiatedProtocol != "h2" {
			return nil, errors.Join(&dialError{errNoHTTP2}, conn.Close())
		}
	}
	below := newShared(conn, stamped(conn))
	m.std.watched.share(stamped(conn))
	// The connection outlives the first request and must not call its trace.
	client, err := below.client(u) //nolint:contextcheck // see above
	if err == nil {
		select {
		case <-below.settled:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err == nil && below.streamLimit() == 0 {
		err = errNoStreams
	}
	if err != nil {
		return nil, errors.Join(&dialError{err}, conn.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Connections++
	if limit := below.streamLimit(); m.count.Limit == 0 || limit < m.count.Limit {
		m.count.Limit = limit
	}
	return &shareable{conn: client, below: below, opening: make(chan struct{}, 1)}, nil
}

// client speaks HTTP/2 over the connection. Package net/http is told that the
// connection has no TLS, because it could not see through ours; requests say for
// themselves which scheme they have.
func (s *shared) client(u *url.URL) (*http.ClientConn, error) {
	t := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return s, nil },
		Protocols:          new(http.Protocols),
		DisableCompression: true,
		IdleConnTimeout:    idleConnTimeout,

		MaxResponseHeaderBytes: http1.MaxHead,
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t.NewClientConn(context.Background(), "http", hostPort(u))
}
