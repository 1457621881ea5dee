package bench

import "time"

// epochLead is the time between a clock's epoch and its creation. It makes the
// offset of every event greater than zero, so that zero means "never" in records.
const epochLead = time.Millisecond

// Clock converts between monotonic times, offsets from an epoch, and wall-clock
// times. The zero Clock is not valid; use [NewClock]. A Clock is immutable and safe
// for concurrent use.
type Clock struct {
	epoch time.Time     // has a wall-clock and a monotonic reading
	shift time.Duration // from the wall-clock reading of the epoch to the wall-clock time that it stands for
}

// NewClock returns a clock with an epoch one millisecond in the past.
func NewClock() Clock { return Clock{epoch: time.Now().Add(-epochLead)} }

// ClockFrom returns a clock with an epoch in the past, which has a monotonic reading, and the wall-clock time that it
// stands for: that of another machine, whose clock several load generators of a run share.
func ClockFrom(epoch, wall time.Time) Clock {
	return Clock{epoch: epoch, shift: wall.Round(0).Sub(epoch.Round(0))}
}

// ClockAt returns a clock with an epoch at a wall-clock time. It converts the
// offsets of an earlier run into wall-clock times. Its Now must not be used, because
// the epoch has no monotonic reading.
func ClockAt(wallEpoch time.Time) Clock { return Clock{epoch: wallEpoch.Round(0)} }

// Now returns the current offset, > 0.
func (c Clock) Now() time.Duration { return time.Since(c.epoch) }

// Offset returns the offset of t, which must have a monotonic reading, as times
// returned by [time.Now] have.
func (c Clock) Offset(t time.Time) time.Duration { return t.Sub(c.epoch) }

// Wall returns the wall-clock time of an offset, in UTC: that of the epoch plus the
// offset. Steps of the system clock during a run do not affect it.
func (c Clock) Wall(offset time.Duration) time.Time {
	return c.epoch.Round(0).Add(c.shift + offset).UTC()
}

// UnixNano returns the wall-clock time of an offset in nanoseconds since 1970.
func (c Clock) UnixNano(offset time.Duration) int64 { return c.Wall(offset).UnixNano() }

// At returns the time of an offset with a monotonic reading, for timers and
// deadlines.
func (c Clock) At(offset time.Duration) time.Time { return c.epoch.Add(offset) }
