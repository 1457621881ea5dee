package load

import (
	"context"
	"errors"
	"io"
	"time"

	"aiperfd/internal/engine/bench"
)

// dispatch starts sessions until the bounds of the phase are reached, its duration is
// over or it is stopped. In a closed loop it only opens the slots: each of them goes on
// by itself.
func (p *Phase) dispatch(ctx context.Context) {
	if p.open == nil {
		p.closed.perform(ctx)
		return
	}
	p.open.perform(ctx)
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
	case <-p.stopped.done:
		return false
	}
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
	defer p.handover.passOn()
	return f(&p.scheduler)
}
