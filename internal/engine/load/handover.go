package load

import (
	"context"
	"sync"
	"time"
)

// returned is what a phase gives back that is waiting for its last answers, while the
// next phase sends.
type returned uint8

const (
	freeSlot    returned = iota // of a session that has ended
	freePrefill                 // of a request that has got its first content, or has ended
)

// handover is what overlaps of two phases.
type handover struct {
	phase   *Phase
	yielded sync.Once       // the dataset was left to the next phase
	earlier chan returned   // what earlier phases give back; nil = there are none
	heir    chan<- returned // guarded by phase.mu; earlier of the next phase; nil = none has begun
}

// inherit counts the slots and prefills that earlier phases still use as used, and makes
// them come to this phase when they are free.
func (h *handover) inherit(earlier []*Phase) {
	n := 0
	for _, e := range earlier {
		e.mu.Lock()
		defer e.mu.Unlock()
		n += h.carry(e)
	}
	if n == 0 {
		return
	}
	h.earlier = make(chan returned, n) // so that no earlier phase waits for this one
	for _, e := range earlier {
		e.handover.heir = h.earlier
	}
}

// carry takes over what one phase uses, whose mu is held, and returns how much it is.
func (h *handover) carry(e *Phase) int {
	p := h.phase
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.scheduler.carry(&e.scheduler)
}

// passOn gives what has become free to the next phase, if it has begun. Call with mu held.
func (h *handover) passOn() {
	s := &h.phase.scheduler
	for ; s.lent.freed > 0; s.lent.freed-- {
		h.heir <- freeSlot
	}
	for ; s.fill.freed > 0; s.fill.freed-- {
		h.heir <- freePrefill
	}
}

// takeOver starts sessions and requests for what earlier phases give back, until nothing
// is left to send.
func (h *handover) takeOver(ctx context.Context) {
	p := h.phase
	for range cap(h.earlier) {
		select {
		case what := <-h.earlier:
			if what == freePrefill {
				h.inheritPrefill()
			} else if s := h.inheritSlot(p.work.Clock.Now()); s != nil {
				p.sessions.Go(func() { s.perform(ctx) })
			}
		case <-p.sent.done:
			return
		}
	}
}

// inheritSlot frees the slot of a session of an earlier phase, and returns the session
// that gets it, if any.
func (h *handover) inheritSlot(at time.Duration) *session {
	p := h.phase
	switch {
	case !decide(p, (*scheduler).inheritSlot):
		return nil
	case p.open != nil:
		return p.open.ended()
	}
	return p.closed.ended(at)
}

// inheritPrefill ends the prefill of a request of an earlier phase.
func (h *handover) inheritPrefill() {
	p := h.phase
	if decide(p, func(s *scheduler) bool { return s.fill.inherit(p.prefill != nil) }) {
		p.prefill.leave()
	}
}

// lent is what a scheduler shares with those of other phases.
type lent struct {
	carried int  // sessions of earlier phases that have a slot
	handed  bool // a later phase has begun: slots that become free are its own
	freed   int  // slots that became free since then and are not passed on
}

// carry takes over the slots and prefills that the scheduler of an earlier phase uses, and
// returns how many these are.
func (s *scheduler) carry(from *scheduler) int {
	slots, fills := from.live-from.lent.carried, from.fill.now-from.fill.carried
	s.live, s.lent.carried = s.live+slots, s.lent.carried+slots
	s.fill.now, s.fill.carried = s.fill.now+fills, s.fill.carried+fills
	from.lent.handed, from.fill.handed = true, true
	return slots + fills
}

// vacate gives a slot back.
func (s *scheduler) vacate() {
	s.live--
	if s.lent.handed {
		s.lent.freed++
	}
}

// inheritSlot makes the slot of a session of an earlier phase, which has ended, one of this
// phase; false = this phase does not need it.
func (s *scheduler) inheritSlot() bool {
	s.lent.carried--
	if s.lent.handed {
		s.live--
	}
	return !s.lent.handed
}
