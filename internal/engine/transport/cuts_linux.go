//go:build amd64 || arm64

package transport

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
)

// cuts ends exchanges when their contexts end. The exchanges of a phase share a context,
// which is watched once: a function of each exchange would be registered and removed under
// the lock of the context. It is safe for concurrent use.
type cuts struct {
	cut    func(ctx context.Context) // ends the exchanges of a context; is called once for each
	latest atomic.Pointer[watched]

	mu     sync.Mutex
	stops  map[context.Context]func() bool // guarded by mu; of the watched contexts
	closed bool                            // guarded by mu
}

// watched is a context that is watched, or has ended.
type watched struct {
	ctx context.Context //nolint:containedctx // it is told from others
}

// watch makes sure that the exchanges of a context are cut when it ends. Those that begin
// after that have to see for themselves that it has ended.
func (c *cuts) watch(ctx context.Context) {
	if w := c.latest.Load(); w != nil && w.ctx == ctx || ctx.Done() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.stops[ctx] == nil {
		if c.stops == nil {
			c.stops = map[context.Context]func() bool{}
		}
		c.stops[ctx] = context.AfterFunc(ctx, func() { c.expire(ctx) })
	}
	c.latest.Store(&watched{ctx})
}

// expire cuts the exchanges of a context that has ended.
func (c *cuts) expire(ctx context.Context) {
	c.mu.Lock()
	delete(c.stops, ctx)
	c.mu.Unlock()
	c.latest.Store(nil) // it would keep the context
	c.cut(ctx)
}

// close stops watching.
func (c *cuts) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for stop := range maps.Values(c.stops) {
		stop()
	}
	c.stops = nil
}
