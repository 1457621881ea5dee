package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// bayesian probes where the objective is expected to exceed the best one so far by most,
// weighted by the probability that all limits are kept (Gardner et al., 2014). Several
// objectives are weighted at random for each probe (Knowles, 2006).
type bayesian struct{ Options }

var _ Planner = bayesian{}

// Budget implements [cell.Planner].
func (p bayesian) Budget() int { return p.Iterations }

// Next implements [cell.Planner].
func (p bayesian) Next(done []cell.Outcome) (vary.Variation, bool) {
	if p.stopped(done) != "" {
		return vary.Variation{}, false
	}
	free := p.candidates(done)
	if len(free) == 0 {
		return vary.Variation{}, false
	}
	if len(done) < p.Initial {
		return p.variation(done, p.nearest(p.uniform(len(done), p.Seed), free))
	}
	return p.variation(done, p.choose(done, free))
}

// choose returns the most promising candidate.
func (p bayesian) choose(done []cell.Outcome, free [][]float64) []float64 {
	m := p.model(done)
	var at []float64
	best := math.Inf(-1)
	for _, c := range free {
		if score := m.score(p.unit(c)); score > best {
			best, at = score, c
		}
	}
	return at
}

// stopped returns why the search is over, or "".
func (p bayesian) stopped(done []cell.Outcome) stop {
	if len(done) >= p.Iterations {
		return exhausted
	}
	if len(done) < p.Initial {
		return ""
	}
	s := p.summary(done, "")
	last := 0 // the number of probes up to the last improvement
	for i := range s.Iterations {
		if p.improves(s.Iterations[:i], &s.Iterations[i]) {
			last = i + 1
		}
	}
	if p.Patience > 0 && last > 0 && len(done)-max(last, p.Initial) >= p.Patience {
		return impatient
	}
	if p.PlateauWindow >= 2 && len(done) >= p.Initial+p.PlateauWindow && p.flat(s.Iterations[len(done)-p.PlateauWindow:]) {
		return plateau
	}
	if len(p.candidates(done)) == 0 {
		return complete
	}
	return ""
}

// improves reports whether an iteration keeps all limits and no earlier one that does is
// at least as good. Infeasible iterations neither improve nor stand in the way.
func (p bayesian) improves(before []Iteration, it *Iteration) bool {
	if !it.Verdict.Pass || !it.measured() {
		return false
	}
	return !slices.ContainsFunc(before, func(b Iteration) bool {
		if !b.Verdict.Pass || !b.measured() {
			return false
		}
		better, _ := p.compare(it.Objectives, b.Objectives)
		return !better
	})
}

// flat reports whether all of the iterations keep the limits and have nearly the same
// first objective.
func (p bayesian) flat(its []Iteration) bool {
	var values []float64
	for _, it := range its {
		if !it.Verdict.Pass || it.Objectives[0] == nil {
			return false
		}
		values = append(values, *it.Objectives[0])
	}
	mean, deviation := moments(values)
	return mean != 0 && deviation/math.Abs(mean) < p.PlateauThreshold
}

// Summarize implements [Planner].
func (p bayesian) Summarize(done []cell.Outcome) Summary {
	s := p.summary(done, string(p.stopped(done)))
	if len(p.Space) != 1 || len(p.Filters) == 0 {
		return s
	}
	var b bracket
	seen := p.observations(done)
	slices.SortFunc(seen, func(a, b observation) int { return int(math.Copysign(1, a.x-b.x)) })
	for _, o := range seen {
		v := Judge(p.Filters, o.outcomes...)
		b.observe(o.x, v.Pass)
	}
	s.Boundary = p.boundary(done, p.Filters, &b)
	s.flag(b.contrary)
	return s
}

// most is the largest number of values of a space that are all candidates.
const most = 1024

// candidates returns the points that may be probed next and were not probed yet: all of
// them if there are few, otherwise a uniform sequence and the surroundings of what was
// probed.
func (p bayesian) candidates(done []cell.Outcome) [][]float64 {
	var all [][]float64
	if d := p.Space[0]; len(p.Space) == 1 && d.Integer && d.Hi-d.Lo < most {
		for x := math.Ceil(d.Lo); x <= d.Hi; x++ {
			all = append(all, []float64{x})
		}
	} else {
		for i := range most / 2 {
			all = append(all, p.point(p.uniform(i, p.Seed+1)))
		}
		rng := rand.New(rand.NewPCG(uint64(p.Seed), uint64(len(done))))
		for range most / 2 {
			if u := p.known(done, rng); u != nil {
				for i := range u {
					u[i] = min(max(u[i]+0.05*rng.NormFloat64(), 0), 1)
				}
				all = append(all, p.point(u))
			}
		}
	}
	return slices.DeleteFunc(all, func(c []float64) bool {
		return slices.ContainsFunc(done, func(o cell.Outcome) bool { return slices.Equal(p.at(&o), c) })
	})
}

// known returns a probed point, drawn at random; nil if there is none.
func (p bayesian) known(done []cell.Outcome, rng *rand.Rand) []float64 {
	if len(done) == 0 {
		return nil
	}
	return p.unit(p.at(&done[rng.IntN(len(done))]))
}

// at returns the values of an outcome.
func (p bayesian) at(o *cell.Outcome) []float64 {
	out := make([]float64, len(p.Space))
	for i, d := range p.Space {
		out[i], _ = o.Number(d.Path)
	}
	return out
}

// unit maps a point of the space into the unit cube.
func (p bayesian) unit(at []float64) []float64 {
	out := make([]float64, len(at))
	for i, d := range p.Space {
		lo, hi, x := d.Lo, d.Hi, at[i]
		if d.Log {
			lo, hi, x = math.Log(lo), math.Log(hi), math.Log(x)
		}
		out[i] = (x - lo) / (hi - lo)
	}
	return out
}

// point maps a point of the unit cube into the space.
func (p bayesian) point(unit []float64) []float64 {
	out := make([]float64, len(unit))
	for i, d := range p.Space {
		x := d.Lo + unit[i]*(d.Hi-d.Lo)
		if d.Log {
			x = d.Lo * math.Pow(d.Hi/d.Lo, unit[i])
		}
		if d.Integer {
			x = min(max(math.Round(x), math.Ceil(d.Lo)), math.Floor(d.Hi))
		}
		out[i] = min(max(x, d.Lo), d.Hi)
	}
	return out
}

// uniform returns a point of a sequence that fills the unit cube evenly, whatever its
// length: multiples of the powers of the root of x^(d+1) = x + 1, from a start drawn by
// the seed (Roberts, 2018).
func (p bayesian) uniform(index int, seed int64) []float64 {
	d := len(p.Space)
	root := 1.5
	for range 60 {
		root = math.Pow(1+root, 1/float64(d+1))
	}
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(d)))
	out := make([]float64, d)
	for i := range out {
		_, out[i] = math.Modf(rng.Float64() + float64(index+1)/math.Pow(root, float64(i+1)))
	}
	return out
}

// nearest returns the candidate that is closest to a point of the unit cube.
func (p bayesian) nearest(unit []float64, free [][]float64) []float64 {
	var best []float64
	least := math.Inf(1)
	for _, c := range free {
		d := 0.0
		for i, u := range p.unit(c) {
			d += (u - unit[i]) * (u - unit[i])
		}
		if d < least {
			least, best = d, c
		}
	}
	return best
}

// model is what is known of the objective and of the limits.
type model struct {
	objective *process // to be maximized; nil = nothing is known
	best      float64  // of feasible outcomes; NaN = there is none
	limits    []*process
}

func (p bayesian) model(done []cell.Outcome) model {
	its := p.summary(done, "").Iterations
	m := model{best: math.NaN()}
	var points [][]float64
	var values []float64
	weights := p.weights(len(done))
	for i := range its {
		if !its[i].measured() {
			continue
		}
		points = append(points, p.unit(p.at(&done[i])))
		values = append(values, p.scalar(&its[i], weights, its))
		if v := values[len(values)-1]; its[i].Verdict.Pass && !(v <= m.best) {
			m.best = v
		}
	}
	if len(points) > 0 {
		worst := slices.Min(values)
		for i := range its {
			if !its[i].measured() { // failed: worse than everything that was measured
				points = append(points, p.unit(p.at(&done[i])))
				values = append(values, worst-max(0.1*math.Abs(worst), 1))
			}
		}
		m.objective = fitProcess(points, values)
	}
	for f := range p.Filters {
		var at [][]float64
		var margins []float64
		for i := range its {
			at = append(at, p.unit(p.at(&done[i])))
			r := &its[i].Verdict.Readings[f]
			margins = append(margins, min(max(r.margin()/scale(r.Filter), -1), 1)) // what is far off says nothing of the boundary
		}
		if len(at) > 0 {
			m.limits = append(m.limits, fitProcess(at, margins))
		}
	}
	return m
}

// weights returns the weights of the objectives for a probe; they sum up to 1.
func (p bayesian) weights(index int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(p.Seed), ^uint64(index)))
	out, sum := make([]float64, len(p.Objectives)), 0.0
	for i := range out {
		out[i] = rng.ExpFloat64()
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// scalar returns the weighted objectives of an iteration, each as its rank between the
// worst and the best of all.
func (p bayesian) scalar(it *Iteration, weights []float64, all []Iteration) float64 {
	if len(p.Objectives) == 1 {
		return p.sign(0) * *it.Objectives[0]
	}
	lowest, sum := math.Inf(1), 0.0
	for i := range p.Objectives {
		lo, hi := math.Inf(1), math.Inf(-1)
		for j := range all {
			if v := all[j].Objectives[i]; v != nil {
				lo, hi = min(lo, p.sign(i)**v), max(hi, p.sign(i)**v)
			}
		}
		x := 1.0
		if hi > lo {
			x = (p.sign(i)**it.Objectives[i] - lo) / (hi - lo)
		}
		lowest, sum = min(lowest, weights[i]*x), sum+weights[i]*x
	}
	return lowest + 0.05*sum
}

func (p bayesian) sign(objective int) float64 {
	if p.Objectives[objective].Maximize {
		return 1
	}
	return -1
}

// score returns how promising a point is. As long as no outcome keeps the limits, it is
// the probability to keep them.
func (m *model) score(unit []float64) float64 {
	score := 1.0
	for _, limit := range m.limits {
		score *= limit.below(unit, 0)
	}
	if m.objective != nil && !math.IsNaN(m.best) {
		score *= m.objective.gain(unit, m.best)
	}
	return score
}
