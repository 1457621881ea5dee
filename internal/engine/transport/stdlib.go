package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/frame"
	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/netpath"
)

// stdlib performs exchanges with net/http over connections that stamp their
// reads below TLS.
type stdlib struct {
	connector
	framers *sync.Pool // of *frame.Framer
	bufs    sync.Pool  // of *[readBuffer]byte
	shared  *http.Transport
	fresh   *http.Transport // keeps no connection: each request has a new one
	ahead   spares
	mu      sync.Mutex
	sticky  map[string]*http.Transport // guarded by mu; by session
}

var _ roundTripper = (*stdlib)(nil)

func newStdlib(o *Options, lags *sockstamp.Lags, from *sources, framers *sync.Pool) *stdlib {
	s := &stdlib{
		connector: connector{o, lags, from, &pathReaders{paths: map[*sockstamp.Conn]*netpath.Conn{}}}, framers: framers,
		ahead: newSpares(o.Clock), sticky: map[string]*http.Transport{},
	}
	s.shared, s.fresh = s.newTransport(o.Reuse == Never), s.newTransport(false)
	s.fresh.MaxIdleConnsPerHost = -1
	s.shared.DialContext, s.shared.DialTLSContext = s.ahead.spareOr(s.connect), s.ahead.spareOr(s.connectTLS)
	s.bufs.New = func() any { return new([readBuffer]byte) }
	return s
}

func (s *stdlib) newTransport(oneShot bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:         s.connect,
		DialTLSContext:      s.connectTLS,
		TLSHandshakeTimeout: s.opts.ConnectTimeout, // behind a proxy
		TLSClientConfig:     s.opts.tlsConfig(),
		Proxy:               s.opts.proxy(),
		Protocols:           &protocols,
		DisableCompression:  true,
		DisableKeepAlives:   oneShot,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: s.opts.maxIdle(),
		IdleConnTimeout:     idleConnTimeout,
		WriteBufferSize:     4 << 10,
		ReadBufferSize:      s.opts.readAhead(),

		MaxResponseHeaderBytes: http1.MaxHead,
	}
}

// close drops idle connections. Exchanges under way are not disturbed.
func (s *stdlib) close() {
	s.shared.CloseIdleConnections()
	s.ahead.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, t := range s.sticky {
		t.CloseIdleConnections()
		delete(s.sticky, key)
	}
}

func (s *stdlib) endSession(session string) {
	s.mu.Lock()
	t := s.sticky[session]
	delete(s.sticky, session)
	s.mu.Unlock()
	if t != nil {
		t.CloseIdleConnections()
	}
}

func (s *stdlib) transportFor(a *attempt) *http.Transport {
	switch {
	case s.opts.Reuse != Sticky && a.fresh:
		return s.fresh
	case s.opts.Reuse != Sticky:
		return s.shared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.sticky[a.Session]
	if t == nil {
		t = s.newTransport(false)
		s.sticky[a.Session] = t
	}
	if a.fresh {
		t.CloseIdleConnections()
	}
	return t
}

func (s *stdlib) attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool) {
	t := &trace{clock: s.opts.Clock, ex: a.x, addresses: s.opts.Trace, spare: s.ahead.firstUse, ended: s.watched.responseEnded}
	defer t.finish()
	ctx, limits := startTimeouts(ctx, s.opts, a.Cancel)
	defer limits.stop()
	t.wrote = limits.requestWritten
	req := a.stdRequest()
	req.Proto, req.ProtoMajor, req.ProtoMinor = "HTTP/1.1", 1, 1
	hr, err := s.transportFor(a).RoundTrip(req.WithContext(t.attach(ctx)))
	if err != nil {
		if t.stale() && ctx.Err() == nil && isReset(err) {
			return nil, true
		}
		return s.failed(classify(ctx, err, t.step())), false
	}
	return s.read(ctx, hr, a, limits, t), false
}

// stdRequest returns the request for net/http, without its protocol.
func (a *attempt) stdRequest() *http.Request {
	req := &http.Request{Method: a.method(), URL: a.target, Host: a.host(), Header: a.header, Body: http.NoBody}
	if size := a.BodySize(); size > 0 {
		req.Body, req.ContentLength = io.NopCloser(a.openBody()), int64(size)
	}
	return req
}

// failed returns the response of an attempt that has none.
func (s *stdlib) failed(f *bench.Failure) *bench.Response {
	return &bench.Response{Failure: f, End: endOf(f), EndAt: s.opts.Clock.Now()}
}

// read reads the response from the end of its head to the end of its body.
func (s *stdlib) read(ctx context.Context, hr *http.Response, a *attempt, limits *timeouts, t *trace) *bench.Response {
	t.headers()
	limits.headersSeen()
	framer := s.framers.Get().(*frame.Framer)
	t.own(framer, s.framers)
	defer hr.Body.Close()
	framer.Reset(frame.Head{
		Status: hr.StatusCode, ContentType: hr.Header.Get("Content-Type"),
		ContentEncoding: hr.Header.Get("Content-Encoding"), Streaming: a.Streaming,
		Length: hr.Header.Get("Content-Length"), Limit: a.MaxBody, Memory: s.opts.Memory,
	})
	framer.Watch(a.Watch)
	failure, end := s.pump(ctx, hr.Body, framer, limits, t)
	if failure == nil && end == bench.EndEOF && t.cutOff(hr) {
		if err := cutOff(framer, hr.StatusCode); err != nil {
			failure, end = classify(ctx, err, bench.StepBody), bench.EndReset
		}
	}
	endAt := t.lastRead()
	if end != bench.EndEOF || endAt == 0 {
		endAt = s.opts.Clock.Now()
	}
	return conclude(framer, hr.Header, end, endAt, failure)
}

// pump feeds the framer until the body ends, the response is complete and drained, or
// an error occurs.
func (s *stdlib) pump(
	ctx context.Context, body io.Reader, framer *frame.Framer, limits *timeouts, t *trace,
) (*bench.Failure, bench.End) {
	buf := s.bufs.Get().(*[readBuffer]byte)
	defer s.bufs.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			limits.read()
			t.received(n)
			t.feed(framer, buf[:n])
			if framer.Err() != nil {
				return nil, bench.EndAborted
			}
			if framer.Drained() {
				return nil, bench.EndEOF
			}
			if framer.Done() {
				t.complete()
				limits.drain()
			}
		}
		switch {
		case err == nil:
		case err == io.EOF:
			return nil, bench.EndEOF
		case drained(ctx):
			t.held()
			return nil, bench.EndEOF
		default:
			f := classify(ctx, err, bench.StepBody)
			return f, endOf(f)
		}
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
