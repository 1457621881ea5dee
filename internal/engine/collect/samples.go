package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/samples"
)

// phaseSamples adds a phase to the samples of its run.
type phaseSamples struct {
	to    *samples.Recorder
	phase *spec.Phase
}

var _ Observer = (*phaseSamples)(nil)

// Samples records single requests of a run. Requests that are not part of the results are left
// out.
type Samples struct{ to *samples.Recorder }

var _ RunObserver = Samples{}

// NewSamples returns the observer that records samples.
func NewSamples(to *samples.Recorder) Samples { return Samples{to} }

// Phase implements [RunObserver].
func (s Samples) Phase(p *spec.Phase, _ *measure.Set) Observer { return &phaseSamples{s.to, p} }

// End implements [RunObserver]: it makes the samples durable.
func (s Samples) End(warn func(code, detail string)) {
	if err := s.to.Close(); err != nil {
		warn("samples-incomplete", err.Error())
	}
}

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
