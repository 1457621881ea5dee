// Package pace waits for instants: with the timers of the runtime, or, if the system
// supports it, to within some tens of microseconds.
//
// A timer of the Go runtime fires up to a millisecond late when the process is
// idle, because the poller that it wakes from counts in milliseconds. That is
// more than the whole schedule lag that a load generator may have. [Precise]
// leaves only the far part of a wait to a timer and hands the rest to the
// kernel's high-resolution clock.
package pace

import "time"

// Waiter waits for one instant after the other. It belongs to one goroutine.
type Waiter interface {
	// Until returns true at the instant at, which carries a monotonic reading, or
	// later, never earlier; an instant that has passed is no wait. It returns
	// false if done is closed; that may be noticed only at the instant itself if
	// it is less than two milliseconds away.
	Until(at time.Time, done <-chan struct{}) bool
	// Close releases the Waiter; it must not be used afterwards.
	Close()
}

// timers waits with one timer of the runtime.
type timers struct{ timer *time.Timer }

var _ Waiter = timers{}

// Timers returns a Waiter that uses a timer of the runtime: to the nanosecond in
// the virtual time of testing/synctest, up to about a millisecond late outside.
func Timers() Waiter { return newTimers() }

func newTimers() timers {
	t := timers{time.NewTimer(time.Hour)}
	t.timer.Stop()
	return t
}

func (t timers) Until(at time.Time, done <-chan struct{}) bool {
	t.timer.Reset(max(0, time.Until(at)))
	select {
	case <-t.timer.C:
		return !closed(done)
	case <-done:
		return false
	}
}

func (t timers) Close() { t.timer.Stop() }

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Bounds of a lead.
const (
	maxLead   = 80 * time.Microsecond
	leadShift = 4  // a sleep moves the lead by a sixteenth of what it missed by
	spinShare = 20 // at most a twentieth of the time is spun away
)

// lead is how much earlier than the instant a sleep has to end, so that the
// wake-up, which takes a while, comes just in time. It follows the wake-ups that
// were seen. One that comes early is spun away, within a share of all time.
type lead struct {
	size  time.Duration
	spun  time.Duration
	began time.Time // when spinning was first accounted for
}

// take returns how much earlier to set the wake-up of a wait that begins at
// now: nothing, if too much time was spun away already.
func (l *lead) take(now time.Time) time.Duration {
	if l.began.IsZero() {
		l.began = now
	}
	if l.spun*spinShare > now.Sub(l.began) {
		return 0
	}
	return l.size
}

// woke accounts for a wake-up that came so much later than it was set for.
func (l *lead) woke(late time.Duration) {
	l.size += (min(max(late, 0), maxLead) - l.size) >> leadShift
}
