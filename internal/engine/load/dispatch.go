package load

import (
	"context"
	"errors"
	"io"
	"time"

	"aiperfd/internal/engine/bench"
)

// dispatch starts sessions until the bounds of the phase are reached, its duration is
// over or it is stopped. In a closed loop it only fills the slots: each of them goes on
// by itself.
func (p *Phase) dispatch(ctx context.Context) {
	if p.open == nil {
		p.performClosed(ctx)
		return
	}
	p.open.perform(ctx)
}

// performClosed starts plan.Concurrency sessions, each due when its slot opens. The
// goroutine of a session that has ended performs the next one.
func (p *Phase) performClosed(ctx context.Context) {
	slots := p.plan.Concurrency
	for i := range slots {
		opens := p.start + p.plan.ConcurrencyRamp*time.Duration(i)/time.Duration(slots)
		if !p.wait(opens - p.work.Clock.Now()) {
			return
		}
		s := p.successor(opens)
		if s == nil {
			return
		}
		p.sessions.Go(func() { s.perform(ctx) })
	}
}

// wait waits for a time; false = the phase was stopped before it was over.
func (p *Phase) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stopped:
		return false
	}
}

// successor returns the next session of a closed loop, due at the instant at
// which its slot became free; nil = the bounds allow none.
func (p *Phase) successor(due time.Duration) *session {
	if decide(p, (*scheduler).closed) {
		return nil
	}
	s := p.lookahead.take()
	if s == nil {
		return nil
	}
	if !decide(p, func(d *scheduler) bool { d.silent = silent(s.conversation); return d.startSession() }) {
		p.lookahead.putBack(s)
		return nil
	}
	s.admit(due)
	return s
}

// dry ends the start of sessions, because none can be drawn any more.
func (p *Phase) dry(why error) {
	closed := decide(p, func(s *scheduler) bool { s.runDry(p.starts != nil); return s.closed() })
	if closed && p.count.pendingTurns.Load() == 0 {
		p.markSent()
	}
	if !errors.Is(why, io.EOF) {
		p.work.failed.CompareAndSwap(nil, &why)
		p.Stop(bench.PhaseFailed)
	}
}

// decide calls a method of the phase's scheduler, one call at a time.
func decide[T any](p *Phase, f func(*scheduler) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f(&p.scheduler)
}
