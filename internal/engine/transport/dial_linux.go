//go:build amd64 || arm64

package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"time"
	"unsafe"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/loop"
	"aiperfd/internal/engine/transport/netpath"
)

// tlsConfigs are the configurations of TLS by the name of the server, which connections
// share.
type tlsConfigs struct {
	opts *Options

	mu     sync.Mutex
	byHost map[string]*tls.Config // guarded by mu
}

// of returns the configuration for a server, which must not be changed.
func (t *tlsConfigs) of(host string) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	if made := t.byHost[host]; made != nil {
		return made
	}
	made := t.opts.tlsConfig()
	made.ServerName = cmp.Or(made.ServerName, host)
	made.DynamicRecordSizingDisabled = true // a request is known as a whole
	if t.byHost == nil {
		t.byHost = map[string]*tls.Config{}
	}
	t.byHost[host] = made
	return made
}

// key returns the key of the pool.
func (t *loopTransport) key(a *attempt) string {
	if t.opts.Reuse == Sticky {
		return a.Session
	}
	return a.target.Host
}

// resume sends the request on an idle connection; false = there is none. later is called with
// the response; the end of ctx cuts the exchange.
func (e *loopExchange) resume(ctx context.Context, a *attempt, later func(*bench.Response, bool)) bool {
	t := e.owner
	if t.opts.Reuse == Never {
		return false
	}
	t.cuts.watch(ctx)
	for key := t.key(a); ; {
		pc := t.pool.take(key, a.target)
		if pc == nil {
			return false
		}
		pc.conn.Lock()
		usable := !pc.conn.Closed() // otherwise the server closed it in the meantime
		if usable {
			e.pc = pc
			pc.handle(e, unsafe.Pointer(e))
			e.conn.Reused = true
			e.ended = func() { later(e.finish(ctx, a)) }
			e.ctx = ctx
			if ctx.Err() == nil {
				e.begin()
			} else { // its exchanges may have been cut just before
				e.cut()
			}
		}
		pc.conn.Unlock()
		if usable {
			return true
		}
	}
}

// dial sends the request on a new connection and returns when the exchange is over.
func (e *loopExchange) dial(ctx context.Context, a *attempt) {
	t := e.owner
	pc := &pooledConn{owner: t, key: t.key(a), host: a.target.Host, parser: t.responses.Parser()}
	pc.conn = t.loops[int(t.next.Add(1))%len(t.loops)].NewConn(pc)
	if t.opts.Path != nil {
		pc.path = netpath.NewConn(t.opts.Path, net.JoinHostPort(a.target.Hostname(), portOf(a.target)))
		pc.conn.OnClose(func(info sockstamp.Info) { pc.path.Update(info) })
	}
	if isSecure(a.target) {
		pc.secure = loop.NewSecure(pc.conn, t.tls.of(a.target.Hostname()), pc)
	}
	pc.handle(e, unsafe.Pointer(e))
	e.pc = pc
	connectBy := time.Duration(0)
	if timeout := t.opts.ConnectTimeout; timeout > 0 {
		connectBy = e.began + timeout
	}
	addrs, err := e.resolve(ctx, a.target, connectBy)
	for i, addr := range addrs {
		e.deadlines.connect = connectBy
		if soon := t.clock.Now() + fallbackDelay; i < len(addrs)-1 && (connectBy == 0 || soon < connectBy) {
			e.deadlines.connect = soon
		}
		if err = e.connect(addr); err != nil {
			continue
		}
		if e.await(ctx) {
			return
		}
		if err = e.result.dial; err == nil { // connected
			if err = e.handshake(ctx); err == nil {
				e.await(ctx)
				return
			}
			break
		}
	}
	e.result.end, e.result.err = bench.EndReset, err
	if errors.Is(err, loop.ErrClosed) {
		e.result.cause = errClientClosed
	}
}

// connect starts to connect to an address. Without an error the loop continues the
// exchange.
func (e *loopExchange) connect(addr netip.AddrPort) error {
	pc := e.pc
	pc.conn.Lock()
	defer pc.conn.Unlock()
	e.dialed = e.owner.clock.Now()
	from, _ := e.owner.sources.to(addr) // resolve leaves out what has none
	done, err := pc.conn.Connect(addr, from)
	switch {
	case err != nil:
		return err
	case done:
		e.Connected(nil)
	default:
		e.arm()
	}
	return nil
}

// handshake performs the TLS handshake on the open connection and continues the exchange.
// After an error the connection is closed.
func (e *loopExchange) handshake(ctx context.Context) error {
	pc, began := e.pc, e.owner.clock.Now()
	pc.conn.Lock()
	if timeout := e.owner.opts.ConnectTimeout; timeout > 0 {
		e.deadlines.connect = began + timeout
	}
	e.arm()
	pc.conn.Unlock()
	err := pc.secure.Handshake(ctx)
	pc.conn.Lock()
	defer pc.conn.Unlock()
	e.shaking, e.deadlines.connect = false, 0
	e.conn.TLS = e.owner.clock.Now() - began
	if err == nil {
		err = pc.secure.Begin()
	}
	if err != nil {
		pc.handle(pc, nil)
		pc.conn.Shut()
		return e.unsecured(err)
	}
	e.connected()
	pc.secure.Early()
	return nil
}

// unsecured returns the error of a handshake for [classify].
func (e *loopExchange) unsecured(err error) error {
	fault, panicked := errors.AsType[*loop.Fault](err)
	switch {
	case panicked:
		e.result.fault = &fault.Panic
	case errors.Is(err, errTotalTimeout):
		e.result.cause = err
	}
	return err
}

// resolve returns the addresses of a host, in the order in which they are tried.
func (e *loopExchange) resolve(ctx context.Context, target *url.URL, by time.Duration) ([]netip.AddrPort, error) {
	host, port := target.Hostname(), portOf(target)
	if _, err := netip.ParseAddr(host); err == nil {
		return e.owner.opts.lookup(ctx, host, port)
	}
	limit, reason := e.deadlines.total, errTotalTimeout
	if by > 0 && (limit == 0 || by < limit) {
		limit, reason = by, errConnectTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, e.owner.clock.At(limit), reason)
		defer cancel()
	}
	addrs, err := e.owner.opts.lookup(ctx, host, port)
	e.conn.DNS = e.owner.clock.Now() - e.began
	if err != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errConnectTimeout):
			return nil, cause
		case errors.Is(cause, errTotalTimeout):
			e.result.cause = cause
		}
		return nil, err
	}
	return addrs, nil
}
