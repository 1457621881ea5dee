package engine

import (
	"maps"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// health is the state that the probes report. Safe for concurrent use.
type health struct {
	mu      sync.Mutex
	current run.Health // guarded by mu
}

func newHealth() *health {
	return &health{current: run.Health{State: run.HealthStarting, Since: time.Now().UTC(), Checks: map[string]string{}}}
}

// get returns a copy.
func (h *health) get() run.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.current
	out.Checks = maps.Clone(out.Checks)
	return out
}

// set changes the state, and the check of one part.
func (h *health) set(state, check, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current.State != state {
		h.current.State, h.current.Since = state, time.Now().UTC()
	}
	h.current.Checks[check] = value
}

// Health returns the state that the probes report.
func (e *Engine) Health() run.Health { return e.health.get() }

// Finish reports to the probes that a service for one run has finished, and whether
// the run failed. The service still answers.
func (e *Engine) Finish(failed bool) {
	if failed {
		e.health.set(run.HealthFailed, "run", "failed")
		return
	}
	e.health.set(run.HealthStopping, "run", "ended")
}
