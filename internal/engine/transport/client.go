// Package transport sends HTTP requests, receives their responses, and records the
// timestamps of both: of the connection, the end of the request, and each event of the
// response. It splits bodies into events but does not interpret them; the codecs of
// package endpoint do.
//
// HTTP/1.1 on Linux goes over an event loop (package loop), with and without TLS,
// everything else over net/http with connections that record when the bytes of each
// read arrived (package sockstamp).
package transport

import (
	"cmp"
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/frame"
)

// Client performs exchanges over HTTP/1.1, one request a connection at a time,
// or over HTTP/2 with connections that requests share (see [Options.Version]).
// It never follows the environment's proxies unless told to, never asks for
// compression and never repeats a request behind the caller's back, with one
// exception, which it counts: a request on a reused connection that fails before the
// first byte of an answer is sent once more on a new connection, and its stamps are
// those of the second attempt. Safe for concurrent use.
//
// HTTP/1.1 over TCP on Linux goes over an event loop of ours, with and without TLS;
// unix sockets, proxies, connections of [Options.Dial] and other systems go over
// net/http (ADR 11, 30). What a caller sees is the same.
type Client struct {
	opts    Options
	lags    sockstamp.Lags
	sources sources
	framers sync.Pool // of *frame.Framer
	std     roundTripper
	stdlib  *stdlib               // the same
	mux     *multiplex            // nil = HTTP/1.1 only
	loops   func() *loopTransport // starts the event loop at the first call; nil = it is not available
	started atomic.Bool           // loops has been called and returned one
}

// New returns a client.
func New(o Options) *Client {
	c := &Client{opts: o}
	c.framers.New = func() any { return new(frame.Framer) }
	c.sources.addrs = o.Sources
	std := newStdlib(&c.opts, &c.lags, &c.sources, &c.framers)
	c.std, c.stdlib = std, std
	if o.Version != HTTP1 {
		c.mux = newMultiplex(std)
	}
	c.loops = sync.OnceValue(func() *loopTransport {
		l, err := newLoopTransport(&c.opts, &c.lags, &c.sources, &c.framers)
		if err != nil {
			return nil // net/http serves as well; each record says whether it had the kernel's stamps
		}
		c.started.Store(true)
		return l
	})
	return c
}

// Close closes idle connections and waits for the event loop to end, if one was
// started: exchanges that are still under way on it fail as cancelled. It is
// called once, after the last exchange.
func (c *Client) Close() {
	c.std.close()
	if c.mux != nil {
		c.mux.close()
	}
	if c.started.Load() {
		c.loops().close()
	}
}

// EndSession drops the private connection of a session; it does nothing unless
// connections are sticky.
func (c *Client) EndSession(session string) {
	if c.opts.Reuse != Sticky {
		return
	}
	c.std.endSession(session)
	if c.started.Load() {
		c.loops().endSession(session)
	}
}

// roundTripperFor returns the transport for an address.
func (c *Client) roundTripperFor(target *url.URL) roundTripper {
	if c.mux != nil && c.opts.shares(target) {
		return c.mux
	}
	if c.opts.direct() && loopReaches(target) {
		if l := c.loops(); l != nil {
			return l
		}
	}
	return c.std
}

// ReadPaths reads what the kernel counts of connections on which nothing is under way. It is called between phases,
// so that a window of [Options.Path] has all that happened in its phase and nothing else.
func (c *Client) ReadPaths() {
	if c.opts.Path == nil {
		return
	}
	c.stdlib.watched.readAll()
	if c.started.Load() {
		c.loops().readPaths()
	}
}

// Shared returns how requests shared connections; the zero value where they have
// connections of their own.
func (c *Client) Shared() SharedCount {
	if c.mux == nil {
		return SharedCount{}
	}
	return c.mux.shared()
}

// loopReaches reports whether the event loop supports an address. Names outside ASCII
// and IPv6 zones are left to net/http.
func loopReaches(target *url.URL) bool {
	if target.Scheme != "http" && target.Scheme != "https" {
		return false
	}
	for _, r := range target.Host {
		if r <= ' ' || r > '~' || r == '%' {
			return false
		}
	}
	return target.Hostname() != ""
}

// Looped reports whether the event loop was started, so that exchanges over HTTP/1.1
// went over it.
func (c *Client) Looped() bool { return c.started.Load() }

// Lag returns how late reads were handled so far, and where their stamps came
// from. It is cheap and may be called at any time.
func (c *Client) Lag() LagCounts { return c.lags.Counts() }

// LagCounts is a histogram of the time from the kernel's receive stamp to the
// moment at which we handled the bytes.
type LagCounts = sockstamp.LagCounts

// Do sends a request and reads the whole response. It never fails: what goes
// wrong is Response.Failure. When ctx ends, the connection is closed and the
// failure is the *[bench.Failure] that is ctx's cause (see [CancelWith]), or
// class cancelled.
func (c *Client) Do(ctx context.Context, r *Request) Exchange {
	p := newPerformance(c, r)
	return p.perform(ctx)
}

// Start is like Do, but needs no goroutine while the response is awaited, if the event loop
// has an open connection for the request. It then returns false at once, and later is called
// with the exchange, once, in a goroutine of its own.
func (c *Client) Start(ctx context.Context, r *Request, later func(Exchange)) (x Exchange, done bool) {
	p := newPerformance(c, r)
	s, ok := c.roundTripperFor(r.URL).(starter)
	if !ok {
		return p.perform(ctx), true
	}
	resp, again, pending := s.start(ctx, &p.attempt, func(resp *bench.Response, again bool) {
		later(p.proceed(ctx, resp, again))
	})
	if pending {
		return Exchange{}, false
	}
	return p.proceed(ctx, resp, again), true
}

// StartIdle is like Start for callers that must not wait: it does nothing and returns false
// unless the event loop has an open connection for the request.
func (c *Client) StartIdle(ctx context.Context, r *Request, later func(Exchange)) (started bool) {
	s, ok := c.roundTripperFor(r.URL).(starter)
	if !ok {
		return false
	}
	p := newPerformance(c, r)
	return s.startIdle(ctx, &p.attempt, func(resp *bench.Response, again bool) {
		later(p.proceed(ctx, resp, again))
	})
}

// performance is the sequence of attempts that make an exchange.
type performance struct {
	client  *Client
	x       Exchange
	attempt attempt
	first   time.Duration // start of the attempt that was given up; 0 = none was
	hops    int           // redirects that were followed
}

func newPerformance(c *Client, r *Request) *performance {
	p := &performance{client: c, x: Exchange{Conn: bench.Connection{Sent: bench.Bytes(r.BodySize())}}}
	p.attempt = attempt{Request: r, target: r.URL, header: r.Header, x: &p.x}
	return p
}

// perform makes attempts until one is the last.
func (p *performance) perform(ctx context.Context) Exchange {
	resp, again := p.client.roundTripperFor(p.attempt.target).attempt(ctx, &p.attempt)
	return p.proceed(ctx, resp, again)
}

// proceed makes attempts until one is the last. The first one has returned.
func (p *performance) proceed(ctx context.Context, resp *bench.Response, again bool) Exchange {
	for !p.conclude(resp, again) {
		resp, again = p.client.roundTripperFor(p.attempt.target).attempt(ctx, &p.attempt)
	}
	return p.x
}

// conclude processes what an attempt has returned; false = there is another one.
func (p *performance) conclude(resp *bench.Response, again bool) bool {
	x, a, o := &p.x, &p.attempt, &p.client.opts
	if again {
		x.Conn.Retries++
		p.first = cmp.Or(p.first, x.Stamps.Start)
		x.Stamps = bench.Stamps{}
		a.fresh = true
		return false
	}
	if next := redirected(resp, a.target); next != nil && p.hops < maxRedirects {
		why := o.refusal(a, next)
		if why == "" {
			p.hops++
			o.follow(a, next)
			x.Release()
			return false
		}
		resp.Failure = notFollowed(resp.Status, next, why)
	}
	if f := resp.Failure; p.hops > 0 && f != nil && f.Class == bench.TargetNotAllowed {
		resp.Failure = notFollowed(0, a.target, f.Message)
	}
	resp.Failure = o.explain(a.unsent(resp.Failure), a.target)
	x.Response = resp
	x.Stamps.End = resp.EndAt
	if p.first != 0 {
		x.Conn.Wasted = max(0, x.Stamps.Start-p.first)
	}
	return true
}
