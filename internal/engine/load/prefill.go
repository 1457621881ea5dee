package load

import (
	"context"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// prefill limits the requests of a phase that have been sent and have no content yet.
// The others wait, in the order in which they came, each in its own session, so that
// none holds up arrivals. The scheduler counts, and the arbiter has who waits.
type prefill struct {
	arbiter    *arbiter
	halted     <-chan struct{} // closed when nothing may be sent
	hasContent func(r *bench.Response) bool
	unneeded   chan struct{} // closed by endRamp
	ramp       sync.WaitGroup
}

func newPrefill(c *course, by Decoder) *prefill {
	return &prefill{arbiter: &c.arbiter, halted: c.halted.done, hasContent: by.HasContent, unneeded: make(chan struct{})}
}

// startRamp raises the limit to that of the plan, at the times of its ramp.
func (f *prefill) startRamp(o *Options, p *spec.Phase, start time.Duration) {
	if f == nil || p.Shape.Prefill.Duration <= 0 {
		return
	}
	raise := func(now int, _ time.Duration) { f.arbiter.limitFills(now) }
	f.ramp.Go(func() { o.climbRamp(p.PrefillSteps(), start, f.unneeded, raise) })
}

// endRamp ends the ramp of the limit. It is called when all sessions have ended.
func (f *prefill) endRamp() {
	if f != nil {
		close(f.unneeded)
		f.ramp.Wait()
	}
}

// awaitFill waits until one more request may be sent. It returns false if sending has ended
// before that; the request is then no longer counted as sent.
func (f *prefill) awaitFill(ctx context.Context) bool {
	turn := f.arbiter.requestFill()
	if turn == nil {
		return true
	}
	select {
	case <-turn:
		return true
	case <-f.halted:
	case <-ctx.Done():
	}
	return !f.arbiter.withdrawFill(turn)
}

// watchFill makes a request end its prefill with its first content, and returns the
// function that ends it in any case. A nil limit watches nothing.
func (f *prefill) watchFill(r *transport.Request) (end func()) {
	if f == nil {
		return func() {}
	}
	end = sync.OnceFunc(f.arbiter.endFill)
	r.Watch = func(r *bench.Response) bool {
		if !f.hasContent(r) {
			return false
		}
		end()
		return true
	}
	return end
}
