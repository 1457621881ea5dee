package engine

import (
	"time"

	"aiperfd/internal/run"
)

// Health returns what the probes say.
func (e *Engine) Health() run.Health {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.health
	h.Checks = map[string]string{}
	for k, v := range e.health.Checks {
		h.Checks[k] = v
	}
	return h
}

// Finish tells the probes that a service of one run has done its work, and whether
// that failed. The service still answers.
func (e *Engine) Finish(failed bool) {
	if failed {
		e.setHealth(run.HealthFailed, "run", "failed")
		return
	}
	e.setHealth(run.HealthStopping, "run", "ended")
}

func (e *Engine) setHealth(state, check, value string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.health.State != state {
		e.health.State, e.health.Since = state, time.Now().UTC()
	}
	e.health.Checks[check] = value
}

// warn logs a store failure that does not stop a run.
func (e *Engine) warn(err error) {
	if err != nil {
		e.opts.Log.Error().Err(err).Msg("store run")
		e.setHealth(run.HealthRunning, "store", err.Error())
	}
}
