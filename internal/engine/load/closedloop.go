package load

import (
	"context"
	"sync/atomic"
	"time"
)

// closedLoop starts sessions whenever a slot is free. The goroutine of a session that
// has ended performs the next one.
type closedLoop struct {
	env   *sessionEnv
	pump  *pump
	lanes atomic.Int64 // slots that were opened or taken over
}

var _ slots = (*closedLoop)(nil)

// openSlots opens the slots at the times of their ramp. It returns when all are open, or no
// session will start any more; from then on each slot continues independently.
func (c *closedLoop) openSlots(ctx context.Context) {
	e := c.env
	e.work.climbRamp(e.phase.SlotSteps(), e.start, e.drained.done, func(limit int, opens time.Duration) {
		if !decide(&e.arbiter, func(s *scheduler) bool { s.slots = limit; return s.takeSlot() }) {
			return
		}
		if s := c.fillSlot(opens, int(c.lanes.Add(1))); s != nil {
			e.group.Go(func() { s.performSlot(ctx) })
		}
	})
}

// slotFreed implements slots.
func (c *closedLoop) slotFreed(at time.Duration) (successor *session) {
	return c.refillSlot(at, int(c.lanes.Add(1)))
}

// familyEnded implements slots.
func (c *closedLoop) familyEnded(_ context.Context, root *session, at time.Duration) (successor *session) {
	if c.env.isCacheWarmup() {
		if rest := c.env.lanes.remainder(root); rest != nil && decide(&c.env.arbiter, (*scheduler).exhausted) {
			c.pump.putBack(rest)
		}
	}
	return c.refillSlot(at, root.lane)
}

// refillSlot returns the session that gets a slot which is free, if any.
func (c *closedLoop) refillSlot(at time.Duration, lane int) (successor *session) {
	if !decide(&c.env.arbiter, (*scheduler).keepSlot) {
		return nil
	}
	return c.fillSlot(at, lane)
}

// allowTurn implements slots.
func (c *closedLoop) allowTurn(*session) bool {
	return decide(&c.env.arbiter, (*scheduler).continueSession)
}

// fillSlot returns the next session, due at the instant at which its slot became free,
// which is taken; nil = the bounds allow none, and the slot is free again.
func (c *closedLoop) fillSlot(due time.Duration, lane int) *session {
	e := c.env
	c.pump.using.RLock()
	defer c.pump.using.RUnlock()
	if !decide(&e.arbiter, (*scheduler).closed) {
		if s := c.pump.takeSession(); s != nil {
			if decide(&e.arbiter, func(d *scheduler) bool { d.silent = s.isSilent() || s.midway != nil; return d.startSession() }) {
				s.lane = lane
				s.admitAt(due)
				return s
			}
			c.pump.putBack(s)
		}
	}
	if decide(&e.arbiter, func(d *scheduler) bool { d.freeSlot(); return d.closed() }) {
		e.drained.close()
	}
	return nil
}
