package transport

import (
	"context"
	"errors"
	"time"

	"aiperfd/internal/engine/bench"
)

// timeouts limits one exchange by the client's timeouts: it ends the context of the
// exchange with one of the causes above.
type timeouts struct {
	cancel  context.CancelCauseFunc
	opts    *Options
	planned bench.Cancellation
	timers  [4]*time.Timer // total, headers, idle, drain; nil = not started
	drainOn bool
}

const (
	timerTotal = iota
	timerHeaders
	timerIdle
	timerDrain
)

// startTimeouts returns the context of an exchange that starts now, and its timeouts.
// They must be stopped.
func startTimeouts(parent context.Context, o *Options, planned bench.Cancellation) (context.Context, *timeouts) {
	ctx, cancel := context.WithCancelCause(parent)
	t := &timeouts{cancel: cancel, opts: o, planned: planned}
	t.start(timerTotal, o.TotalTimeout, errTotalTimeout)
	return ctx, t
}

func (t *timeouts) start(timer int, d time.Duration, cause error) {
	if d > 0 {
		t.timers[timer] = time.AfterFunc(d, func() { t.cancel(cause) })
	}
}

// requestWritten starts the wait for the response head, and the time after which the
// request is cancelled on purpose. net/http calls it from its writing goroutine, at most
// once, before RoundTrip returns or concurrently with it; the timers are their own
// synchronisation. headers stops the wait, done both.
func (t *timeouts) requestWritten() (headers, done func()) {
	headers, done = func() {}, func() {}
	if t.opts.HeadersTimeout > 0 {
		timer := time.AfterFunc(t.opts.HeadersTimeout, func() { t.cancel(errHeadersTimeout) })
		headers = func() { timer.Stop() }
	}
	if c := t.planned; c.On {
		timer := time.AfterFunc(c.After, func() { t.cancel(CancelWith(c.Failure(""))) })
		done = func() { timer.Stop() }
	}
	return headers, done
}

// headersSeen starts the wait for the first byte of the body.
func (t *timeouts) headersSeen() { t.start(timerIdle, t.opts.IdleTimeout, errIdleTimeout) }

// read restarts the wait for the next byte.
func (t *timeouts) read() {
	if timer := t.timers[timerIdle]; timer != nil {
		timer.Reset(t.opts.IdleTimeout)
	}
}

// drain limits the time for the rest of a body whose response is complete.
func (t *timeouts) drain() {
	if !t.drainOn {
		t.drainOn = true
		t.start(timerDrain, drainTime, errDrained)
	}
}

// drained reports whether the context of an exchange was ended by drain.
func drained(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errDrained) }

func (t *timeouts) stop() {
	for _, timer := range t.timers {
		if timer != nil {
			timer.Stop()
		}
	}
	t.cancel(nil)
}

// endOf maps a failure to the way a body ended.
func endOf(f *bench.Failure) bench.End {
	switch f.Class {
	case bench.TimeoutConnect, bench.TimeoutSend, bench.TimeoutHeaders, bench.TimeoutIdle, bench.TimeoutTotal:
		return bench.EndTimeout
	case bench.Cancelled, bench.CancelledByTest:
		return bench.EndAborted
	}
	return bench.EndReset
}
