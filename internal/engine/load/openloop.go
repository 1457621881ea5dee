package load

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/pace"
)

// openLoop carries out what the scheduler decides on the arrivals of an open loop. The
// goroutine that waits for arrivals and those of the sessions call the methods
// themselves, so that no goroutine has to be woken to pass a slot on.
type openLoop struct {
	env     *sessionEnv
	pump    *pump
	watched chan struct{} // closed when no goroutine waits for arrivals any more
	due     atomic.Int64  // offset of the arrival for which a goroutine waits; -1 = none
	begun   int64         // sessions of a schedule that were drawn; only used by nextScheduled

	mu      sync.Mutex // held until a decision is carried out, so that sessions start in the order of their due times
	waiting []*session // guarded by mu; continuations that wait for an arrival, oldest first
	// drawn has the sessions that were taken from the pump and not started: if the phase has
	// a schedule, one for each arrival of the backlog. Guarded by mu.
	drawn []*session
	space chan struct{}  // buffered 1: a session was taken from drawn
	used  bench.Arrivals // guarded by mu
}

var _ slots = (*openLoop)(nil)

func newOpenLoop(e *sessionEnv, a *pump) *openLoop {
	o := &openLoop{env: e, pump: a, watched: make(chan struct{}), space: make(chan struct{}, 1)}
	o.due.Store(-1)
	return o
}

// takeArrivals takes the arrivals at their due times, whatever the server does. It returns
// when none is needed any more.
func (o *openLoop) takeArrivals(ctx context.Context) {
	e := o.env
	next := o.nextScheduled
	if !e.scheduled() {
		var stop func()
		next, stop = iter.Pull(e.phase.Arrivals)
		defer stop()
	}
	wait := e.work.Pacer()
	defer wait.Close()
	e.group.Go(func() { o.watchArrivals(ctx, next, wait) })
	if e.phase.Shape.Concurrency.Duration > 0 {
		e.work.climbRamp(e.phase.SlotSteps(), e.start, e.drained.done, func(limit int, _ time.Duration) {
			if s := o.raiseSlots(limit); s != nil {
				e.group.Go(func() { s.performSlot(ctx) })
			}
		})
	}
	<-e.drained.done
	<-o.watched
}

// watchArrivals waits for arrivals and launches their sessions: the thread that was woken at
// the due time is the one that sends. If a session has to wait, or starts so late that
// others may be due, it starts a new goroutine that waits for the next arrivals, and performs
// the session itself.
func (o *openLoop) watchArrivals(ctx context.Context, next func() (time.Duration, bool), wait pace.Waiter) {
	e := o.env
	for {
		offset, more := next()
		if more {
			o.due.Store(int64(e.start + offset))
			more = wait.Until(e.clock.At(e.start+offset), e.drained.done)
			o.due.Store(-1)
		}
		if !more {
			e.drained.close()
			close(o.watched)
			return
		}
		s := o.takeArrival(e.start + offset)
		if s == nil {
			continue
		}
		watchOn := func() { e.group.Go(func() { o.watchArrivals(ctx, next, wait) }) }
		if s.permit-s.due > shareArrivals {
			watchOn()
			s.performSlot(ctx)
			return
		}
		if rest := s.launch(ctx); rest != nil {
			watchOn()
			rest()
			return
		}
	}
}

// shareArrivals is how late a session starts if others send the next ones meanwhile: one
// goroutine may not be enough for the rate.
const shareArrivals = 100 * time.Microsecond

// overdue returns for how long nobody has taken the arrival that is due; 0 = none is.
func (o *openLoop) overdue() time.Duration {
	due := time.Duration(o.due.Load())
	if due < 0 {
		return 0
	}
	return max(0, o.env.clock.Now()-due)
}

// takeArrival takes one arrival. It returns the session that starts now, if any.
func (o *openLoop) takeArrival(due time.Duration) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.showNext()
	d := decide(&o.env.arbiter, func(s *scheduler) decision { return s.arrive(due) })
	if d.action != drop && d.action != refuse {
		o.used.Add(due, o.env.inSystem())
	}
	return o.carryOut(d)
}

// slotFreed implements slots.
func (o *openLoop) slotFreed(time.Duration) (successor *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.showNext()
	return o.carryOut(decide(&o.env.arbiter, (*scheduler).sessionEnded))
}

// familyEnded implements slots. A user that has finished is replaced when the next turn of
// the user would have been due, if the plan wants that.
func (o *openLoop) familyEnded(ctx context.Context, root *session, at time.Duration) (successor *session) {
	if e := o.env; e.users.replaced() {
		due := max(at, root.due+e.users.users.Gap)
		e.group.Go(func() {
			if e.waitFor(due-e.clock.Now()) && o.drawUser() {
				o.takeArrival(due).performSlot(ctx)
			}
		})
	}
	return o.slotFreed(at)
}

// drawUser draws the session of a user that replaces another one; false = none is needed.
func (o *openLoop) drawUser() bool {
	o.pump.using.RLock()
	defer o.pump.using.RUnlock()
	if decide(&o.env.arbiter, (*scheduler).closed) {
		return false
	}
	s := o.pump.takeSession()
	if s == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawn = append(o.drawn, s)
	return true
}

// raiseSlots opens one more slot, and returns the session that gets it, if any.
func (o *openLoop) raiseSlots(limit int) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.showNext()
	return o.carryOut(decide(&o.env.arbiter, func(s *scheduler) decision { return s.raiseSlots(limit) }))
}

// showNext tells the scheduler about the next session, which it takes from the pump unless
// none may start any more. Call with mu held.
func (o *openLoop) showNext() {
	e := o.env
	if len(o.drawn) == 0 && !e.scheduled() && !decide(&e.arbiter, (*scheduler).closed) {
		if s := o.pump.takeSession(); s != nil {
			o.drawn = append(o.drawn, s)
		}
	}
	if len(o.drawn) > 0 {
		e.showNext(o.drawn[0].isSilent())
	}
}

// maxDrawn bounds the sessions of a schedule that wait for a slot, since they hold their
// requests. The dataset is read no further until one of them starts; due times stay
// those of the dataset.
const maxDrawn = 256

// nextScheduled draws the next session of a phase with a schedule and returns when it is
// due, from the start of the phase; false = there is none.
func (o *openLoop) nextScheduled() (offset time.Duration, more bool) {
	e := o.env
	for o.isFull() {
		select {
		case <-o.space:
		case <-e.drained.done:
			return 0, false
		}
	}
	if e.users.replaced() && o.begun == e.phase.FirstUsers() {
		<-e.drained.done // the others replace users
		return 0, false
	}
	s := o.pump.takeSession()
	if s == nil {
		return 0, false
	}
	o.begun++
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawn = append(o.drawn, s)
	return s.offset, true
}

func (o *openLoop) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.drawn) >= maxDrawn
}

// hasUnstarted reports whether there is a session that was not started. It is called when
// all sessions have ended.
func (o *openLoop) hasUnstarted() bool { return len(o.drawn) > 0 || o.pump.hasMore() }

// releaseDrawn returns the sessions that were not started. The pump is closed, so that no
// others follow.
func (o *openLoop) releaseDrawn() (unused []*session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	unused, o.drawn = o.drawn, nil
	return unused
}

// carryOut does what was decided and returns the session that starts, if any. Call with
// mu held.
func (o *openLoop) carryOut(d decision) (started *session) {
	switch d.action {
	case none, drop:
	case reject:
		if o.env.scheduled() { // the session has no other time
			o.drawn = o.drawn[:len(o.drawn)-1]
		}
	case abort:
		o.env.stopEarly(bench.PhaseSaturated)
	case start:
		started = o.drawn[0]
		o.drawn = o.drawn[1:]
		select {
		case o.space <- struct{}{}:
		default:
		}
		started.admitAt(d.due)
		if d.waited {
			o.used.Wait(started.permit - d.due)
		}
	case proceed:
		o.oldestWaiting().permits <- d.due
	case refuse:
		close(o.oldestWaiting().permits)
	}
	if d.finished {
		o.env.drained.close()
	}
	return started
}

// oldestWaiting takes the continuation off the queue that has waited longest. Call with mu
// held.
func (o *openLoop) oldestWaiting() *session {
	s := o.waiting[0]
	o.waiting = o.waiting[1:]
	return s
}

// allowTurn implements slots. If arrivals are those of requests, the turn takes its due
// time from the next one that no earlier continuation takes.
func (o *openLoop) allowTurn(s *session) (ok bool) {
	e := o.env
	if e.scheduled() || e.phase.PerSession {
		if ok = decide(&e.arbiter, (*scheduler).continueSession); decide(&e.arbiter, (*scheduler).exhausted) {
			e.drained.close()
		}
		return ok
	}
	o.queueContinuation(s)
	select {
	case s.due, ok = <-s.permits:
	case <-e.drained.done:
		s.due, ok = o.lastPermit(s)
	}
	return ok
}

// queueContinuation queues a session for an arrival; its due time comes by s.permits.
func (o *openLoop) queueContinuation(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.permits == nil {
		s.permits = make(chan time.Duration, 1) // the sender never waits for the session
	}
	o.waiting = append(o.waiting, s)
	o.env.queueContinuation()
}

// lastPermit takes the permission that a session got at the last moment, if any: the
// request is counted, so it has to be sent.
func (o *openLoop) lastPermit(s *session) (due time.Duration, ok bool) {
	o.mu.Lock() // a permission is sent before it is released
	defer o.mu.Unlock()
	select {
	case due, ok = <-s.permits:
	default:
	}
	return due, ok
}

// arrivals returns what was counted so far; nothing of a closed loop.
func (o *openLoop) arrivals() (counted bench.Arrivals) {
	if o == nil {
		return counted
	}
	o.mu.Lock()
	counted = o.used
	o.mu.Unlock()
	made := decide(&o.env.arbiter, (*scheduler).progress)
	counted.Dropped, counted.LiveMax = made.rejected, made.liveMax
	return counted
}
