package load

import (
	"time"

	"aiperfd/internal/engine/plan"
)

// scheduler decides when the sessions of a phase start and continue, and enforces the
// bounds of the phase: exactly so many requests and sessions are ever allowed. In an
// open loop, an arrival that finds no free slot waits in a FIFO backlog and keeps its
// due time, unless the plan wants it to be rejected or to end the phase. A turn that
// continues a session may wait for the next arrival, which it takes.
//
// It has no goroutines, clocks, channels or locks: see [decide] and [openLoop] for
// those. Not safe for concurrent use.
type scheduler struct {
	requests, sessions int64 // bounds; 0 = without bound
	slots              int   // sessions at a time; 0 = without limit. Lowering it revokes nothing: no slot is free until enough sessions have ended
	silent             bool  // the next session sends no request itself, since it only starts children
	full               plan.Backlog
	late               bool // arrivals of the backlog are sent after the duration, too

	sent, started int64           // requests and sessions that were allowed
	stopped       bool            // nothing is allowed any more
	expired       bool            // the duration is over: only arrivals of the backlog are allowed
	dry           bool            // the dataset has no session any more
	live, liveMax int             // sessions that have a slot, with those of earlier phases
	waiting       int             // continuations that wait for an arrival
	backlog       []time.Duration // due times of arrivals that wait for a slot, oldest first
	backlogMax    int
	rejected      int64

	fill fills // requests without content
	lent lent  // what overlaps with other phases
}

// action is what is to be done after an event of an open loop.
type action uint8

const (
	none    action = iota // nothing; an arrival waits in the backlog
	drop                  // the arrival is not needed
	reject                // the arrival is lost, because no slot is free
	abort                 // the phase ends, because too many arrivals wait for a slot
	start                 // a new session starts
	proceed               // the oldest continuation that waits is sent
	refuse                // the oldest continuation that waits is not sent
)

// decision is the answer of a scheduler to an event.
type decision struct {
	action   action
	due      time.Duration // of what starts or proceeds
	waited   bool          // what starts has waited for a slot
	finished bool          // no arrival is needed any more
}

// startSession allows one more session together with its first request, if it sends one.
func (s *scheduler) startSession() bool {
	if s.exhausted() || s.enough() { // the last session may be in hand when the dataset has run dry
		return false
	}
	s.started++
	if !s.silent {
		s.sent++
	}
	return true
}

// continueSession allows one more request of a session that has started.
func (s *scheduler) continueSession() bool {
	if s.expired || s.exhausted() {
		return false
	}
	s.sent++
	return true
}

// arrive decides on an arrival of an open loop.
func (s *scheduler) arrive(due time.Duration) decision {
	d := decision{action: drop}
	switch {
	case s.waiting > 0:
		s.waiting--
		d.action = refuse
		if s.continueSession() {
			d.action, d.due = proceed, due
		}
	case s.room():
		s.backlog = append(s.backlog, due)
		d = s.next()
		switch d.action {
		case start:
			d.waited = len(s.backlog) > 0 || d.due != due
		default:
			d.action = s.saturated()
		}
	}
	d.finished = s.finished()
	return d
}

// saturated decides on the newest arrival of the backlog, which found no free slot.
func (s *scheduler) saturated() action {
	switch s.full.Saturation {
	case plan.QueueArrivals:
	case plan.DropArrivals:
		s.backlog = s.backlog[:len(s.backlog)-1]
		s.rejected++
		return reject
	case plan.AbortArrivals:
		if len(s.backlog) > s.full.Limit {
			return abort
		}
	}
	return none
}

// ended decides on the slot of an open loop's session that has ended.
func (s *scheduler) ended() decision {
	s.vacate()
	d := s.next()
	d.finished = s.finished()
	return d
}

// raise decides on what waits for a slot when the number of slots of an open loop has
// changed.
func (s *scheduler) raise(slots int) decision {
	s.slots = slots
	d := s.next()
	d.finished = s.finished()
	return d
}

// takeSlot takes a slot of a closed loop for its next session, if one is free.
func (s *scheduler) takeSlot() bool {
	if !s.free() {
		return false
	}
	s.live++
	return true
}

// keepSlot decides on the slot of a closed loop's session that has ended: it is used
// again, unless there are fewer slots by now.
func (s *scheduler) keepSlot() bool {
	if s.live > s.slots {
		s.vacate()
		return false
	}
	return true
}

// free reports whether a slot is free.
func (s *scheduler) free() bool { return s.slots == 0 || s.live < s.slots }

// await adds a continuation that waits for an arrival.
func (s *scheduler) await() { s.waiting++ }

// stop ends all permission.
func (s *scheduler) stop() { s.stopped = true }

// expire ends the arrivals, because the duration is over. Those that wait for a slot were
// due before, so that they are still sent if the plan wants that.
func (s *scheduler) expire() {
	s.expired = true
	s.stopped = s.stopped || !s.late || len(s.backlog) == 0
}

// runDry ends the arrivals, because the dataset has no session for them. In a replay
// those of the backlog have one.
func (s *scheduler) runDry(replay bool) {
	s.dry = true
	if !replay {
		s.backlog = nil
	}
}

// next starts a session for the oldest arrival of the backlog if there is one, a slot is
// free and the bounds allow it.
func (s *scheduler) next() (d decision) {
	if len(s.backlog) > 0 && s.free() && s.startSession() {
		d = decision{action: start, due: s.backlog[0], waited: true}
		s.backlog = s.backlog[1:]
		s.live++
		s.liveMax = max(s.liveMax, s.live-s.lent.carried)
	}
	if s.full.Saturation != plan.DropArrivals {
		s.backlogMax = max(s.backlogMax, len(s.backlog))
	}
	return d
}

// room reports whether the bounds leave room for one more session after those of the
// backlog.
func (s *scheduler) room() bool {
	n := int64(len(s.backlog))
	return !s.stopped && !s.expired && !s.dry && (s.requests == 0 || s.sent+n < s.requests) && (s.sessions == 0 || s.started+n < s.sessions)
}

// exhausted reports whether no request will ever be allowed again.
func (s *scheduler) exhausted() bool {
	return s.stopped || s.expired && len(s.backlog) == 0 || s.requests > 0 && s.sent >= s.requests
}

// closed reports whether no session will ever be allowed again.
func (s *scheduler) closed() bool {
	return s.exhausted() || (s.dry && len(s.backlog) == 0) || s.enough()
}

// enough reports whether the bound of sessions is reached.
func (s *scheduler) enough() bool { return s.sessions > 0 && s.started >= s.sessions }

// finished reports whether no arrival is needed any more.
func (s *scheduler) finished() bool {
	return s.exhausted() || (s.closed() && len(s.backlog) == 0 && s.live == s.lent.carried)
}

// forsake takes back the permission of a request that waits for the limit of prefills.
func (s *scheduler) forsake() {
	s.fill.queued--
	s.sent--
}

// progress is what a scheduler has allowed so far.
type progress struct {
	sent, started       int64
	queued              int64 // requests that were allowed and are not sent yet; not in sent
	backlog, backlogMax int64
	liveMax, rejected   int64
}

func (s *scheduler) progress() progress {
	return progress{
		sent: s.sent - s.fill.queued, queued: s.fill.queued, started: s.started, backlog: int64(len(s.backlog)), backlogMax: int64(s.backlogMax),
		liveMax: int64(s.liveMax), rejected: s.rejected,
	}
}
