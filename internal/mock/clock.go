package mock

import (
	"context"
	"time"
)

// clock is the server's clock: Unix nanoseconds at its start, advanced by the monotonic
// clock.
type clock struct {
	start   time.Time
	startNs int64
}

func newClock() clock {
	now := time.Now()
	return clock{now, now.UnixNano()}
}

func (c *clock) now() int64 { return c.startNs + int64(c.since()) }

// since returns the time since the start of the clock.
func (c *clock) since() time.Duration { return time.Since(c.start) }

// at converts a time to this clock, and time converts back.
func (c *clock) at(t time.Time) int64    { return c.startNs + int64(t.Sub(c.start)) }
func (c *clock) time(ns int64) time.Time { return c.start.Add(time.Duration(ns - c.startNs)) }

// stamped is a connection that records the arrival of its last bytes; the zero time
// before the first.
type stamped interface{ Last() time.Time }

// connKey is the context key of a request's connection, a stamped.
type connKey struct{}

// arrived returns when the bytes of a request arrived at the socket, as stamped by the
// kernel if possible, so that the wait of the handler for a core counts as service time.
// Without a stamp it is the current time.
func (c *clock) arrived(ctx context.Context) int64 {
	conn, _ := ctx.Value(connKey{}).(stamped)
	if conn == nil || conn.Last().IsZero() {
		return c.now()
	}
	return c.at(conn.Last())
}
