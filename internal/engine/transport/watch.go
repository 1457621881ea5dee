package transport

import (
	"context"
	"errors"
	"time"

	"aiperfd/internal/engine/bench"
)

// The causes with which an exchange is ended by a clock of ours.
var (
	errConnectTimeout = errors.New("no connection within the connect timeout")
	errHeadersTimeout = errors.New("no response head within the first-byte timeout")
	errIdleTimeout    = errors.New("no byte within the idle timeout")
	errTotalTimeout   = errors.New("not finished within the request timeout")
	errDrained        = errors.New("answer complete, rest of the body given up")
)

// watch bounds one exchange by the client's timeouts. Its context ends with one
// of the causes above, or with the caller's.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	opts    *Options
	timers  [4]*time.Timer // total, headers, idle, drain; nil = not started
	drainOn bool
}

const (
	timerTotal = iota
	timerHeaders
	timerIdle
	timerDrain
)

func newWatch(parent context.Context, o *Options) *watch {
	w := &watch{opts: o}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.start(timerTotal, o.TotalTimeout, errTotalTimeout)
	return w
}

func (w *watch) start(timer int, d time.Duration, cause error) {
	if d > 0 {
		w.timers[timer] = time.AfterFunc(d, func() { w.cancel(cause) })
	}
}

// requestWritten starts the wait for the response head. net/http calls it from
// its writing goroutine, at most once, before RoundTrip returns or concurrently
// with it; the timer is its own synchronisation.
func (w *watch) requestWritten() (cancel func()) {
	if w.opts.HeadersTimeout <= 0 {
		return nil
	}
	t := time.AfterFunc(w.opts.HeadersTimeout, func() { w.cancel(errHeadersTimeout) })
	return func() { t.Stop() }
}

// headersSeen starts the wait for the first byte of the body.
func (w *watch) headersSeen() { w.start(timerIdle, w.opts.IdleTimeout, errIdleTimeout) }

// read restarts the wait for the next byte.
func (w *watch) read() {
	if t := w.timers[timerIdle]; t != nil {
		t.Reset(w.opts.IdleTimeout)
	}
}

// drain bounds the rest of a body whose answer is complete.
func (w *watch) drain() {
	if !w.drainOn {
		w.drainOn = true
		w.start(timerDrain, drainTime, errDrained)
	}
}

// drained reports whether the exchange was ended by drain.
func (w *watch) drained() bool { return errors.Is(context.Cause(w.ctx), errDrained) }

func (w *watch) stop() {
	for _, t := range w.timers {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(nil)
}

// endOf maps a failure to the way a body ended.
func endOf(f *bench.Failure) bench.End {
	switch f.Class {
	case bench.TimeoutConnect, bench.TimeoutHeaders, bench.TimeoutIdle, bench.TimeoutTotal:
		return bench.EndTimeout
	case bench.Cancelled:
		return bench.EndAborted
	}
	return bench.EndReset
}
