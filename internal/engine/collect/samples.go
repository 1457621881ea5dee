package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/samples"
)

// phaseSamples adds a phase to the samples of its run.
type phaseSamples struct {
	to    *samples.Recorder
	phase *plan.Phase
}

var _ Observer = (*phaseSamples)(nil)

// NewSamples returns the observer that adds a phase to the samples of its run. Requests that
// are not part of the results are left out.
func NewSamples(to *samples.Recorder, p *plan.Phase) Observer { return &phaseSamples{to, p} }

// Begin implements [Observer].
func (s *phaseSamples) Begin(p Load) { s.to.Begin(p.Start()) }

// Observe implements [Observer].
func (s *phaseSamples) Observe(rec *bench.Record) {
	if s.phase.Kind == bench.Profiling && !s.phase.Leaves(rec) {
		s.to.Observe(rec, s.phase.Name)
	}
}

// Look implements [Observer].
func (s *phaseSamples) Look(*Look) {}
