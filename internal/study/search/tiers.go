package search

import (
	"slices"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// tiered finds the boundaries of several tiers at once. Every probe is judged for every
// tier, so what is stricter than another tier bounds it from below and the other way round.
type tiered struct{ Options }

var _ Planner = tiered{}

// Budget implements [cell.Planner].
func (t tiered) Budget() int { return t.Iterations }

// Next implements [cell.Planner].
func (t tiered) Next(done []cell.Outcome) (vary.Variation, bool) {
	x, reason := t.plan(done)
	if reason != "" {
		return vary.Variation{}, false
	}
	return t.variation(done, []float64{x})
}

// filters returns the limits of a tier, with those of all tiers.
func (t tiered) filters(tier int) []Filter { return slices.Concat(t.Tiers[tier].Filters, t.Filters) }

func (t tiered) brackets(done []cell.Outcome) []bracket {
	out := make([]bracket, len(t.Tiers))
	for _, o := range t.observations(done) {
		for i := range out {
			v := Judge(t.filters(i), o.outcomes...)
			out[i].observe(o.x, v.Pass)
		}
	}
	return out
}

// plan returns the next value to probe, or why the search is over: on the way up until a
// tier fails, then the middle of the widest bracket, or a missing end of one.
func (t tiered) plan(done []cell.Outcome) (float64, stop) {
	lo, hi := t.bounds()
	all := t.brackets(done)
	widest, next := 0.0, 0.0
	reason := precise
	for i := range all {
		b := &all[i]
		var x, width float64
		switch t.status(b, lo, hi) {
		case statusPartial:
			x, width = t.step(b, lo, hi)
		case statusNoPass:
			reason = noPass
		case statusNoFailure:
			reason = noFailure
		}
		if width > widest {
			widest, next = width, x
		}
	}
	switch {
	case widest == 0:
		return 0, reason
	case len(done) >= t.Iterations:
		return 0, exhausted
	}
	return next, ""
}

// step returns the next value for a tier, and how wide its bracket is.
func (t tiered) step(b *bracket, lo, hi float64) (x, width float64) {
	switch {
	case !b.hasPass && !b.hasFail:
		return lo, hi - lo
	case !b.hasFail:
		x, _ = b.double(lo, hi)
		return x, hi - b.pass
	case !b.hasPass:
		return max(float64(int64(b.fail/2)), lo), b.fail - lo
	}
	return b.middle(), b.fail - b.pass
}

// Names of the states of tiers.
const (
	statusPartial   = "partial"
	statusConverged = "converged"
	statusNoPass    = "no_pass_in_range"
	statusNoFailure = "no_failure_in_range"
)

func (t tiered) status(b *bracket, lo, hi float64) string {
	switch {
	case b.hasPass && b.hasFail && t.close(b.pass, b.fail):
		return statusConverged
	case !b.hasPass && b.hasFail && b.fail <= lo:
		return statusNoPass
	case b.hasPass && b.pass >= hi:
		return statusNoFailure
	}
	return statusPartial
}

// Summarize implements [Planner].
func (t tiered) Summarize(done []cell.Outcome) Summary {
	_, reason := t.plan(done)
	s := t.summary(done, reason.named("multi_tier"))
	lo, hi := t.bounds()
	for i, b := range t.brackets(done) {
		s.Tiers = append(s.Tiers, TierResult{
			Label: t.Tiers[i].Label, Status: t.status(&b, lo, hi), Boundary: t.boundary(done, t.filters(i), &b),
		})
		s.flag(b.contrary)
	}
	return s
}
