package bench

import "time"

// epochLead is how far a clock's epoch lies before its creation. It makes every
// offset of a real event greater than zero, so that zero can mean "never
// happened" in records.
const epochLead = time.Millisecond

// Clock turns monotonic instants into offsets from one epoch, and back into
// wall time. The zero Clock is not usable; make one with [NewClock]. A Clock is
// immutable and safe for concurrent use.
type Clock struct {
	epoch time.Time // carries both the wall and the monotonic reading
}

// NewClock returns a clock whose epoch lies one millisecond in the past.
func NewClock() Clock { return Clock{epoch: time.Now().Add(-epochLead)} }

// ClockAt returns the clock of an earlier run, whose epoch was at a wall time: its
// offsets turn into the wall times that they had. Its Now is of no use, because
// the epoch has no monotonic reading.
func ClockAt(wallEpoch time.Time) Clock { return Clock{epoch: wallEpoch.Round(0)} }

// Now returns the offset of this instant; always greater than zero.
func (c Clock) Now() time.Duration { return time.Since(c.epoch) }

// Offset returns the offset of t, which must carry a monotonic reading (as
// returned by time.Now).
func (c Clock) Offset(t time.Time) time.Duration { return t.Sub(c.epoch) }

// Wall returns the wall time of an offset in UTC: the wall time of the epoch
// plus the monotonic difference, so a step of the system clock during a run
// changes nothing.
func (c Clock) Wall(offset time.Duration) time.Time {
	return c.epoch.Round(0).Add(offset).UTC()
}

// UnixNano returns the wall time of an offset in nanoseconds since 1970.
func (c Clock) UnixNano(offset time.Duration) int64 { return c.Wall(offset).UnixNano() }

// At returns the instant of an offset with its monotonic reading, for timers
// and deadlines.
func (c Clock) At(offset time.Duration) time.Time { return c.epoch.Add(offset) }
