package load

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// scheduler decides when the sessions of a phase start and continue, and enforces the
// bounds of the phase: exactly so many requests and sessions are ever allowed. In an
// open loop, an arrival that finds no free slot waits in a FIFO backlog and keeps its
// due time, unless the plan wants it to be rejected or to end the phase. A turn that
// continues a session may wait for the next arrival, which it takes.
//
// It has no goroutines, clocks, channels or locks: see [arbiter] and [openLoop] for
// those. Not safe for concurrent use.
type scheduler struct {
	requests, sessions int64 // bounds; 0 = without bound
	// slots is how many sessions run at a time; 0 = without limit. Lowering it revokes
	// nothing: no slot is free until enough sessions have ended.
	slots  int
	silent bool // the next session sends no request itself, since it only starts children
	full   spec.Backlog
	late   bool // arrivals of the backlog are sent after the duration, too

	sent, started int64           // requests and sessions that were allowed
	stopped       bool            // nothing is allowed any more
	expired       bool            // the duration is over: only arrivals of the backlog are allowed
	dry           bool            // the dataset has no session any more
	live, liveMax int             // sessions that have a slot, with those of earlier phases
	waiting       int             // continuations that wait for an arrival
	backlog       []time.Duration // due times of arrivals that wait for a slot, oldest first
	backlogMax    int
	rejected      int64

	fill    fills   // requests without content
	overlap overlap // with other phases
}

// newScheduler returns the scheduler of a phase. Limits with a ramp begin with one.
func newScheduler(p *spec.Phase) scheduler {
	s := scheduler{
		requests: p.Requests, sessions: p.Sessions, slots: p.Concurrency,
		full: p.Backlog, late: p.Kind == bench.Profiling && p.Grace != 0,
	}
	if p.Shape.Concurrency.Duration > 0 {
		s.slots = 1
		if p.Part != nil {
			s.slots = noSlots // the first slot of the ramp may be another load generator's
		}
	}
	s.fill.limit = p.Prefill
	if p.Shape.Prefill.Duration > 0 {
		s.fill.limit = min(1, p.Prefill)
	}
	return s
}

// noSlots is the number of slots before the ramp of a phase opens the first one.
const noSlots = -1

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
	case s.hasRoom():
		s.backlog = append(s.backlog, due)
		d = s.startNext()
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
	case spec.QueueArrivals:
	case spec.DropArrivals:
		s.backlog = s.backlog[:len(s.backlog)-1]
		s.rejected++
		return reject
	case spec.AbortArrivals:
		if len(s.backlog) > s.full.Limit {
			return abort
		}
	}
	return none
}

// sessionEnded decides on the slot of an open loop's session that has ended.
func (s *scheduler) sessionEnded() decision {
	s.freeSlot()
	d := s.startNext()
	d.finished = s.finished()
	return d
}

// raiseSlots decides on what waits for a slot when the number of slots of an open loop has
// changed.
func (s *scheduler) raiseSlots(slots int) decision {
	s.slots = slots
	d := s.startNext()
	d.finished = s.finished()
	return d
}

// takeSlot takes a slot of a closed loop for its next session, if one is free.
func (s *scheduler) takeSlot() bool {
	if !s.hasSlot() {
		return false
	}
	s.live++
	return true
}

// keepSlot decides on the slot of a closed loop's session that has ended: it is used
// again, unless there are fewer slots by now.
func (s *scheduler) keepSlot() bool {
	if s.live > s.slots {
		s.freeSlot()
		return false
	}
	return true
}

// hasSlot reports whether a slot is free.
func (s *scheduler) hasSlot() bool { return s.slots == 0 || s.live < s.slots }

// queueContinuation adds a continuation that waits for an arrival.
func (s *scheduler) queueContinuation() { s.waiting++ }

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

// startNext starts a session for the oldest arrival of the backlog if there is one, a slot is
// free and the bounds allow it.
func (s *scheduler) startNext() (d decision) {
	if len(s.backlog) > 0 && s.hasSlot() && s.startSession() {
		d = decision{action: start, due: s.backlog[0], waited: true}
		s.backlog = s.backlog[1:]
		s.live++
		s.liveMax = max(s.liveMax, s.live-s.overlap.inherited)
	}
	if s.full.Saturation != spec.DropArrivals {
		s.backlogMax = max(s.backlogMax, len(s.backlog))
	}
	return d
}

// hasRoom reports whether the bounds leave room for one more session after those of the
// backlog.
func (s *scheduler) hasRoom() bool {
	n := int64(len(s.backlog))
	if s.stopped || s.expired || s.dry {
		return false
	}
	return (s.requests == 0 || s.sent+n < s.requests) && (s.sessions == 0 || s.started+n < s.sessions)
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
	return s.exhausted() || (s.closed() && len(s.backlog) == 0 && s.live == s.overlap.inherited)
}

// withdrawRequest takes back the permission of a request that waits for the limit of prefills.
func (s *scheduler) withdrawRequest() {
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
		sent: s.sent - s.fill.queued, queued: s.fill.queued, started: s.started,
		backlog: int64(len(s.backlog)), backlogMax: int64(s.backlogMax),
		liveMax: int64(s.liveMax), rejected: s.rejected,
	}
}

// overlap is what a scheduler shares with those of other phases.
type overlap struct {
	inherited int  // sessions of earlier phases that have a slot
	passesOn  bool // a later phase has begun: slots that become free are its own
	freed     int  // slots that became free since then and are not passed on
}

// inheritFrom takes over the slots and prefills that the scheduler of an earlier phase uses, and
// returns how many these are.
func (s *scheduler) inheritFrom(from *scheduler) int {
	slots, fills := from.live-from.overlap.inherited, from.fill.now-from.fill.inherited
	s.live, s.overlap.inherited = s.live+slots, s.overlap.inherited+slots
	s.fill.now, s.fill.inherited = s.fill.now+fills, s.fill.inherited+fills
	from.overlap.passesOn, from.fill.passesOn = true, true
	return slots + fills
}

// freeSlot gives a slot back.
func (s *scheduler) freeSlot() {
	s.live--
	if s.overlap.passesOn {
		s.overlap.freed++
	}
}

// endInherited makes the slot of a session of an earlier phase, which has ended, one of this
// phase; false = this phase does not need it.
func (s *scheduler) endInherited() bool {
	s.overlap.inherited--
	if s.overlap.passesOn {
		s.live--
	}
	return !s.overlap.passesOn
}
