package load

import (
	"context"
	"time"
)

// dispatch starts sessions until the bounds of the phase are reached, its duration is
// over or it is stopped. In a closed loop it only fills the slots: each of them goes on
// by itself.
func (p *Phase) dispatch(ctx context.Context) {
	if p.plan.Arrivals == nil {
		p.performClosed(ctx)
		return
	}
	p.performOpen(ctx)
}

// performClosed starts plan.Concurrency sessions, all due at the start of the
// phase. The goroutine of a session that has ended performs the next one.
func (p *Phase) performClosed(ctx context.Context) {
	for range p.plan.Concurrency {
		s := p.successor(p.start)
		if s == nil {
			return
		}
		p.sessions.Go(func() { s.perform(ctx) })
	}
}

// successor returns the next session of a closed loop, due at the instant at
// which its slot became free; nil = the bounds allow none.
func (p *Phase) successor(due time.Duration) *session {
	if !decide(p, (*scheduler).startSession) {
		return nil
	}
	s := p.lookahead.take()
	s.admit(due)
	return s
}

// decide calls a method of the phase's scheduler, one call at a time.
func decide[T any](p *Phase, f func(*scheduler) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f(&p.scheduler)
}

// endDispatch ends the wait for arrivals: none is needed any more.
func (p *Phase) endDispatch() { p.dispatchOnce.Do(func() { close(p.dispatched) }) }
