package pace

import (
	"time"

	"golang.org/x/sys/unix"
)

// near is the part of a wait that is not left to a timer of the runtime. It is
// more than such a timer is late, and little enough for a wait that cannot be
// interrupted.
const near = 2 * time.Millisecond

// precise waits on the kernel's high-resolution clock: clock_nanosleep(2) to an
// absolute time, with the slack of the thread's timers, which is 50 µs by
// default, taken off by prctl(2) PR_SET_TIMERSLACK. The runtime's clock and
// CLOCK_MONOTONIC are one clock with different origins.
type precise struct {
	timers
	base time.Time // the instant at which CLOCK_MONOTONIC was mono
	mono time.Duration
	lead lead
}

var _ Waiter = (*precise)(nil)

// Precise returns a Waiter whose wake-ups come some tens of microseconds after
// the instant while a processor is free, and less where the lead that it learns
// compensates for it. If the system has no such clock, it is [Timers]. It cannot
// be used in virtual time.
func Precise() Waiter {
	p := &precise{timers: newTimers()}
	best := time.Hour
	for range 5 { // the reading that was interrupted least
		var ts unix.Timespec
		before := time.Now()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
			return p.timers
		}
		// The clock was read after before, so waits end late rather than early.
		if took := time.Since(before); took < best {
			best, p.base, p.mono = took, before, time.Duration(ts.Nano())
		}
	}
	return p
}

func (p *precise) Until(at time.Time, done <-chan struct{}) bool {
	left := time.Until(at)
	if left > near {
		if !p.timers.Until(at.Add(-near), done) {
			return false
		}
		left = time.Until(at)
	}
	if left > 0 {
		p.sleep(at)
	}
	return !closed(done)
}

// sleep sleeps until shortly before the instant and spins until it has come.
func (p *precise) sleep(at time.Time) {
	now := time.Now()
	target := at.Add(-p.lead.take(now))
	if target.After(now) {
		wake := unix.NsecToTimespec(int64(p.mono + target.Sub(p.base)))
		// The slack belongs to the thread, which may be another one each time.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &wake, nil) == unix.EINTR {
			continue // by a signal; the target is absolute
		}
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the thread's default
		now = time.Now()
		p.lead.woke(now.Sub(target))
	}
	for woke := now; now.Before(at); now = time.Now() {
		p.lead.spun += now.Sub(woke)
		woke = now
	}
}
