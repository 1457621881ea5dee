package mock

import (
	"time"

	"aiperfd/internal/mock/api"
)

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
