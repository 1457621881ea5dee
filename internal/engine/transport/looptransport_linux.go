//go:build amd64 || arm64

package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
	"aiperfd/internal/engine/transport/http1"
	"aiperfd/internal/engine/transport/loop"
)

const (
	coresPerLoop = 4 // one loop reads what three cores can decode
	maxLoops     = 8
)

// errClientClosed ends the exchanges in flight when the client is closed.
var errClientClosed = errors.New("client is closed")

// loopTransport performs exchanges over HTTP/1.1 on event loops, with or without TLS.
type loopTransport struct {
	opts      *Options
	tls       tlsConfigs
	clock     bench.Clock
	sources   *sources
	framers   *sync.Pool // of *frame.Framer
	loops     []*loop.Loop
	next      atomic.Uint32 // counts connections, to spread them over loops
	pool      pool
	exchanges sync.Pool // of *loopExchange
	heads     sync.Pool // of *[]byte: heads of requests
	responses http1.Heads
	backlogs  sync.Pool // of *backlog
	workers   workers   // go on with exchanges that are over
	cuts      cuts
}

var (
	_ roundTripper = (*loopTransport)(nil)
	_ starter      = (*loopTransport)(nil)
)

// newLoopTransport starts the event loops.
func newLoopTransport(o *Options, lags *sockstamp.Lags, from *sources, framers *sync.Pool) (*loopTransport, error) {
	t := &loopTransport{opts: o, clock: o.Clock, sources: from, framers: framers}
	t.tls.opts = o
	t.cuts.cut = t.cutAll
	t.pool.limit, t.pool.idle = o.maxIdle(), map[string][]*pooledConn{}
	t.exchanges.New = func() any { return &loopExchange{owner: t, done: make(chan struct{}, 1)} }
	t.heads.New = func() any { return new([]byte) }
	for range min(max(1, runtime.GOMAXPROCS(0)/coresPerLoop), maxLoops) {
		l, err := loop.New(o.Clock, lags)
		if err != nil {
			t.close()
			return nil, err
		}
		t.loops = append(t.loops, l)
	}
	return t, nil
}

func (t *loopTransport) close() {
	t.cuts.close()
	for _, list := range t.pool.shut() {
		shutAll(list)
	}
	for _, l := range t.loops {
		l.Close()
	}
	t.workers.close()
}

func (t *loopTransport) endSession(session string) {
	shutAll(t.pool.drop(session))
}

// shutAll closes connections that were idle.
func shutAll(list []*pooledConn) {
	for _, pc := range list {
		pc.conn.Lock()
		pc.shut()
		pc.conn.Unlock()
	}
}

func (t *loopTransport) attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool) {
	type outcome struct {
		resp  *bench.Response
		again bool
	}
	returned := make(chan outcome, 1)
	resp, again, pending := t.start(ctx, a, func(resp *bench.Response, again bool) { returned <- outcome{resp, again} })
	if pending {
		o := <-returned
		return o.resp, o.again
	}
	return resp, again
}

// start implements starter.
func (t *loopTransport) start(
	ctx context.Context, a *attempt, later func(*bench.Response, bool),
) (resp *bench.Response, again, pending bool) {
	e := t.exchanges.Get().(*loopExchange)
	err := e.prepare(a)
	switch {
	case err != nil:
		e.result.end, e.result.cause = bench.EndReset, err
	case ctx.Err() != nil:
		e.result.end = bench.EndAborted
	case !a.fresh && e.resume(ctx, a, later):
		return nil, false, true // e belongs to the loop, or to later
	default:
		e.dial(ctx, a)
	}
	resp, again = e.finish(ctx, a)
	return resp, again, false
}

// startIdle implements starter.
func (t *loopTransport) startIdle(ctx context.Context, a *attempt, later func(*bench.Response, bool)) (pending bool) {
	e := t.exchanges.Get().(*loopExchange)
	if e.prepare(a) == nil && ctx.Err() == nil && e.resume(ctx, a, later) {
		return true // e belongs to the loop, or to later
	}
	t.heads.Put(e.request.head)
	t.exchanges.Put(e)
	return false
}

// finish returns the response of an exchange that is over, as attempt does.
func (e *loopExchange) finish(ctx context.Context, a *attempt) (resp *bench.Response, again bool) {
	defer e.owner.exchanges.Put(e)
	if e.stale() && ctx.Err() == nil {
		a.x.Stamps.Start = cmp.Or(a.x.Stamps.Start, e.began)
		return nil, true
	}
	return e.conclude(ctx, a.x), false
}

// cutAll ends the exchanges of a context that has ended and for which no goroutine waits.
func (t *loopTransport) cutAll(ctx context.Context) {
	for _, l := range t.loops {
		l.Each(func(h loop.Handler) {
			if e, ok := h.(*loopExchange); ok && e.ctx == ctx {
				e.cut()
			}
		})
	}
}

// readPaths reads what the kernel counts of idle connections.
func (t *loopTransport) readPaths() {
	for _, pc := range t.pool.list() {
		pc.conn.Lock()
		if info, ok := pc.conn.Info(); ok && pc.path.Watched() {
			pc.path.Update(info)
		}
		pc.conn.Unlock()
	}
}

// lacks implements roundTripper.
func (t *loopTransport) lacks(target *url.URL, n int) int { return n - t.pool.count(target.Host) }

// open implements roundTripper.
func (t *loopTransport) open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool) {
	e := t.exchanges.Get().(*loopExchange)
	defer t.exchanges.Put(e)
	a := &attempt{Request: &Request{}, target: target}
	if err := e.prepare(a); err != nil {
		return bench.Setup{}, false
	}
	e.request.connects = true
	e.dial(ctx, a)
	ok = e.over && e.result.end == bench.EndEOF
	return bench.Setup{DNS: e.conn.DNS, Connect: e.conn.Connect, TLS: e.conn.TLS}, ok
}

// prepare sets up the exchange for a request.
func (e *loopExchange) prepare(a *attempt) error {
	head := e.owner.heads.Get().(*[]byte)
	*e = loopExchange{
		owner: e.owner, done: e.done, step: bench.StepConnect, began: e.owner.clock.Now(),
		request: request{
			head: head, body: a.Body, content: a.Content, streaming: a.Streaming, limit: a.MaxBody, cancel: a.Cancel, watch: a.Watch,
			noBody: a.method() == http.MethodHead,
		},
	}
	if timeout := e.owner.opts.TotalTimeout; timeout > 0 {
		e.deadlines.total = e.began + timeout
	}
	var err error
	*head, err = http1.AppendHead((*head)[:0], &http1.Request{
		Method: a.method(), Target: a.target.RequestURI(), Host: a.host(), Header: a.header,
		Length: a.BodySize(), Close: e.owner.opts.Reuse == Never,
	})
	if err != nil {
		e.step = bench.StepBuild
	}
	return err
}
