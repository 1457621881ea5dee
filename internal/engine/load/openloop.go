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
	phase    *Phase
	over     chan struct{} // closed when no arrival is needed any more
	overOnce sync.Once
	watched  chan struct{} // closed when no goroutine waits for arrivals any more
	due      atomic.Int64  // offset of the arrival for which a goroutine waits; -1 = none
	begun    int           // sessions of a schedule that were drawn; only used by scheduled

	mu      sync.Mutex     // held until a decision is carried out, so that sessions start in the order of their due times
	waiting []*session     // guarded by mu; continuations that wait for an arrival, oldest first
	drawn   []*session     // guarded by mu; taken from the lookahead and not started; if the phase has a schedule, one for each arrival of the backlog
	space   chan struct{}  // buffered 1: a session was taken from drawn
	used    bench.Arrivals // guarded by mu
}

func newOpenLoop(p *Phase) *openLoop {
	o := &openLoop{phase: p, over: make(chan struct{}), watched: make(chan struct{}), space: make(chan struct{}, 1)}
	o.due.Store(-1)
	return o
}

// perform takes the arrivals at their due times, whatever the server does. It returns
// when none is needed any more.
func (o *openLoop) perform(ctx context.Context) {
	next := o.scheduled
	if o.phase.starts == nil {
		var stop func()
		next, stop = iter.Pull(o.phase.plan.Arrivals)
		defer stop()
	}
	wait := o.phase.work.Pacer()
	defer wait.Close()
	o.phase.sessions.Go(func() { o.watch(ctx, next, wait) })
	if o.phase.plan.Shape.Concurrency.Duration > 0 {
		o.phase.openSlots(o.over, func(limit int, _ time.Duration) {
			if s := o.raise(limit); s != nil {
				o.phase.sessions.Go(func() { s.perform(ctx) })
			}
		})
	}
	<-o.over
	<-o.watched
}

// watch waits for arrivals until a session has to be started. Then it starts a new
// goroutine that waits for the next ones and performs the session itself: the thread
// that was woken at the due time is the one that sends, and the other may be scheduled
// later.
func (o *openLoop) watch(ctx context.Context, next func() (time.Duration, bool), wait pace.Waiter) {
	p := o.phase
	for {
		offset, more := next()
		if more {
			o.due.Store(int64(p.start + offset))
			more = wait.Until(p.work.Clock.At(p.start+offset), o.over)
			o.due.Store(-1)
		}
		if !more {
			o.end()
			close(o.watched)
			return
		}
		if s := o.arrive(p.start + offset); s != nil {
			p.sessions.Go(func() { o.watch(ctx, next, wait) })
			s.perform(ctx)
			return
		}
	}
}

// overdue returns for how long nobody has taken the arrival that is due; 0 = none is.
func (o *openLoop) overdue() time.Duration {
	due := time.Duration(o.due.Load())
	if due < 0 {
		return 0
	}
	return max(0, o.phase.work.Clock.Now()-due)
}

// end ends the wait for arrivals: none is needed any more.
func (o *openLoop) end() { o.overOnce.Do(func() { close(o.over) }) }

// arrive takes one arrival. It returns the session that starts now, if any.
func (o *openLoop) arrive(due time.Duration) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	d := decide(o.phase, func(s *scheduler) decision { return s.arrive(due) })
	if d.action != drop && d.action != refuse {
		o.used.Add(due, o.phase.inSystem())
	}
	return o.carryOut(d)
}

// ended frees the slot of a session that has ended, and returns the session that gets
// it, if any.
func (o *openLoop) ended() *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	return o.carryOut(decide(o.phase, (*scheduler).ended))
}

// raise opens one more slot, and returns the session that gets it, if any.
func (o *openLoop) raise(limit int) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	return o.carryOut(decide(o.phase, func(s *scheduler) decision { return s.raise(limit) }))
}

// look tells the scheduler about the next session, which it takes from the lookahead
// unless none may start any more. Call with mu held.
func (o *openLoop) look() {
	p := o.phase
	if len(o.drawn) == 0 && p.starts == nil && !decide(p, (*scheduler).closed) {
		if s := p.lookahead.take(); s != nil {
			o.drawn = append(o.drawn, s)
		}
	}
	if len(o.drawn) > 0 {
		p.mu.Lock()
		p.scheduler.silent = silent(o.drawn[0].conversation)
		p.mu.Unlock()
	}
}

// maxDrawn bounds the sessions of a schedule that wait for a slot, since they hold their
// requests. The dataset is read no further until one of them starts; due times stay
// those of the dataset.
const maxDrawn = 256

// scheduled draws the next session of a phase with a schedule and returns when it is due,
// from the start of the phase; false = there is none.
func (o *openLoop) scheduled() (offset time.Duration, more bool) {
	for o.full() {
		select {
		case <-o.space:
		case <-o.over:
			return 0, false
		}
	}
	if u := o.phase.users; u != nil && u.plan.OnCompletion && o.begun == u.plan.Count {
		<-o.over // the others replace users
		return 0, false
	}
	s := o.phase.lookahead.take()
	if s == nil {
		return 0, false
	}
	o.begun++
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawn = append(o.drawn, s)
	return s.offset, true
}

func (o *openLoop) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.drawn) >= maxDrawn
}

// left reports whether there is a session that was not started. It is called when all
// sessions have ended.
func (o *openLoop) left() bool { return len(o.drawn) > 0 || o.phase.lookahead.more() }

// carryOut does what was decided and returns the session that starts, if any. Call with
// mu held.
func (o *openLoop) carryOut(d decision) (started *session) {
	switch d.action {
	case none, drop:
	case reject:
		if o.phase.starts != nil { // the session has no other time
			o.drawn = o.drawn[:len(o.drawn)-1]
		}
	case abort:
		o.phase.Stop(bench.PhaseSaturated)
	case start:
		started = o.drawn[0]
		o.drawn = o.drawn[1:]
		select {
		case o.space <- struct{}{}:
		default:
		}
		started.admit(d.due)
		if d.waited {
			o.used.Wait(started.permit - d.due)
		}
	case proceed:
		o.oldest().permits <- d.due
	case refuse:
		close(o.oldest().permits)
	}
	if d.finished {
		o.end()
	}
	return started
}

// oldest takes the continuation off the queue that has waited longest. Call with mu
// held.
func (o *openLoop) oldest() *session {
	s := o.waiting[0]
	o.waiting = o.waiting[1:]
	return s
}

// await queues a session for an arrival; its due time comes by s.permits.
func (o *openLoop) await(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, s)
	o.phase.mu.Lock()
	o.phase.scheduler.await()
	o.phase.mu.Unlock()
}

// withdraw takes the permission that a session got at the last moment, if any: the
// request is counted, so it has to be sent.
func (o *openLoop) withdraw(s *session) (due time.Duration, ok bool) {
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
	made := decide(o.phase, (*scheduler).progress)
	counted.Dropped, counted.LiveMax = made.rejected, made.liveMax
	return counted
}
