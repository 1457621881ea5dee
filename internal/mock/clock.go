package mock

import (
	"context"
	"time"

	"aiperfd/internal/mock/api"
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

// waiter waits for times of the server's clock, until the client has disconnected or the
// server stops. It belongs to the goroutine of one request.
type waiter struct {
	now      func() int64
	gone     <-chan struct{} // closed when the client has left
	stopping <-chan struct{} // closed when the server stops
	timer    *time.Timer
}

// until waits for a time. It returns at once if that has passed. The error is the reason
// to end early.
func (w *waiter) until(dueNs int64) error {
	d := time.Duration(dueNs - w.now())
	if d <= 0 {
		return w.interrupted()
	}
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	select {
	case <-w.timer.C:
		return nil
	case <-w.gone:
		return api.ErrClientGone
	case <-w.stopping:
		return errShutdown
	}
}

// interrupted returns the reason to end now, or nil. It does not wait.
func (w *waiter) interrupted() error {
	select {
	case <-w.gone:
		return api.ErrClientGone
	case <-w.stopping:
		return errShutdown
	default:
		return nil
	}
}

// forever waits until there is a reason to end, and returns it.
func (w *waiter) forever() error {
	select {
	case <-w.gone:
		return api.ErrClientGone
	case <-w.stopping:
		return errShutdown
	}
}

// news waits for a value of ch. came is false if dueNs was reached first; 0 means no due
// time.
func (w *waiter) news(ch <-chan struct{}, dueNs int64) (came bool, err error) {
	var due <-chan time.Time
	if dueNs > 0 {
		timer := time.NewTimer(time.Duration(dueNs - w.now()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ch:
		return true, nil
	case <-due:
		return false, nil
	case <-w.gone:
		return false, api.ErrClientGone
	case <-w.stopping:
		return false, errShutdown
	}
}

// stop releases the timer.
func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
