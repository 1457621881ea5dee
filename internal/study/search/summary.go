package search

import (
	"slices"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// Summary is what a search found.
type Summary struct {
	Reason     string // why it ended; empty = it goes on
	Iterations []Iteration
	// Best are the iterations with the best objective, of those that keep all limits if
	// there are any. Several = none of them is better than another in all objectives.
	Best     []int
	Boundary *Boundary // of searches in one dimension with limits; nil = none was found
	Tiers    []TierResult
}

// Iteration is one performed variation and its judgement.
type Iteration struct {
	Outcome       *cell.Outcome
	Objectives    []*float64 // in the order of the options; nil = not measured
	Verdict       Verdict
	NonMonotonic  bool // contradicts the boundary
	ClientLimited bool // the load generator distorted an objective in all trials, or leaves a limit open
}

// Boundary is where the values of a dimension begin to break a limit.
type Boundary struct {
	Path     string
	Pass     *Edge     // the largest value that keeps the limits
	Fail     *Edge     // the smallest value that does not
	Type     string    // smooth, cliff; empty = unknown
	Binding  *Filter   // the limit that is reached first
	Interval []float64 // 95 % confidence interval of the boundary, two values; nil = unknown
	Advised  *float64  // the load to plan for at most; nil unless the search is for a capacity that is known
}

// Edge is one side of a boundary.
type Edge struct {
	Value     float64
	Iteration int // the last one with this value
	Breach    *Reading
	Readings  []Reading // of all limits
	Failed    bool      // no trial is a result
	Unsure    string    // the metric of a limit that the load generator leaves open; empty = none
}

// TierResult is the boundary of one tier.
type TierResult struct {
	Label    string
	Status   string // converged, partial, no_pass_in_range, no_failure_in_range
	Boundary *Boundary
}

// summary judges every outcome and finds the best ones.
func (o *Options) summary(done []cell.Outcome, reason string) Summary {
	s := Summary{Reason: reason}
	for i := range done {
		it := Iteration{Outcome: &done[i], Verdict: Judge(o.Filters, &done[i])}
		for _, objective := range o.Objectives {
			it.Objectives = append(it.Objectives, read(Filter{MetricTag: objective.Metric, Stat: objective.Stat}, done[i].Trials).Observed)
		}
		it.ClientLimited = o.limited(done[i].Trials)
		s.Iterations = append(s.Iterations, it)
	}
	s.Best = o.best(s.Iterations)
	return s
}

// Optimized returns the metrics that the search optimizes. The boundary searches only record
// their objectives.
func (o *Options) Optimized() []string {
	if o.Algorithm != Bayesian {
		return nil
	}
	return o.objectives()
}

func (o *Options) objectives() []string {
	var out []string
	for _, objective := range o.Objectives {
		out = append(out, objective.Metric)
	}
	return out
}

// limited reports whether the load generator distorted what the search optimizes, or leaves a
// limit open.
func (o *Options) limited(trials []cell.Trial) bool {
	filters := slices.Clone(o.Filters)
	for _, tier := range o.Tiers {
		filters = append(filters, tier.Filters...)
	}
	return cell.Distorted(trials, o.Optimized()...) || unsure(filters, trials) != ""
}

// best returns the iterations that no other dominates, of the feasible ones if there are
// any; of equal ones the first. What the load generator distorted is no result.
func (o *Options) best(all []Iteration) []int {
	if len(o.Objectives) == 0 {
		return nil
	}
	var pool []int
	for _, wanted := range []bool{true, false} {
		for i, it := range all {
			wrong := cell.Distorted(it.Outcome.Trials, o.objectives()...)
			if it.measured() && !it.ClientLimited && !wrong && it.Verdict.Pass == wanted {
				pool = append(pool, i)
			}
		}
		if len(pool) > 0 {
			break
		}
	}
	var out []int
	for _, i := range pool {
		if !slices.ContainsFunc(pool, func(j int) bool {
			better, worse := o.compare(all[j].Objectives, all[i].Objectives)
			return better && !worse || j < i && !better && !worse
		}) {
			out = append(out, i)
		}
	}
	return out
}

// compare reports whether a is better than b in some objective, and whether it is worse
// in some.
func (o *Options) compare(a, b []*float64) (better, worse bool) {
	for i, objective := range o.Objectives {
		x, y := *a[i], *b[i]
		if !objective.Maximize {
			x, y = -x, -y
		}
		better = better || x > y
		worse = worse || x < y
	}
	return better, worse
}

// Place says where a variation lies: at the largest value that keeps the limits, or beyond it.
func (b *Boundary) Place(v *vary.Variation) (edge, beyond bool) {
	if b == nil || b.Fail == nil || b.Pass == nil {
		return false, false
	}
	x, ok := v.Number(b.Path)
	return ok && x == b.Pass.Value, ok && x > b.Pass.Value
}

// boundary describes a bracket; nil if it is empty.
func (o *Options) boundary(done []cell.Outcome, filters []Filter, b *bracket) *Boundary {
	if !b.hasPass && !b.hasFail {
		return nil
	}
	out := &Boundary{Path: o.Space[0].Path}
	seen := o.observations(done)
	edge := func(x float64) *Edge {
		i := slices.IndexFunc(seen, func(v observation) bool { return v.x == x })
		outcomes := seen[i].outcomes
		v, trials := Judge(filters, outcomes...), together(outcomes)
		return &Edge{
			Value: x, Iteration: outcomes[len(outcomes)-1].Index, Breach: v.breach(), Readings: v.Readings,
			Failed: !slices.ContainsFunc(trials, func(t cell.Trial) bool { return t.Failure == "" }),
			Unsure: unsure(filters, trials),
		}
	}
	if b.hasPass {
		out.Pass = edge(b.pass)
	}
	if b.hasFail {
		out.Fail = edge(b.fail)
		if out.Fail.Breach != nil {
			out.Binding = &out.Fail.Breach.Filter
		}
	}
	return out
}

// flag marks the iterations with values that contradict the boundary.
func (s *Summary) flag(values []float64) {
	for i := range s.Iterations {
		it := &s.Iterations[i]
		for _, a := range it.Outcome.Values {
			if x, ok := it.Outcome.Number(a.Path); ok && slices.Contains(values, x) {
				it.NonMonotonic = true
			}
		}
	}
}
