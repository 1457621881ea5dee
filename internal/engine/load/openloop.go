package load

import (
	"context"
	"iter"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/pace"
)

// dispatch starts sessions until the phase's bounds, its duration or somebody
// says stop. It runs in the supervisor's goroutine. In a closed loop it only
// fills the slots: each of them goes on by itself.
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
// which its slot became free; nil = the budget allows none.
func (p *Phase) successor(due time.Duration) *session {
	if !p.budget.takeSession() {
		return nil
	}
	s := p.lookahead.take()
	s.admit(due)
	return s
}

// performOpen uses the arrivals of the process at their due times, whatever the
// server does. It returns when no arrival will come any more.
func (p *Phase) performOpen(ctx context.Context) {
	next, stop := iter.Pull(p.plan.Arrivals)
	defer stop()
	wait := p.work.Pacer()
	defer wait.Close()
	p.sessions.Go(func() { p.watch(ctx, next, wait) })
	<-p.dispatched
	<-p.watched
}

// watch waits for arrivals until a session has to be started. Then it leaves the
// watch to a new goroutine and performs the session itself: the thread that was
// woken at the due time is the one that sends, and the runtime takes its time to
// schedule the other.
func (p *Phase) watch(ctx context.Context, next func() (time.Duration, bool), wait pace.Waiter) {
	for {
		offset, more := next()
		if !more || !wait.Until(p.work.Clock.At(p.start+offset), p.dispatched) {
			p.endDispatch()
			close(p.watched)
			return
		}
		if s := p.open.arrive(p.start + offset); s != nil {
			p.sessions.Go(func() { p.watch(ctx, next, wait) })
			s.perform(ctx)
			return
		}
	}
}

// endDispatch says that no arrival will come any more.
func (p *Phase) endDispatch() { p.dispatchOnce.Do(func() { close(p.dispatched) }) }

// openLoop is who waits for what in an open loop. An arrival that finds no free slot
// waits in a FIFO backlog and keeps its due time; nothing is dropped and nothing
// is forgotten. A turn that continues a session takes the next arrival. The
// dispatcher and the sessions call the methods themselves, so that nobody has to
// be woken to pass a slot on.
type openLoop struct {
	phase  *Phase
	capped bool

	mu      sync.Mutex
	slots   int             // guarded by mu; free ones, if capped
	backlog []time.Duration // guarded by mu; due times that wait for a slot, oldest first
	waiting []*session      // guarded by mu; continuations that wait for an arrival, oldest first
	live    int             // guarded by mu; sessions
	used    bench.Arrivals  // guarded by mu
}

// arrive uses one arrival: for the oldest waiting continuation if there is one,
// else for a new session. It returns the session that may start now, if any.
func (o *openLoop) arrive(due time.Duration) *session {
	p := o.phase
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.check()
	if len(o.waiting) > 0 {
		s := o.waiting[0]
		o.waiting = o.waiting[1:]
		if p.budget.takeTurn() {
			o.countArrival(due)
			s.permits <- due
		} else {
			close(s.permits)
		}
		return nil
	}
	if !p.budget.room(int64(len(o.backlog))) {
		return nil // nobody needs this arrival
	}
	o.backlog = append(o.backlog, due)
	defer o.countArrival(due)
	return o.pull()
}

// countArrival counts an arrival that was used. Call with mu held.
func (o *openLoop) countArrival(due time.Duration) {
	p := o.phase
	o.used.Add(due, p.InFlight()+int64(len(o.backlog)))
}

// arrivals returns what was counted so far; nothing of a closed loop.
func (o *openLoop) arrivals() bench.Arrivals {
	if o == nil {
		return bench.Arrivals{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.used
}

// pull returns the session for the oldest arrival of the backlog if it has a slot
// and the budget allows it. Call with mu held.
func (o *openLoop) pull() *session {
	p := o.phase
	defer func() { p.countBacklog(int64(len(o.backlog))) }()
	if len(o.backlog) == 0 || (o.capped && o.slots == 0) || !p.budget.takeSession() {
		return nil
	}
	due := o.backlog[0]
	o.backlog = o.backlog[1:]
	o.slots--
	o.live++
	s := p.lookahead.take()
	s.admit(due)
	return s
}

// ended takes the slot of a session that has ended back, and returns the session
// that gets it, if any.
func (o *openLoop) ended() *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.check()
	o.slots++
	o.live--
	return o.pull()
}

// await queues a session for an arrival; it gets its permission by s.permits.
func (o *openLoop) await(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, s)
}

// withdraw takes a permission that a session was given at the last moment: it is
// in the budget, so it has to be used.
func (o *openLoop) withdraw(s *session) (due time.Duration, ok bool) {
	o.mu.Lock() // who permits holds it from the budget to the channel
	defer o.mu.Unlock()
	select {
	case due, ok = <-s.permits:
	default:
	}
	return due, ok
}

// check ends the dispatching when nothing can be sent any more. Call with mu
// held.
func (o *openLoop) check() {
	b := &o.phase.budget
	if b.exhausted() || (b.closed() && len(o.backlog) == 0 && o.live == 0) {
		o.phase.endDispatch()
	}
}
