package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// stopReason is the state reason of runs that the end of the process stops.
const stopReason = "process is stopping"

// decodeTime is how long a run that is stopping has after the grace period, to decode the
// answers that have come.
const decodeTime = 5 * time.Second

// stop ends the work of an engine.
type stop struct{ engine *Engine }

// run stops the active runs and waits until they have ended. Runs that wait for requests in
// flight after the grace period are cancelled by force: somebody may have cancelled them
// before, with a longer period.
func (s stop) run(ctx context.Context, ended <-chan struct{}) error {
	e := s.engine
	began := time.Now()
	e.health.set(run.HealthStopping, "engine", "stopping")
	active, log := e.queue.Active(), e.opts.Log
	level := zerolog.InfoLevel
	if len(active) == 0 {
		level = zerolog.DebugLevel
	}
	log.WithLevel(level).Int("active_runs", len(active)).Dur("grace", e.opts.StopGrace).Dur("timeout", e.opts.StopTimeout).
		Msg("stopping: new runs are refused, and active runs are cancelled")
	for _, j := range active {
		j.Cancel(ctx, run.CancelRequest{MaxGrace: e.opts.StopGrace, Reason: stopReason, Passing: true})
	}
	force, timeout := time.After(e.opts.StopGrace+decodeTime), time.After(e.opts.StopTimeout)
	for {
		select {
		case <-ended:
			log.WithLevel(level).Dur("took", time.Since(began)).Msg("stopping: no run is active")
			return nil
		case <-force:
			for _, j := range e.queue.Active() {
				if j.item.View().State == bench.StateStopping {
					log.Warn().Str("run", j.item.ID()).Msg("stopping: the requests of the run are aborted, because its grace period is too long")
					j.Cancel(ctx, run.CancelRequest{Force: true})
				}
			}
		case <-timeout:
			var ids []string
			for _, j := range e.queue.Active() {
				ids = append(ids, j.item.ID())
			}
			return fmt.Errorf("stop: after %v these runs have not ended; the next start computes their results: %s",
				e.opts.StopTimeout, strings.Join(ids, ", "))
		}
	}
}
