package monitor

import (
	"sync"
	"time"
)

// Ticker waits for instants. One goroutine calls Wait; Close may be called from
// another one, once.
type Ticker interface {
	// Wait blocks until an instant and returns true, or false once the ticker is
	// closed.
	Wait(until time.Time) bool
	Close()
}

// NewTimer returns a ticker made of a timer of Go, whose wake-ups are up to a
// millisecond late if the runtime waits in steps of a millisecond. In virtual
// time they are exact.
func NewTimer() Ticker {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &goTimer{timer: t, done: make(chan struct{})}
}

type goTimer struct {
	timer *time.Timer
	done  chan struct{}
	once  sync.Once
}

var _ Ticker = (*goTimer)(nil)

// Wait implements [Ticker].
func (g *goTimer) Wait(until time.Time) bool {
	g.timer.Reset(time.Until(until))
	select {
	case <-g.timer.C:
		return true
	case <-g.done:
		g.timer.Stop()
		return false
	}
}

// Close implements [Ticker].
func (g *goTimer) Close() { g.once.Do(func() { close(g.done) }) }
