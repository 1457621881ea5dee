package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/netpath"
)

// connector opens connections whose reads are stamped.
type connector struct {
	opts    *Options
	lags    *sockstamp.Lags
	sources *sources
	watched *pathReaders
}

// pathReaders are the open connections of net/http whose path is read.
type pathReaders struct {
	mu    sync.Mutex
	paths map[*sockstamp.Conn]*netpath.Conn // guarded by mu, and so is what they point to
}

// watch begins to watch a connection until it is closed.
func (w *pathReaders) watch(c *sockstamp.Conn, path netpath.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths[c] = &path
	c.OnClose(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.read(c)
		delete(w.paths, c)
	})
}

// read reads a connection. Call with mu held.
func (w *pathReaders) read(c *sockstamp.Conn) {
	path := w.paths[c]
	if path == nil {
		return
	}
	if info, ok := c.Info(); ok {
		path.Update(info)
	}
}

// readAll reads all connections.
func (w *pathReaders) readAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.paths {
		w.read(c)
	}
}

// share notes that several requests use a connection at a time.
func (w *pathReaders) share(c *sockstamp.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if path := w.paths[c]; path != nil {
		path.Share()
	}
}

// responseEnded notes the end of a response on a connection of its own.
func (w *pathReaders) responseEnded(c *sockstamp.Conn, now time.Duration) bench.PathCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := w.paths[c]
	if path == nil {
		return bench.PathCount{}
	}
	return path.ResponseEnded(now, c.Info)
}

// dial opens a connection within the connect timeout. Its reads have timestamps below
// TLS.
func (k *connector) dial(ctx context.Context, network, addr string) (*sockstamp.Conn, error) {
	ctx, cancel := k.opts.connecting(ctx)
	defer cancel()
	open := k.opts.Dial
	if socket, ok := k.opts.socket(addr); ok {
		network, addr = "unix", socket
	}
	if open == nil {
		open = k.dialDirect
	}
	c, err := open(ctx, network, addr)
	if err != nil {
		if errors.Is(context.Cause(ctx), errConnectTimeout) {
			return nil, &dialError{errConnectTimeout}
		}
		return nil, &dialError{err}
	}
	stamping := sockstamp.New(c)
	stamping.CountIn(k.lags)
	if k.opts.Path != nil {
		k.watched.watch(stamping, netpath.NewConn(k.opts.Path, addr))
	}
	return stamping, nil
}

// fallbackDelay is the time after which the next of several addresses is tried. The
// last one has all the remaining time. RFC 8305, section 5, recommends 250 ms; package
// net waits 300 ms.
const fallbackDelay = 300 * time.Millisecond

// dialDirect connects to the first address that answers, from the next of the source addresses.
func (k *connector) dialDirect(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || network != "tcp" {
		return netDialer(netip.Addr{}).DialContext(ctx, network, addr)
	}
	addrs, err := k.opts.lookup(ctx, host, port)
	for i, to := range addrs {
		from, _ := k.sources.to(to) // lookup leaves out what has none
		one, cancel := ctx, context.CancelFunc(func() {})
		if i < len(addrs)-1 {
			one, cancel = context.WithTimeout(ctx, fallbackDelay)
		}
		var c net.Conn
		c, err = netDialer(from).DialContext(one, network, to.String())
		cancel()
		if err == nil {
			return c, nil
		}
	}
	return nil, err
}

// netDialer returns a dialer from a local address; the zero value = the system chooses.
func netDialer(from netip.Addr) *net.Dialer {
	alive := net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 30 * time.Second}
	d := &net.Dialer{KeepAliveConfig: alive}
	if from.IsValid() {
		d.LocalAddr, d.Control = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), sharePorts
	}
	return d
}

// secure does the TLS handshake, which offers the given protocols. It closes the
// connection if that fails.
func (k *connector) secure(ctx context.Context, raw net.Conn, host string, protocols ...string) (*tls.Conn, error) {
	config := k.opts.tlsConfig()
	config.NextProtos = protocols
	if config.ServerName == "" {
		config.ServerName = host
	}
	ctx, cancel := k.opts.connecting(ctx)
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
			err = errHandshakeTimeout
		}
		_ = raw.Close() // an interrupted handshake has closed it
		return nil, &dialError{err}
	}
	return c, nil
}

// stamped returns the connection with timestamps below c, which may be a TLS
// connection; nil = there is none.
func stamped(c net.Conn) *sockstamp.Conn {
	for {
		t, ok := c.(*tls.Conn)
		if !ok {
			break
		}
		c = t.NetConn() // with an https proxy there is TLS inside TLS
	}
	s, _ := c.(*sockstamp.Conn)
	return s
}
