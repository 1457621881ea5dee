package transport

import (
	"cmp"
	"context"
	"net/http"
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
// Plain HTTP over TCP on Linux goes over an event loop of ours; https, unix
// sockets, proxies, connections of [Options.Dial] and other systems go over
// net/http (ADR 11). What a caller sees is the same.
type Client struct {
	opts    Options
	lags    sockstamp.Lags
	sources sources
	framers sync.Pool // of *frame.Framer
	std     roundTripper
	mux     *multiplex            // nil = HTTP/1.1 only
	loops   func() *loopTransport // starts the event loop at the first call; nil = it is not available
	started atomic.Bool           // loops has been called and returned one
}

// roundTripper performs exchanges: over net/http, HTTP/2 or an event loop. It is safe
// for concurrent use.
type roundTripper interface {
	// attempt performs one request on one connection. It sets the start in a.x unless
	// a redirected attempt has set it; on an open connection that is immediately
	// before the request is written. again = true if a reused connection failed before
	// the first byte of the response: the caller repeats the attempt with a.fresh. The
	// response is valid until a.x is released.
	attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool)
	// lacks returns the estimated number of missing connections for n simultaneous
	// requests to an address.
	lacks(target *url.URL, n int) int
	// open opens one connection for later attempts; ok = false if that fails.
	open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool)
	// endSession closes the private connections of a session.
	endSession(session string)
	// close closes idle connections and stops what was started.
	close()
}

// attempt is one request to one address.
type attempt struct {
	*Request
	target *url.URL
	header http.Header
	fresh  bool      // on a new connection: the one before was stale
	x      *Exchange // to be filled in
}

// host returns the value of the Host header.
func (a *attempt) host() string { return cmp.Or(a.Host, a.target.Host) }

// method returns the method of the request.
func (a *attempt) method() string { return cmp.Or(a.Method, http.MethodPost) }

// New returns a client.
func New(o Options) *Client {
	c := &Client{opts: o}
	c.framers.New = func() any { return new(frame.Framer) }
	c.sources.addrs = o.Sources
	std := newStdlib(&c.opts, &c.lags, &c.sources, &c.framers)
	c.std = std
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
	if target.Scheme != "http" {
		return false
	}
	for _, r := range target.Host {
		if r <= ' ' || r > '~' || r == '%' {
			return false
		}
	}
	return target.Hostname() != ""
}

// Looped reports whether the event loop was started, so that exchanges over plain
// HTTP went over it.
func (c *Client) Looped() bool { return c.started.Load() }

// Lag returns how late reads were handled so far, and where their stamps came
// from. It is cheap and may be called at any time.
func (c *Client) Lag() LagCounts { return c.lags.Counts() }

// LagCounts is a histogram of the time from the kernel's receive stamp to the
// moment at which we handled the bytes.
type LagCounts = sockstamp.LagCounts

// Request is one HTTP request, ready to be sent.
type Request struct {
	Method    string // empty = POST
	URL       *url.URL
	Host      string      // for the Host header; empty = that of the URL
	Header    http.Header // complete; not changed
	Body      []byte      // not changed; must stay as it is until Do returns
	Streaming bool        // a stream was asked for
	Session   string      // for sticky connections
	// Watch is called as [frame.Framer.Watch] describes it. It may be called by the goroutine that
	// reads all connections, and not any more once Do has returned. nil = none.
	Watch  func(r *bench.Response) (done bool)
	Cancel bench.Cancellation
	// MaxBody is the most bytes that the body of the response may have, received
	// or kept; 0 = frame.MaxBody and frame.MaxKept.
	MaxBody int
}

// Exchange is what one request led to.
type Exchange struct {
	Response *bench.Response // valid until Release
	Stamps   bench.Stamps    // Start and later; Due and Permit are the caller's
	Conn     bench.Connection
	// Lag is the longest time from the kernel's stamp of a read of this exchange
	// to the moment at which we handled the bytes; 0 unless Conn.Kernel.
	Lag time.Duration

	framer  *frame.Framer // owns the bytes of Response; nil = nothing was read
	framers *sync.Pool
}

// Release gives the memory of the response back; the response must not be used
// any more. Without it the memory is garbage like any other, and what a large
// response took of [Options.Memory] is lost.
func (x *Exchange) Release() {
	if x.framer != nil {
		x.framer.Free()
		x.framers.Put(x.framer)
		x.framer, x.Response = nil, nil
	}
}

// Do sends a request and reads the whole response. It never fails: what goes
// wrong is Response.Failure. When ctx ends, the connection is closed and the
// failure is the *[bench.Failure] that is ctx's cause (see [CancelWith]), or
// class cancelled.
func (c *Client) Do(ctx context.Context, r *Request) Exchange {
	x := Exchange{Conn: bench.Connection{Sent: bench.Bytes(len(r.Body))}}
	a := attempt{Request: r, target: r.URL, header: r.Header, x: &x}
	var first time.Duration // start of the attempt that was given up
	for hops := 0; ; {
		resp, again := c.roundTripperFor(a.target).attempt(ctx, &a)
		if again {
			x.Conn.Retries++
			first = cmp.Or(first, x.Stamps.Start)
			x.Stamps = bench.Stamps{}
			a.fresh = true
			continue
		}
		if next := redirected(resp, a.target); next != nil && hops < maxRedirects {
			why := c.opts.refusal(&a, next)
			if why == "" {
				hops++
				c.opts.follow(&a, next)
				x.Release()
				continue
			}
			resp.Failure = notFollowed(resp.Status, next, why)
		}
		if f := resp.Failure; hops > 0 && f != nil && f.Class == bench.TargetNotAllowed {
			resp.Failure = notFollowed(0, a.target, f.Message)
		}
		resp.Failure = c.opts.explain(r.unsent(resp.Failure), a.target)
		x.Response = resp
		x.Stamps.End = resp.EndAt
		if first != 0 {
			x.Conn.Wasted = max(0, x.Stamps.Start-first)
		}
		return x
	}
}

// unsent returns the failure of a request that was to be cancelled and was not written
// in time, as that; other failures as they are.
func (r *Request) unsent(f *bench.Failure) *bench.Failure {
	if !r.Cancel.On || f == nil || f.Class != bench.TimeoutTotal || f.Step != bench.StepConnect && f.Step != bench.StepSend {
		return f
	}
	clear := *f
	clear.Class, clear.Message = bench.TimeoutSend, "not written within the request timeout, so that it could not be cancelled"
	return &clear
}

// conclude ends the body of a framer whose head was h and returns the response.
// failure is why the body is not whole; nil = it is, or the framer gave up.
func conclude(f *frame.Framer, h http.Header, end bench.End, endAt time.Duration, failure *bench.Failure) *bench.Response {
	f.Finish(endAt, end)
	resp := f.Response()
	resp.Header, resp.End, resp.EndAt = h, end, endAt
	if f := f.Err(); f != nil {
		failure = f
	}
	if failure != nil {
		failure.Status = resp.Status
		resp.Failure = failure
	}
	return resp
}
