package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/frame"
	"aiperfd/internal/engine/transport/http1"
)

// stdlib performs exchanges with net/http over connections that stamp their
// reads below TLS.
type stdlib struct {
	opts    *Options
	lags    *sockstamp.Lags
	framers *sync.Pool // of *frame.Framer
	bufs    sync.Pool  // of *[readBuffer]byte
	shared  *http.Transport
	fresh   *http.Transport // keeps no connection: each request has a new one
	ahead   spares
	mu      sync.Mutex
	sticky  map[string]*http.Transport // guarded by mu; by session
}

var _ way = (*stdlib)(nil)

func newStdlib(o *Options, lags *sockstamp.Lags, framers *sync.Pool) *stdlib {
	s := &stdlib{opts: o, lags: lags, framers: framers, ahead: newSpares(o.Clock), sticky: map[string]*http.Transport{}}
	s.shared, s.fresh = s.newTransport(o.Reuse == Never), s.newTransport(false)
	s.fresh.MaxIdleConnsPerHost = -1
	s.shared.DialContext, s.shared.DialTLSContext = s.spareOr(s.connect), s.spareOr(s.connectTLS)
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

// tlsConfig returns a configuration of the caller's own.
func (o *Options) tlsConfig() *tls.Config {
	config := o.TLS.Clone() // nil of nil
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.InsecureSkipVerify = o.SkipTLSVerify //nolint:gosec // asked for, and stated in the result
	return config
}

// proxy says through which proxy a request goes; nil = through none.
func (o *Options) proxy() func(*http.Request) (*url.URL, error) {
	switch {
	case o.Proxy != nil:
		return http.ProxyURL(o.Proxy)
	case o.EnvProxy:
		return http.ProxyFromEnvironment
	}
	return nil
}

// maxIdle is how many idle connections are kept for each host.
func (o *Options) maxIdle() int { return max(o.MaxIdle, 2) }

// readAhead is how much net/http reads before it looks at what it got.
func (o *Options) readAhead() int {
	if o.Streaming {
		return 512 // about one or two events
	}
	return 4 << 10
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
	t := &trace{clock: s.opts.Clock, ex: a.x, spare: s.ahead.firstUse}
	defer t.finish()
	w := newWatch(ctx, s.opts)
	defer w.stop()
	t.wrote = w.requestWritten
	req := &http.Request{
		Method: a.method(), URL: a.target, Host: a.host(), Header: a.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
	if len(a.Body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(a.Body)), int64(len(a.Body))
	}
	hr, err := s.transportFor(a).RoundTrip(req.WithContext(t.attach(w.ctx)))
	if err != nil {
		if t.stale() && w.ctx.Err() == nil && isReset(err) {
			return nil, true
		}
		f := classify(w.ctx, err, t.step())
		return &bench.Response{Failure: f, End: endOf(f), EndAt: s.opts.Clock.Now()}, false
	}
	t.headers()
	w.headersSeen()
	framer := s.framers.Get().(*frame.Framer)
	t.own(framer, s.framers)
	return s.read(hr, framer, a, w, t), false
}

// read takes the body to its end.
func (s *stdlib) read(hr *http.Response, framer *frame.Framer, a *attempt, w *watch, t *trace) *bench.Response {
	defer hr.Body.Close()
	framer.Reset(frame.Head{
		Status: hr.StatusCode, ContentType: hr.Header.Get("Content-Type"),
		ContentEncoding: hr.Header.Get("Content-Encoding"), Streaming: a.Streaming,
		Length: hr.Header.Get("Content-Length"), Limit: a.MaxBody, Memory: s.opts.Memory,
	})
	failure, end := s.pump(hr.Body, framer, w, t)
	endAt := t.lastRead()
	if end != bench.EndEOF || endAt == 0 {
		endAt = s.opts.Clock.Now()
	}
	return conclude(framer, hr.Header, end, endAt, failure)
}

// pump feeds the framer until the body ends, the answer is over and drained, or
// something breaks.
func (s *stdlib) pump(body io.Reader, framer *frame.Framer, w *watch, t *trace) (*bench.Failure, bench.End) {
	buf := s.bufs.Get().(*[readBuffer]byte)
	defer s.bufs.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			w.read()
			t.received(n)
			t.feed(framer, buf[:n])
			if framer.Err() != nil {
				return nil, bench.EndAborted
			}
			if framer.Drained() {
				return nil, bench.EndEOF
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
			t.held()
			return nil, bench.EndEOF
		default:
			f := classify(w.ctx, err, bench.StepBody)
			return f, endOf(f)
		}
	}
}
