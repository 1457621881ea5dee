package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/samples"
)

// NewSamples returns the observer that records single requests of a run. Requests that are not part
// of the results are left out.
func NewSamples(to *samples.Recorder) RunObserver {
	phase := func(p *spec.Phase, _ *measure.Set) Observer {
		return Observer{
			Begin:   func(l Load) { to.Begin(l.Start()) },
			Observe: func(rec *bench.Record) { Sample(to, p, rec) },
		}
	}
	return RunObserver{Phase: phase, End: func(warn func(code, detail string)) {
		if err := to.Close(); err != nil {
			warn("samples-incomplete", err.Error())
		}
	}}
}

// Sample shows a record of a phase to the samples of its run.
func Sample(to *samples.Recorder, p *spec.Phase, rec *bench.Record) {
	if p.Kind == bench.Profiling && !p.Leaves(rec) {
		to.Observe(rec, p.Name)
	}
}
