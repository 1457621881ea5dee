package load

import (
	"context"
	"sync"
	"time"
)

// closedLoop starts sessions whenever a slot is free. The goroutine of a session that
// has ended performs the next one.
type closedLoop struct {
	phase    *Phase
	over     chan struct{} // closed when no session will start any more
	overOnce sync.Once
}

func newClosedLoop(p *Phase) *closedLoop {
	return &closedLoop{phase: p, over: make(chan struct{})}
}

// perform opens the slots. It returns when all are open, or no session will start any
// more; from then on each slot goes on by itself.
func (c *closedLoop) perform(ctx context.Context) {
	p := c.phase
	p.openSlots(c.over, func(limit int, opens time.Duration) {
		if !decide(p, func(s *scheduler) bool { s.slots = limit; return s.takeSlot() }) {
			return
		}
		if s := c.successor(opens); s != nil {
			p.sessions.Go(func() { s.perform(ctx) })
		}
	})
}

// end ends the opening of slots: no session will start any more.
func (c *closedLoop) end() { c.overOnce.Do(func() { close(c.over) }) }

// ended frees the slot of a session that has ended, and returns the session that gets
// it, if any.
func (c *closedLoop) ended(at time.Duration) *session {
	if !decide(c.phase, (*scheduler).keepSlot) {
		return nil
	}
	return c.successor(at)
}

// successor returns the next session, due at the instant at which its slot became free,
// which is taken; nil = the bounds allow none, and the slot is free again.
func (c *closedLoop) successor(due time.Duration) *session {
	p := c.phase
	p.lookahead.using.RLock()
	defer p.lookahead.using.RUnlock()
	if !decide(p, (*scheduler).closed) {
		if s := p.lookahead.take(); s != nil {
			if decide(p, func(d *scheduler) bool { d.silent = silent(s.conversation); return d.startSession() }) {
				s.admit(due)
				return s
			}
			p.lookahead.putBack(s)
		}
	}
	if decide(p, func(d *scheduler) bool { d.vacate(); return d.closed() }) {
		c.end()
	}
	return nil
}

// openSlots raises the limit of sessions to that of the plan, at the times of its ramp.
// It returns early when over is closed.
func (p *Phase) openSlots(over <-chan struct{}, raise func(limit int, opens time.Duration)) {
	wait := p.work.Pacer()
	defer wait.Close()
	limit := 0
	for at := range p.plan.Shape.Concurrency.Steps(p.plan.Concurrency) {
		limit++
		select {
		case <-over:
			return
		default:
		}
		if at > 0 && !wait.Until(p.work.Clock.At(p.start+at), over) {
			return
		}
		raise(limit, p.start+at)
	}
}
