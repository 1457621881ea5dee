package mock

import (
	"sync"
	"sync/atomic"
)

// lifecycle admits handlers until the server stops. Safe for concurrent use.
type lifecycle struct {
	stopping chan struct{} // closed by Stop: requests in service end

	mu      sync.Mutex
	stopped bool
	closed  bool
	active  sync.WaitGroup // handlers; Add under mu while not stopped
}

// enter admits a handler; ok is false once the server stops. The caller calls
// active.Done at the end.
func (l *lifecycle) enter() (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.active.Add(1)
	return true
}

// Stop ends the requests in service, with outcome OutcomeShutdown, and rejects new ones.
// It does not wait. Repeated calls have no effect.
func (l *lifecycle) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
}

// stop is Stop for holders of mu.
func (l *lifecycle) stop() {
	if !l.stopped {
		l.stopped = true
		close(l.stopping)
	}
}

// close stops the server; first is false if it was closed already.
func (l *lifecycle) close() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.closed
	l.closed = true
	l.stop()
	return first
}

// traffic counts requests. Safe for concurrent use.
type traffic struct {
	seq     atomic.Int64 // of the last inference request
	running atomic.Int64 // inference requests in service
	waiting atomic.Int64 // of these, held before their head
	peak    atomic.Int64 // largest running
	sent    atomic.Int64 // output tokens
}

// begin counts a request and returns its number.
func (t *traffic) begin() (seq int64) {
	seq = t.seq.Add(1)
	running := t.running.Add(1)
	for peak := t.peak.Load(); running > peak && !t.peak.CompareAndSwap(peak, running); {
		peak = t.peak.Load()
	}
	return seq
}

// controls is the state that clients set by requests to the server. It is safe for
// concurrent use.
type controls struct {
	asleep      atomic.Int64 // level of sleep; 0 = awake
	profiling   atomic.Bool
	profiles    atomic.Int64 // started profiles
	cacheResets atomic.Int64 // requests to reset the prefix cache
}
