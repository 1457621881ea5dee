package search

import (
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// monotonic doubles the value until it fails, and bisects. A verdict near a limit is
// asked for again until enough of them agree.
type monotonic struct{ Options }

var _ Planner = monotonic{}

// Budget implements [cell.Planner].
func (m monotonic) Budget() int { return m.Iterations * (2*m.Stability - 1) }

// Next implements [cell.Planner].
func (m monotonic) Next(done []cell.Outcome) (vary.Variation, bool) {
	x, reason, _ := m.plan(done)
	if reason != "" {
		return vary.Variation{}, false
	}
	return m.probe(done, x)
}

// plan returns the next value to probe, or why the search is over.
func (m monotonic) plan(done []cell.Outcome) (x float64, reason stop, b bracket) {
	seen := m.observations(done)
	for _, o := range seen {
		pass, settled := m.settle(o)
		if !settled {
			return o.x, "", b
		}
		b.observe(o.x, pass)
	}
	if b.hasPass && b.hasFail {
		if m.close(b.pass, b.fail) {
			return 0, precise, b
		}
		x = b.middle()
	} else if x, reason = b.double(m.bounds()); reason != "" {
		return 0, reason, b
	}
	if len(seen) >= m.Iterations {
		return 0, exhausted, b
	}
	return x, "", b
}

// settle returns the verdict on a value: the only one if it is clear, otherwise the one
// that was returned often enough.
func (m monotonic) settle(o observation) (pass, settled bool) {
	passes, fails, clearly := 0, 0, false
	for _, outcome := range o.outcomes {
		v := Judge(m.Filters, outcome)
		clearly = clearly || v.clear()
		if v.Pass {
			passes++
		} else {
			fails++
		}
	}
	agree := passes == 0 || fails == 0
	return passes >= fails, agree && clearly || max(passes, fails) >= m.Stability
}

// Summarize implements [Planner].
func (m monotonic) Summarize(done []cell.Outcome) Summary {
	_, reason, b := m.plan(done)
	s := m.summary(done, reason.named("monotonic"))
	s.Boundary = m.boundary(done, m.Filters, &b)
	s.flag(b.contrary)
	return s
}
