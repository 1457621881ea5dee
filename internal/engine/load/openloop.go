package load

import (
	"context"
	"iter"
	"sync"
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

	mu      sync.Mutex     // held until a decision is carried out, so that sessions start in the order of their due times
	waiting []*session     // guarded by mu; continuations that wait for an arrival, oldest first
	drawn   []*session     // guarded by mu; taken from the lookahead and not started; of a replay, one for each arrival of the backlog
	space   chan struct{}  // buffered 1: a session was taken from drawn
	used    bench.Arrivals // guarded by mu
}

func newOpenLoop(p *Phase) *openLoop {
	return &openLoop{phase: p, over: make(chan struct{}), watched: make(chan struct{}), space: make(chan struct{}, 1)}
}

// perform takes the arrivals at their due times, whatever the server does. It returns
// when none is needed any more.
func (o *openLoop) perform(ctx context.Context) {
	next := o.scheduled
	if o.phase.replay == nil {
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
		if !more || !wait.Until(p.work.Clock.At(p.start+offset), o.over) {
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
	if len(o.drawn) == 0 && p.replay == nil && !decide(p, (*scheduler).closed) {
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

// maxDrawn bounds the sessions of a replay that wait for a slot, since they hold their
// requests. The dataset is read no further until one of them starts; due times stay
// those of the dataset.
const maxDrawn = 256

// scheduled draws the next session of a replay and returns when it is due, from the
// start of the phase; false = there is none.
func (o *openLoop) scheduled() (offset time.Duration, more bool) {
	for o.full() {
		select {
		case <-o.space:
		case <-o.over:
			return 0, false
		}
	}
	s := o.phase.lookahead.take()
	if s == nil {
		return 0, false
	}
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
	case start:
		started = o.drawn[0]
		o.drawn = o.drawn[1:]
		select {
		case o.space <- struct{}{}:
		default:
		}
		started.admit(d.due)
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
func (o *openLoop) arrivals() bench.Arrivals {
	if o == nil {
		return bench.Arrivals{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.used
}
