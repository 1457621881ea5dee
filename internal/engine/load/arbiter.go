package load

import (
	"slices"
	"sync"
)

// freed is what a phase gives back that is waiting for its last answers, while the next
// phase sends.
type freed uint8

const (
	freedSlot    freed = iota // of a session that has ended
	freedPrefill              // of a request that has got its first content, or has ended
)

// arbiter lets the goroutines of a phase ask its scheduler, one at a time. Nothing is
// locked while its mutex is held, except for that of a later phase.
type arbiter struct {
	mu        sync.Mutex
	scheduler scheduler // guarded by mu
	// fillQueue has the requests that wait for the limit of prefills, oldest first. An element
	// is closed when its request may be sent. Guarded by mu.
	fillQueue []chan struct{}
	later     chan<- freed // guarded by mu; takes what becomes free once a later phase has begun; nil = none has
}

// decide calls a method of the scheduler.
func decide[T any](a *arbiter, f func(*scheduler) T) T {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.passOn()
	return f(&a.scheduler)
}

// passOn gives what has become free to the next phase, if it has begun. Call with mu held.
func (a *arbiter) passOn() {
	s := &a.scheduler
	for ; s.overlap.freed > 0; s.overlap.freed-- {
		a.later <- freedSlot
	}
	for ; s.fill.freed > 0; s.fill.freed-- {
		a.later <- freedPrefill
	}
}

// inheritFrom counts the slots and prefills that earlier phases still use as used. What
// becomes free of them comes out of the channel that it returns; nil = they use nothing.
func (a *arbiter) inheritFrom(earlier []*arbiter) <-chan freed {
	n := 0
	for _, e := range earlier {
		e.mu.Lock()
		defer e.mu.Unlock()
		a.mu.Lock()
		n += a.scheduler.inheritFrom(&e.scheduler)
		a.mu.Unlock()
	}
	if n == 0 {
		return nil
	}
	all := make(chan freed, n) // so that no earlier phase waits for this one
	for _, e := range earlier {
		e.later = all
	}
	return all
}

// showNext tells the scheduler whether the next session sends no request itself.
func (a *arbiter) showNext(silent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduler.silent = silent
}

// queueContinuation adds a continuation that waits for an arrival.
func (a *arbiter) queueContinuation() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduler.queueContinuation()
}

// requestFill returns nil if one more request may be sent now, otherwise a channel that is
// closed when it may.
func (a *arbiter) requestFill() (turn chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scheduler.fill.request() {
		return nil
	}
	turn = make(chan struct{})
	a.fillQueue = append(a.fillQueue, turn)
	return turn
}

// withdrawFill takes back a request that waits, which is then no longer counted as sent. It
// returns false if the request was allowed at the last moment.
func (a *arbiter) withdrawFill(turn chan struct{}) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.fillQueue, turn)
	if i < 0 {
		return false
	}
	a.fillQueue = slices.Delete(a.fillQueue, i, i+1)
	a.scheduler.withdrawRequest()
	return true
}

// endFill ends the prefill of a request.
func (a *arbiter) endFill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduler.fill.end()
	a.passOn()
	a.admitFills()
}

// limitFills sets the limit of prefills.
func (a *arbiter) limitFills(limit int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduler.fill.limit = limit
	a.admitFills()
}

// admitFills lets as many requests as the limit allows go on. Call with mu held.
func (a *arbiter) admitFills() {
	for a.scheduler.fill.admit() {
		close(a.fillQueue[0])
		a.fillQueue = a.fillQueue[1:]
	}
}
