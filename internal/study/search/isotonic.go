package search

import (
	"math"
	"slices"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// isotonic doubles the value until it fails, fits a curve that never falls to the margins
// of each limit, and probes where the first of the curves reaches 0. Repeated probes of a
// value are pooled, so noise moves the fit and not a bracket that cannot move back.
type isotonic struct{ Options }

var _ Planner = isotonic{}

// Budget implements [cell.Planner].
func (p isotonic) Budget() int { return p.Iterations * p.Replicates }

// Next implements [cell.Planner].
func (p isotonic) Next(done []cell.Outcome) (vary.Variation, bool) {
	x, reason := p.plan(done)
	if reason != "" {
		return vary.Variation{}, false
	}
	return p.probe(done, x)
}

// plan returns the next value to probe, or why the search is over.
func (p isotonic) plan(done []cell.Outcome) (x float64, reason stop) {
	f := p.fit(done)
	lo, hi := p.bounds()
	switch {
	case !f.hasPass && !f.hasFail:
		return lo, ""
	case !f.hasFail || !f.hasPass:
		if x, reason = f.double(lo, hi); reason != "" {
			return p.confirm(f, reason)
		}
	case p.close(f.pass, f.fail):
		return p.confirm(f, precise)
	default:
		x = p.candidate(done, f)
	}
	if len(f.points) >= p.Iterations {
		return 0, exhausted
	}
	return x, ""
}

// confirm returns an end of the bracket that is near a limit and was not probed often
// enough, or the reason to stop.
func (p isotonic) confirm(f fitted, reason stop) (float64, stop) {
	for _, pt := range f.points {
		end := f.hasPass && pt.x == f.pass || f.hasFail && pt.x == f.fail
		if end && len(pt.outcomes) < p.Replicates && !pt.verdict.clear() {
			return pt.x, ""
		}
	}
	return 0, reason
}

// candidate returns a value inside the bracket that was not probed yet.
func (p isotonic) candidate(done []cell.Outcome, f fitted) float64 {
	first, index := p.firstBracket(done)
	for _, quarter := range []float64{2, 1, 3} {
		x := math.Round(first.pass + quarter*(first.fail-first.pass)/4)
		if first.inside(x) && f.inside(x) && !f.probed(x) {
			return x
		}
	}
	// Where the curve bends too sharply for the fit, every second probe bisects.
	fits := len(f.points) - index
	root, ok := f.root(p.Filters)
	if !ok || fits > 6 && fits%2 == 1 || p.cliff(done) {
		return f.middle()
	}
	x := math.Floor(root)
	if x <= f.pass {
		x = f.pass + max(1, math.Floor(p.Sizing.Precision.Width()*f.fail))
	}
	return min(x, f.fail-1)
}

// firstBracket returns the bracket of the first outcomes that have one, and how many
// values were probed by then.
func (p isotonic) firstBracket(done []cell.Outcome) (bracket, int) {
	for n := range done {
		if f := p.fit(done[:n+1]); f.hasPass && f.hasFail {
			return f.bracket, len(f.points)
		}
	}
	return bracket{}, 0
}

// cliff reports whether one of the probes was far from what the others predicted, while
// the bracket was wide: the curve has a step, and a fit across it leads nowhere.
func (p isotonic) cliff(done []cell.Outcome) bool {
	_, hi := p.bounds()
	for n := 3; n < len(done); n++ {
		before := p.fit(done[:n])
		x, ok := done[n].Number(p.Space[0].Path)
		if !ok || !before.hasPass || !before.hasFail || !before.inside(x) || before.fail-before.pass <= 0.05*hi {
			continue
		}
		v := Judge(p.Filters, &done[n])
		for i := range p.Filters {
			var last []float64
			for _, o := range done[n-3 : n] {
				v := Judge(p.Filters, &o)
				last = append(last, v.Readings[i].margin())
			}
			_, spread := moments(last)
			if math.Abs(v.Readings[i].margin()-fitCurve(before.curves[i]).at(x)) > 3*spread {
				return true
			}
		}
	}
	return false
}

// Summarize implements [Planner].
func (p isotonic) Summarize(done []cell.Outcome) Summary {
	f := p.fit(done)
	_, reason := p.plan(done)
	s := p.summary(done, reason.named("smooth_isotonic"))
	s.Boundary = p.boundary(done, p.Filters, &f.bracket)
	s.flag(f.contrary)
	if s.Boundary == nil || !f.hasPass || !f.hasFail {
		return s
	}
	if s.Boundary.Type = "smooth"; p.cliff(done) {
		s.Boundary.Type = "cliff"
	}
	s.Boundary.Interval = f.interval(p.Filters, p.Seed)
	return s
}

// fitted is the state of a search: the bracket is where the fitted curves say it is.
type fitted struct {
	bracket
	points []fittedPoint  // ascending
	curves [][]curvePoint // margins of each filter, as points
}

type fittedPoint struct {
	observation
	verdict Verdict
}

func (p isotonic) fit(done []cell.Outcome) fitted {
	f := fitted{curves: make([][]curvePoint, len(p.Filters))}
	for _, o := range p.observations(done) {
		f.points = append(f.points, fittedPoint{o, Judge(p.Filters, o.outcomes...)})
	}
	slices.SortFunc(f.points, func(a, b fittedPoint) int { return int(math.Copysign(1, a.x-b.x)) })
	for _, pt := range f.points {
		for i := range p.Filters {
			f.curves[i] = append(f.curves[i], curvePoint{X: pt.x, Y: pt.margin(i), Weight: float64(len(pt.outcomes))})
		}
	}
	pass := make([]bool, len(f.points))
	for i, filter := range p.Filters {
		for j, margin := range isotonicRegression(f.curves[i]) {
			kept := margin < 0 || margin == 0 && (filter.Op == "le" || filter.Op == "ge")
			pass[j] = kept && (i == 0 || pass[j])
		}
	}
	for j, pt := range f.points {
		f.observe(pt.x, pass[j])
		if pass[j] != pt.verdict.Pass {
			f.contrary = append(f.contrary, pt.x)
		}
	}
	return f
}

// margin returns the margin of a filter. Trials that failed, or disagree so much that the
// mean says nothing, count like a limit that is exceeded by as much as itself.
func (pt *fittedPoint) margin(i int) float64 {
	r := &pt.verdict.Readings[i]
	if !pt.verdict.Pass && pt.verdict.breach() == nil {
		return max(r.margin(), scale(r.Filter))
	}
	return r.margin()
}

func (f *fitted) probed(x float64) bool {
	return slices.ContainsFunc(f.points, func(pt fittedPoint) bool { return pt.x == x })
}

// root returns where the first of the curves reaches 0 inside the bracket.
func (f *fitted) root(filters []Filter) (float64, bool) {
	root, found := math.Inf(1), false
	for i := range filters {
		if x, ok := fitCurve(f.curves[i]).root(); ok && x >= f.pass && x <= f.fail && x < root {
			root, found = x, true
		}
	}
	return root, found
}
