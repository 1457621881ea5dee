package engine

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// How the store is watched.
const (
	storeEvery    = 10 * time.Second // between two checks
	storeTimeout  = 10 * time.Second // of a check
	storePatience = time.Minute      // of failed checks, until the service has failed
)

// checkStore is the check of the store in [run.Health].
const checkStore = "store"

// health is the state that the probes report. Safe for concurrent use.
type health struct {
	mu      sync.Mutex
	current run.Health // guarded by mu
	bad     time.Time  // guarded by mu; since when the store fails; zero = it works
	checked bool       // guarded by mu; the store was checked
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

// set changes the state, and the check of one part. A service that is stopping does not
// go back, and one that has failed stays so, unless its store was the reason.
func (h *health) set(state, check, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current.Checks[check] = value
	if state == run.HealthFailed {
		h.bad = time.Time{}
		h.enter(state)
		return
	}
	last := h.current.State
	if last != run.HealthStopping && (last != run.HealthFailed || !h.bad.IsZero()) {
		h.enter(state)
	}
}

// count changes the counts of recovered runs.
func (h *health) count(change func(*run.Health)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.current)
}

// enter changes the state. Call it with mu held.
func (h *health) enter(state string) {
	if h.current.State != state {
		h.current.State, h.current.Since = state, time.Now().UTC()
	}
}

// store notes whether the store works. A running service fails when the store has not
// worked for a minute, and runs again when it works again. Nothing else changes the state.
func (h *health) store(err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.bad
	h.checked = true
	if err == nil {
		h.bad, h.current.Checks[checkStore] = time.Time{}, "ok"
		if h.current.State == run.HealthFailed && !before.IsZero() {
			h.enter(run.HealthRunning)
		}
		return !before.IsZero()
	}
	h.current.Checks[checkStore] = err.Error()
	if before.IsZero() {
		h.bad = time.Now()
	} else if h.current.State == run.HealthRunning && time.Since(before) >= storePatience {
		h.enter(run.HealthFailed)
		return true
	}
	return before.IsZero()
}

// storeFails reports whether the last check of the store, or change in it, has failed, or
// there was none yet.
func (h *health) storeFails() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.checked || !h.bad.IsZero()
}

// errNoAnswer is the fault of a store that does not answer.
var errNoAnswer = errors.New("the data directory does not answer")

// storeWatch watches over the store of an engine, and logs what its watchdog finds.
type storeWatch struct{ engine *Engine }

// run checks the store until ctx ends. A check that hangs counts as a failed one.
func (w storeWatch) run(ctx context.Context) {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	results := make(chan error, 1) // one check at a time, so that it never blocks
	check := func() {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, storeTimeout)
			defer cancel()
			results <- w.engine.opts.Store.Ping(ctx)
		}()
	}
	check() // no run starts before
	for checking, stalled := true, false; ; {
		select {
		case <-tick.C:
			stalled = w.stalls(stalled)
			if checking {
				w.note(errNoAnswer)
				continue
			}
			checking = true
			check()
		case err := <-results:
			checking = false
			if ctx.Err() == nil {
				w.note(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// note notes the result of a check, and logs when the store begins and ends to fail.
func (w storeWatch) note(err error) {
	e := w.engine
	changed := e.health.store(err)
	if err == nil {
		e.queue.Wake()
	}
	if !changed {
		return
	}
	h := e.health.get()
	if err != nil {
		e.opts.Log.Error().Err(err).Str("state", h.State).Msg("the data directory cannot be used")
		return
	}
	e.opts.Log.Info().Str("state", h.State).Msg("the data directory can be used again")
}

// stalls logs when a loop begins and ceases to stand still, and returns whether one does.
func (w storeWatch) stalls(before bool) bool {
	log, h := w.engine.opts.Log, w.engine.Health()
	p := w.engine.watchdog.stalled()
	switch now := p != nil; {
	case now && !before:
		log.Error().Str("state", h.State).Msgf("watchdog: %s has not run for %v", p.name, p.silent().Round(time.Second))
		return true
	case before && !now:
		log.Info().Str("state", h.State).Msg("watchdog: all loops run again")
		return false
	}
	return before
}

// Health returns the state that the probes report. It waits for no run and no disk.
func (e *Engine) Health() run.Health {
	h := e.health.get()
	e.watchdog.judge(&h)
	return h
}

// Fail reports to the probes that a part of the service has failed for good.
func (e *Engine) Fail(part string, fault error) { e.health.set(run.HealthFailed, part, fault.Error()) }

// Finish reports to the probes that a service for one run has finished, and whether
// the run failed. The service still answers.
func (e *Engine) Finish(failed bool) {
	if failed {
		e.health.set(run.HealthFailed, "run", "failed")
		return
	}
	e.health.set(run.HealthStopping, "run", "ended")
}
