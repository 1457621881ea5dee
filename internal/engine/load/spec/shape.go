package spec

import (
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
)

// Shape is how the load of a phase changes in time. The zero Shape does not change.
type Shape struct {
	Concurrency arrival.Ramp // of the sessions at a time, from 1; needs a Concurrency
	Prefill     arrival.Ramp // of the requests without a first token, from 1; needs a Prefill
	// CountFills counts requests without a first token, because a phase that may overlap with
	// this one limits them.
	CountFills  bool
	Rate        arrival.Ramp   // of the rate; see Rates
	Rates       *arrival.Rates // the rate in time, including its ramp; nil = constant
	Series      bool           // Rates has no target
	ExcludeRamp bool           // requests that are sent during a ramp do not enter the metrics
}

// Ramp returns how long the ramps at the start of the phase take; 0 = there is none.
func (s *Shape) Ramp() time.Duration {
	return max(s.Concurrency.Duration, s.Prefill.Duration, s.Rate.Duration)
}

// Excluded returns how much of the start of the phase does not enter the metrics.
func (s *Shape) Excluded() time.Duration {
	if s.ExcludeRamp {
		return s.Ramp()
	}
	return 0
}

// Leaves reports whether a record is left out of the metrics of the phase.
func (p *Phase) Leaves(rec *bench.Record) bool { return rec.Ramp && p.Shape.ExcludeRamp }

// RateUntil returns the mean rate of the arrivals up to an offset from the start of the
// phase, and the rate at it; 0 = closed loop.
func (p *Phase) RateUntil(offset time.Duration) (mean, last float64) {
	if rates := p.Shape.Rates; rates != nil && offset > 0 {
		part := 1.0
		if p.Part != nil {
			part = p.Part.Share.Arrivals
		}
		return part * rates.Count(offset) / offset.Seconds(), part * rates.At(offset)
	}
	return p.Rate, p.Rate
}
