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

// errClientClosed ends the exchanges that a closed client still had.
var errClientClosed = errors.New("client is closed")

// looped performs exchanges over plain HTTP/1.1 on event loops.
type looped struct {
	opts    *Options
	clock   bench.Clock
	framers *sync.Pool // of *frame.Framer
	loops   []*loop.Loop
	next    atomic.Uint32 // counts connections, to spread them over loops
	pool    pool
	flights sync.Pool // of *flight
}

var _ way = (*looped)(nil)

// newLooped starts the event loops.
func newLooped(o *Options, lags *sockstamp.Lags, framers *sync.Pool) (*looped, error) {
	c := &looped{opts: o, clock: o.Clock, framers: framers}
	c.pool.limit, c.pool.idle = o.maxIdle(), map[string][]*link{}
	c.flights.New = func() any { return &flight{owner: c, done: make(chan struct{}, 1)} }
	for range min(max(1, runtime.GOMAXPROCS(0)/coresPerLoop), maxLoops) {
		l, err := loop.New(o.Clock, lags)
		if err != nil {
			c.close()
			return nil, err
		}
		c.loops = append(c.loops, l)
	}
	return c, nil
}

func (c *looped) close() {
	c.pool.shut()
	for _, l := range c.loops {
		l.Close()
	}
}

func (c *looped) endSession(session string) {
	for _, k := range c.pool.drop(session) {
		k.conn.Lock()
		k.conn.Shut()
		k.conn.Unlock()
	}
}

func (c *looped) attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool) {
	f := c.flights.Get().(*flight)
	defer c.flights.Put(f)
	err := f.prepare(a)
	switch {
	case err != nil:
		f.end, f.cause = bench.EndReset, err
	case ctx.Err() != nil:
		f.end = bench.EndAborted
	case !a.fresh && f.resume(a):
		f.await(ctx)
	default:
		f.dial(ctx, a)
	}
	if f.stale() && ctx.Err() == nil {
		a.x.Stamps.Start = cmp.Or(a.x.Stamps.Start, f.began)
		return nil, true
	}
	return f.conclude(ctx, a.x), false
}

// lacks implements way.
func (c *looped) lacks(target *url.URL, n int) int { return n - c.pool.count(target.Host) }

// open implements way.
func (c *looped) open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool) {
	f := c.flights.Get().(*flight)
	defer c.flights.Put(f)
	a := &attempt{Request: &Request{}, target: target}
	if err := f.prepare(a); err != nil {
		return bench.Setup{}, false
	}
	f.ahead = true
	f.dial(ctx, a)
	ok = f.over && f.end == bench.EndEOF
	return bench.Setup{DNS: f.conn.DNS, Connect: f.conn.Connect}, ok
}

// prepare makes a flight of a request.
func (f *flight) prepare(a *attempt) error {
	f.backlog.empty()
	*f = flight{
		owner: f.owner, done: f.done, head: f.head[:0], backlog: f.backlog, body: a.Body, streaming: a.Streaming, limit: a.MaxBody,
		noBody: a.method() == http.MethodHead, step: bench.StepConnect, began: f.owner.clock.Now(),
	}
	if timeout := f.owner.opts.TotalTimeout; timeout > 0 {
		f.totalBy = f.began + timeout
	}
	var err error
	f.head, err = http1.AppendHead(f.head, &http1.Request{
		Method: a.method(), Target: a.target.RequestURI(), Host: a.host(), Header: a.header,
		Length: len(a.Body), Close: f.owner.opts.Reuse == Never,
	})
	if err != nil {
		f.step = bench.StepBuild
	}
	return err
}
