package load

import (
	"context"
	"slices"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport"
)

// prefill limits the requests of a phase that have been sent and have no content yet.
// The others wait, in the order in which they came, each in its own session, so that
// none holds up arrivals. The scheduler counts; this is who waits.
type prefill struct {
	phase   *Phase
	waiting []chan struct{} // guarded by phase.mu; oldest first; closed when its request may be sent
	ended   chan struct{}   // closed by end
	ramp    sync.WaitGroup
}

// newPrefill returns the limit of a phase; nil = there is none.
func newPrefill(p *Phase) *prefill {
	if p.plan.Prefill == 0 && !p.plan.Shape.CountFills {
		return nil
	}
	return &prefill{phase: p, ended: make(chan struct{})}
}

// begin starts the ramp of the limit.
func (f *prefill) begin() {
	if f != nil && f.phase.plan.Shape.Prefill.Duration > 0 {
		f.ramp.Go(f.raise)
	}
}

// end ends the ramp of the limit. It is called when all sessions have ended.
func (f *prefill) end() {
	if f != nil {
		close(f.ended)
		f.ramp.Wait()
	}
}

// raise raises the limit to that of the plan, at the times of its ramp.
func (f *prefill) raise() {
	p := f.phase
	wait := p.work.Pacer()
	defer wait.Close()
	limit := 0
	for at := range p.plan.Shape.Prefill.Steps(p.plan.Prefill) {
		limit++
		if !wait.Until(p.work.Clock.At(p.start+at), f.ended) {
			return
		}
		p.mu.Lock()
		p.scheduler.fill.limit = limit
		f.admit()
		p.mu.Unlock()
	}
}

// enter waits until one more request may be sent. It returns false if sending has ended
// before that; the request is then no longer counted as sent.
func (f *prefill) enter(ctx context.Context) bool {
	p := f.phase
	p.mu.Lock()
	if p.scheduler.fill.request() {
		p.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	f.waiting = append(f.waiting, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-p.halted.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(f.waiting, turn)
	if i < 0 {
		return true // at the last moment
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
	p.scheduler.forsake()
	return false
}

// leave ends the prefill of a request.
func (f *prefill) leave() {
	f.phase.mu.Lock()
	defer f.phase.mu.Unlock()
	f.phase.scheduler.fill.end()
	f.phase.handover.passOn()
	f.admit()
}

// admit lets as many requests as the limit allows go on. Call with phase.mu held.
func (f *prefill) admit() {
	for f.phase.scheduler.fill.admit() {
		close(f.waiting[0])
		f.waiting = f.waiting[1:]
	}
}

// await waits until the next turn of a session may be sent. false = it is not sent. A nil
// limit is no wait.
func (f *prefill) await(ctx context.Context, s *session) bool {
	if f == nil {
		return true
	}
	s.queued = f.phase.work.Clock.Now()
	if !f.enter(ctx) {
		return false
	}
	s.permit = f.phase.work.Clock.Now()
	return true
}

// watch makes a request end its prefill with its first content, and returns the function
// that ends it in any case.
func (f *prefill) watch(r *transport.Request) (end func()) {
	if f == nil {
		return func() {}
	}
	end = sync.OnceFunc(f.leave)
	decode := f.phase.work.Plan.Kind.Decode
	r.Watch = func(r *bench.Response) bool {
		a := decode(r, true)
		if len(a.Chunks) == 0 {
			return false
		}
		end()
		return true
	}
	return end
}
