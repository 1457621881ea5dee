package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/run"
)

// The times of the watchdog.
const (
	beatEvery         = 5 * time.Second  // of the loop of the engine, which then stores ends of runs that the store has refused
	schedulerPatience = 30 * time.Second // with it; more than two attempts to store (storeTimeout)
	phasePatience     = time.Minute      // with the loops of a phase, which a slow disk may hold up
)

// checkScheduler is the check of the watchdog in [run.Health].
const checkScheduler = "scheduler"

// watchdog knows loops that must not stand still. It shares no lock with them, so that a
// deadlock of theirs does not stop it. Safe for concurrent use.
type watchdog struct {
	mu    sync.Mutex
	loops map[*pulse]struct{} // guarded by mu
}

// pulse is the last sign of life of a loop. Safe for concurrent use.
type pulse struct {
	name     string
	patience time.Duration
	began    time.Time
	last     atomic.Int64 // nanoseconds since began
}

func newWatchdog() *watchdog { return &watchdog{loops: map[*pulse]struct{}{}} }

// watch begins to watch over a loop, which has to beat more often than its patience. The
// caller must call forget.
func (w *watchdog) watch(name string, patience time.Duration) *pulse {
	p := &pulse{name: name, patience: patience, began: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loops[p] = struct{}{}
	return p
}

func (w *watchdog) forget(p *pulse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.loops, p)
}

func (p *pulse) beat() { p.last.Store(int64(time.Since(p.began))) }

// silent returns how long there was no beat.
func (p *pulse) silent() time.Duration { return time.Since(p.began) - time.Duration(p.last.Load()) }

// stalled returns the loop that stands still for the longest time; nil = none.
func (w *watchdog) stalled() (worst *pulse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.loops {
		if p.silent() > p.patience && (worst == nil || p.silent() > worst.silent()) {
			worst = p
		}
	}
	return worst
}

// judge makes a running service a failed one as long as a loop stands still.
func (w *watchdog) judge(h *run.Health) {
	if h.State != run.HealthRunning {
		return
	}
	h.Checks[checkScheduler] = "ok"
	if p := w.stalled(); p != nil {
		silent := p.silent()
		h.State, h.Since = run.HealthFailed, time.Now().Add(p.patience-silent).UTC()
		h.Checks[checkScheduler] = fmt.Sprintf("%s has not run for %v", p.name, silent.Round(time.Second))
	}
}
