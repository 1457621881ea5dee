package plan

import (
	"cmp"
	"fmt"
	"slices"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
)

// newRamp compiles a ramp; nil is none.
func newRamp(d *config.Ramp, seed bench.Seed) arrival.Ramp {
	if d == nil {
		return arrival.Ramp{}
	}
	// The strategy is one of the list, which the document checks.
	return arrival.Ramp{Duration: d.Duration.Duration(), Strategy: arrival.RampStrategy(slices.Index(arrival.RampStrategies(), d.Strategy)), Seed: seed}
}

// shape compiles how the limits of a phase change in time.
func shape(d *config.Phase, seed bench.Seed, ph *spec.Phase) {
	ph.Shape.Concurrency = newRamp(d.ConcurrencyRamp, seed.Child("concurrencyRamp"))
	if d.PrefillConcurrency != nil {
		ph.Prefill = *d.PrefillConcurrency
		ph.Shape.Prefill = newRamp(d.PrefillRamp, seed.Child("prefillRamp"))
	}
	ph.Shape.ExcludeRamp = d.ExcludeRamp
}

// varied compiles how the rate of a phase changes in time, into the options of its
// arrivals and the phase.
func varied(d *config.Phase, o *arrival.Options, ph *spec.Phase) {
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

func byRate(a, b config.Point) int { return cmp.Compare(a.QPS, b.QPS) }

// describeRamp describes a ramp; nil is none.
func describeRamp(r *config.Ramp) string {
	switch {
	case r == nil:
		return ""
	case r.Strategy == arrival.RampStrategies()[arrival.LinearRamp]:
		return fmt.Sprintf(" after a ramp of %v", r.Duration.Duration())
	}
	return fmt.Sprintf(" after a ramp of %v (%s)", r.Duration.Duration(), r.Strategy)
}

// describeLimits describes the limits beside a rate or a schedule, and the limit of
// requests without a first token.
func describeLimits(d *config.Phase, ph *spec.Phase) string {
	text := ""
	if d.Type != "concurrency" && ph.Concurrency > 0 {
		text = fmt.Sprintf(", at most %d at a time%s", ph.Concurrency, describeRamp(d.ConcurrencyRamp))
		if ph.Backlog.Saturation != spec.QueueArrivals {
			text += ", saturation " + spec.Saturations()[ph.Backlog.Saturation]
		}
	}
	if ph.Prefill > 0 {
		text += fmt.Sprintf(", at most %d without a first token%s", ph.Prefill, describeRamp(d.PrefillRamp))
	}
	return text
}
