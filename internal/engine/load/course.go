package load

import (
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
)

// course is how far a phase is: what its scheduler allows, what was counted, and what is
// over. It is safe for concurrent use.
type course struct {
	arbiter
	clock bench.Clock
	count counts

	stopped *latch // no more may be sent, except from the backlog
	halted  *latch // nothing may be sent
	drained *latch // no session starts any more, except from the backlog: nobody waits for arrivals or slots
	unread  *latch // no session is prepared any more
	sent    *latch // nothing is left to send
	ended   *latch // all requests have ended

	stopReason atomic.Pointer[bench.PhaseEnd] // why it was stopped early; nil = it was not
}

func newCourse(clock bench.Clock, s scheduler) course {
	return course{
		arbiter: arbiter{scheduler: s}, clock: clock,
		stopped: newLatch(), halted: newLatch(), drained: newLatch(), unread: newLatch(), sent: newLatch(), ended: newLatch(),
	}
}

// latch is closed once.
type latch struct {
	once sync.Once
	done chan struct{}
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

func (l *latch) close() { l.once.Do(func() { close(l.done) }) }

// closed reports whether the latch is closed.
func (l *latch) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// counts are the live counters of a phase that the scheduler does not keep.
type counts struct {
	completed, cancelled      atomic.Int64
	cancelledByTest           atomic.Int64
	sessionsDone, sessionsCut atomic.Int64
	turns, skipped            atomic.Int64
	pendingTurns              atomic.Int64 // of started sessions, not sent yet
	pauses                    atomic.Int64 // requests of a closed loop that waited because the one before had failed
	failing                   atomic.Int64 // requests in a row that have failed
	sentEnd, requestsEnd      atomic.Int64 // offsets
	durationReached           atomic.Bool
}

// countReturned counts a request that has ended; nil = without a failure so far.
func (c *counts) countReturned(failure *bench.Failure) {
	switch {
	case failure != nil && failure.Class == bench.Cancelled:
		c.cancelled.Add(1)
	case failure != nil && failure.Class == bench.CancelledByTest:
		c.cancelledByTest.Add(1)
	default:
		c.completed.Add(1)
	}
}

// returned returns how many requests have ended.
func (c *counts) returned() int64 {
	return c.completed.Load() + c.cancelled.Load() + c.cancelledByTest.Load()
}

// stopEarly ends sending for a reason; the first reason stays. Requests in flight go on.
func (c *course) stopEarly(why bench.PhaseEnd) {
	if c.stopReason.CompareAndSwap(nil, &why) {
		c.stopSending()
	}
}

// stopSending ends sending for good.
func (c *course) stopSending() { c.endSending((*scheduler).stop) }

// endSending ends sending, except for what the scheduler still allows.
func (c *course) endSending(how func(*scheduler)) {
	over := decide(&c.arbiter, func(s *scheduler) bool { how(s); return s.exhausted() })
	if over {
		c.unread.close()
		c.halted.close()
		c.markSent()
	}
	c.stopped.close()
	c.drained.close()
}

// markSent stores the time at which nothing was left to send, once.
func (c *course) markSent() {
	c.count.sentEnd.CompareAndSwap(0, int64(c.clock.Now()))
	c.sent.close()
}

// waitFor waits for a time; false = the phase was stopped before it was over.
func (c *course) waitFor(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.stopped.done:
		return false
	}
}

// inFlight returns how many requests are in flight.
func (c *course) inFlight() int64 {
	return decide(&c.arbiter, (*scheduler).progress).sent - c.count.returned()
}

// inSystem returns how many requests are in flight or wait in the backlog.
func (c *course) inSystem() int64 {
	now := decide(&c.arbiter, (*scheduler).progress)
	return now.sent + now.queued + now.backlog - c.count.returned()
}
