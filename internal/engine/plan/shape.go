package plan

import (
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/rateseries"
	"aiperfd/internal/engine/ramp"
)

// Shape is how the load of a phase changes in time. The zero Shape does not change.
type Shape struct {
	Concurrency ramp.Ramp      // of the sessions at a time, from 1; needs a Concurrency
	Prefill     ramp.Ramp      // of the requests without a first token, from 1; needs a Prefill
	CountFills  bool           // requests without a first token are counted, because a phase that may overlap with this one limits them
	Rate        ramp.Ramp      // of the rate; see Rates
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
		return rates.Count(offset) / offset.Seconds(), rates.At(offset)
	}
	return p.Rate, p.Rate
}

// newRamp compiles a ramp; nil is none.
func newRamp(d *config.Ramp, seed bench.Seed) ramp.Ramp {
	if d == nil {
		return ramp.Ramp{}
	}
	// The strategy is one of the list, which the document checks.
	return ramp.Ramp{Duration: d.Duration.Duration(), Strategy: ramp.Strategy(slices.Index(ramp.Strategies(), d.Strategy)), Seed: seed}
}

// shape compiles how the limits of a phase change in time.
func shape(d *config.Phase, seed bench.Seed, ph *Phase) {
	ph.Shape.Concurrency = newRamp(d.ConcurrencyRamp, seed.Child("concurrencyRamp"))
	if d.PrefillConcurrency != nil {
		ph.Prefill = *d.PrefillConcurrency
		ph.Shape.Prefill = newRamp(d.PrefillRamp, seed.Child("prefillRamp"))
	}
	ph.Shape.ExcludeRamp = d.ExcludeRamp
}

// varied compiles how the rate of a phase changes in time, into the options of its
// arrivals and the phase.
func varied(d *config.Phase, o *arrival.Options, ph *Phase) {
	o.Ramp = newRamp(d.RateRamp, o.Seed.Child("rateRamp"))
	if s := d.RateSeries; s != nil {
		ph.Shape.Series = true
		for _, p := range s.Points {
			o.Series = append(o.Series, arrival.Point{At: config.Seconds(p.TimeS).Duration(), Rate: p.QPS})
			o.Rate = max(o.Rate, p.QPS)
		}
	}
	ph.Rate, ph.Shape.Rate, ph.Shape.Rates = o.Rate, o.Ramp, o.Rates()
}

// describeRate describes the rate of a phase.
func describeRate(d *config.Phase) string {
	text := d.Type
	switch {
	case d.RateSeries != nil:
		least := slices.MinFunc(d.RateSeries.Points, byRate).QPS
		most := slices.MaxFunc(d.RateSeries.Points, byRate).QPS
		text += fmt.Sprintf(" %v to %v/s in %d points", least, most, len(d.RateSeries.Points))
	case d.SessionRate != nil:
		text += fmt.Sprintf(" %v sessions/s", *d.SessionRate)
	case d.Rate != nil:
		text += fmt.Sprintf(" %v/s", *d.Rate)
	}
	return text + describeRamp(d.RateRamp)
}

func byRate(a, b rateseries.Point) int {
	switch {
	case a.QPS < b.QPS:
		return -1
	case a.QPS > b.QPS:
		return 1
	}
	return 0
}

// describeRamp describes a ramp; nil is none.
func describeRamp(r *config.Ramp) string {
	switch {
	case r == nil:
		return ""
	case r.Strategy == ramp.Strategies()[ramp.Linear]:
		return fmt.Sprintf(" after a ramp of %v", r.Duration.Duration())
	}
	return fmt.Sprintf(" after a ramp of %v (%s)", r.Duration.Duration(), r.Strategy)
}

// describeLimits describes the limits beside a rate or a schedule, and the limit of
// requests without a first token.
func describeLimits(d *config.Phase, ph *Phase) string {
	text := ""
	if d.Type != "concurrency" && ph.Concurrency > 0 {
		text = fmt.Sprintf(", at most %d at a time%s", ph.Concurrency, describeRamp(d.ConcurrencyRamp))
		if ph.Backlog.Saturation != QueueArrivals {
			text += ", saturation " + Saturations()[ph.Backlog.Saturation]
		}
	}
	if ph.Prefill > 0 {
		text += fmt.Sprintf(", at most %d without a first token%s", ph.Prefill, describeRamp(d.PrefillRamp))
	}
	return text
}
