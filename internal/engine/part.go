package engine

import (
	"context"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// Part is what a run knows of the larger run that it is a part of; other load generators perform the other parts.
// It is safe for concurrent use.
type Part interface {
	// Clock returns the clock of the larger run. Its epoch is in the past.
	Clock() bench.Clock
	// Worker returns the name of this load generator, which is in its records.
	Worker() string
	// Share returns what is performed here of a phase.
	Share(p *spec.Phase) *spec.Share
	// Meet returns when all load generators are ready for a phase: when they begin it, which is soon, and the number of
	// its first session. after is the number after the last session that was begun here. The error says why the others
	// will not come; it is that of ctx if ctx ends first.
	Meet(ctx context.Context, phase int, after int64) (start time.Time, first int64, err error)
	// Show takes the state of a phase about once per second, and when all its records are in. It must not block, and
	// does not keep the set.
	Show(p *spec.Phase, stats *bench.PhaseStats, set *measure.Set)
	// ShowSecond takes what happened in a second, a moment after it. It must not block.
	ShowSecond(w series.Window)
	// Ended takes what is known at the end of the run that its records do not tell.
	Ended(e *report.Ending)
}

// SubmitPart queues a part of a larger run; see [Engine.Submit].
func (e *Engine) SubmitPart(ctx context.Context, doc *config.Document, s run.Submission, part Part) (*run.Run, error) {
	return e.submit(ctx, doc, s, part)
}

// showEvery is how many looks of a recorder there are between two states that are shown to a part.
const showEvery = 4

// showPart returns the observer that shows the state of each phase to the larger run; it is zero without one.
func showPart(to Part) collect.RunObserver {
	if to == nil {
		return collect.RunObserver{}
	}
	return collect.RunObserver{Phase: func(p *spec.Phase, set *measure.Set) collect.Observer {
		looks := 0
		return collect.Observer{Look: func(l *collect.Look) {
			if looks++; looks%showEvery == 0 || l.Last {
				to.Show(p, &l.Stats, set)
			}
		}}
	}}
}
