package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
)

// Reuse says what happens to a connection after a request.
type Reuse uint8

// The ways to reuse connections.
const (
	Pooled Reuse = iota // shared keep-alive pool
	Never               // a new connection for each request
	Sticky              // one private connection for each session
)

// Defaults of [Options].
const (
	DefaultConnectTimeout = 10 * time.Second
	DefaultTotalTimeout   = 6 * time.Hour // AIPerf's
	idleConnTimeout       = 300 * time.Second
	staleAfter            = time.Second // a connection idle for less is not blamed on keep-alive
	maxRedirects          = 3
	drainTime             = 250 * time.Millisecond // after the end marker
	readBuffer            = 16 << 10
)

// Options configure a [Client]. A timeout of 0 means none.
type Options struct {
	Clock          bench.Clock
	Reuse          Reuse
	MaxIdle        int           // idle connections kept for each host; at least the concurrency
	ConnectTimeout time.Duration // dial and, separately, TLS handshake
	HeadersTimeout time.Duration // request written → response head
	IdleTimeout    time.Duration // between reads of the body
	TotalTimeout   time.Duration // the whole exchange
	SkipTLSVerify  bool
	// Streaming makes reads small, so that a read that comes late does not take
	// several events at once: its stamp is that of its last packet.
	Streaming bool
	// Dial opens connections; nil = the system's. Tests give an in-memory one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Client performs exchanges over HTTP/1.1, one request a connection at a time.
// It never follows the environment's proxies, never asks for compression and
// never repeats a request behind the caller's back, except on a pooled
// connection that went stale, which it counts. Safe for concurrent use.
type Client struct {
	opts    Options
	shared  *http.Transport
	mu      sync.Mutex
	sticky  map[string]*http.Transport // guarded by mu; by session
	bufs    sync.Pool                  // of *[readBuffer]byte
	framers sync.Pool                  // of *frame.Framer
}

// New returns a client.
func New(o Options) *Client {
	c := &Client{opts: o, sticky: map[string]*http.Transport{}}
	c.shared = c.newTransport(o.Reuse == Never)
	c.bufs.New = func() any { return new([readBuffer]byte) }
	c.framers.New = func() any { return new(frame.Framer) }
	return c
}

func (c *Client) newTransport(oneShot bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:         c.opts.dial,
		TLSHandshakeTimeout: c.opts.ConnectTimeout,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: c.opts.SkipTLSVerify, MinVersion: tls.VersionTLS12}, //nolint:gosec // asked for, and stated in the result
		Protocols:           &protocols,
		DisableCompression:  true,
		DisableKeepAlives:   oneShot,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: max(c.opts.MaxIdle, 2),
		IdleConnTimeout:     idleConnTimeout,
		WriteBufferSize:     4 << 10,
		ReadBufferSize:      c.opts.readAhead(),
	}
}

// readAhead is how much net/http reads before it looks at what it got.
func (o *Options) readAhead() int {
	if o.Streaming {
		return 512 // about one or two events
	}
	return 4 << 10
}

// Close drops idle connections. Exchanges under way are not disturbed.
func (c *Client) Close() {
	c.shared.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, t := range c.sticky {
		t.CloseIdleConnections()
		delete(c.sticky, key)
	}
}

// EndSession drops the private connection of a session; it does nothing unless
// connections are sticky.
func (c *Client) EndSession(session string) {
	if c.opts.Reuse != Sticky {
		return
	}
	c.mu.Lock()
	t := c.sticky[session]
	delete(c.sticky, session)
	c.mu.Unlock()
	if t != nil {
		t.CloseIdleConnections()
	}
}

func (c *Client) transportFor(session string) *http.Transport {
	if c.opts.Reuse != Sticky {
		return c.shared
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.sticky[session]
	if t == nil {
		t = c.newTransport(false)
		c.sticky[session] = t
	}
	return t
}

// Request is one HTTP request, ready to be sent.
type Request struct {
	URL       *url.URL
	Header    http.Header // complete; not changed
	Body      []byte      // not changed; must stay as it is until Do returns
	Streaming bool        // a stream was asked for
	Session   string      // for sticky connections
}

// Exchange is what one request led to.
type Exchange struct {
	Response *bench.Response // valid until Release
	Stamps   bench.Stamps    // Start and later; Due and Permit are the caller's
	Conn     bench.Connection

	framer  *frame.Framer // owns the bytes of Response; nil = nothing was read
	framers *sync.Pool
}

// Release gives the memory of the response back; the response must not be used
// any more. Without it the memory is garbage like any other.
func (x *Exchange) Release() {
	if x.framer != nil {
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
	x.Stamps.Start = c.opts.Clock.Now()
	target, header := r.URL, r.Header
	for hops := 0; ; {
		t := &trace{clock: c.opts.Clock, ex: &x}
		resp, again := c.attempt(ctx, r, target, header, t)
		t.finish()
		if again {
			x.Conn.Retries++
			x.Stamps = bench.Stamps{Start: c.opts.Clock.Now()}
			continue
		}
		if next := redirected(resp, target); next != nil && hops < maxRedirects {
			hops++
			if next.Host != target.Host || next.Scheme != target.Scheme {
				header = header.Clone()
				header.Del("Authorization")
			}
			target = next
			x.Release()
			continue
		}
		x.Response = resp
		x.Stamps.End = resp.EndAt
		return x
	}
}

// attempt is one request on one connection. again asks for a repetition on
// another connection.
func (c *Client) attempt(ctx context.Context, r *Request, target *url.URL, header http.Header, t *trace) (resp *bench.Response, again bool) {
	w := newWatch(ctx, c.opts)
	defer w.stop()
	t.wrote = w.requestWritten
	req := &http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(r.Body)), Body: io.NopCloser(bytes.NewReader(r.Body)),
	}
	hr, err := c.transportFor(r.Session).RoundTrip(req.WithContext(t.attach(w.ctx)))
	if err != nil {
		if t.stale() && w.ctx.Err() == nil && isReset(err) {
			return nil, true
		}
		f := classify(w.ctx, err, t.step())
		return &bench.Response{Failure: f, End: endOf(f), EndAt: c.opts.Clock.Now()}, false
	}
	t.headers()
	w.headersSeen()
	framer := c.framers.Get().(*frame.Framer)
	t.own(framer, &c.framers)
	return c.read(hr, framer, r.Streaming, w, t), false
}

// read takes the body to its end.
func (c *Client) read(hr *http.Response, framer *frame.Framer, streaming bool, w *watch, t *trace) *bench.Response {
	defer hr.Body.Close()
	framer.Reset(frame.Head{
		Status: hr.StatusCode, ContentType: hr.Header.Get("Content-Type"),
		ContentEncoding: hr.Header.Get("Content-Encoding"), Streaming: streaming,
	})
	failure, end := c.pump(hr.Body, framer, w, t)
	endAt := t.lastRead()
	if end != bench.EndEOF || endAt == 0 {
		endAt = c.opts.Clock.Now()
	}
	framer.Finish(endAt, end)
	resp := framer.Response()
	resp.Status, resp.Header, resp.End, resp.EndAt = hr.StatusCode, hr.Header, end, endAt
	if f := framer.Err(); f != nil {
		failure = f
	}
	if failure != nil {
		failure.Status = hr.StatusCode
		resp.Failure = failure
	}
	return resp
}

// pump feeds the framer until the body ends, the answer is over and drained, or
// something breaks.
func (c *Client) pump(body io.Reader, framer *frame.Framer, w *watch, t *trace) (*bench.Failure, bench.End) {
	buf := c.bufs.Get().(*[readBuffer]byte)
	defer c.bufs.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			w.read()
			t.received(n)
			framer.Feed(t.lastRead(), buf[:n])
			if framer.Err() != nil {
				return nil, bench.EndAborted
			}
			if framer.Done() {
				w.drain()
			}
		}
		switch {
		case err == nil:
		case err == io.EOF:
			return nil, bench.EndEOF
		case w.drained():
			return nil, bench.EndEOF
		default:
			f := classify(w.ctx, err, bench.StepBody)
			return f, endOf(f)
		}
	}
}

// redirected returns where a 307 or 308 points to, nil for anything else.
func redirected(resp *bench.Response, from *url.URL) *url.URL {
	if resp.Status != http.StatusTemporaryRedirect && resp.Status != http.StatusPermanentRedirect {
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil
	}
	to, err := from.Parse(location)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") {
		return nil
	}
	return to
}
