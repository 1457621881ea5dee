// Package search plans studies whose next variation depends on what the ones before it
// measured: boundary searches for the largest value that keeps service-level objectives,
// and Bayesian optimization. Planners are pure functions of the outcomes, so a study that
// was interrupted goes on where it was.
package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// Algorithm is the way in which a search chooses its probes.
type Algorithm string

// The algorithms.
const (
	Bayesian  Algorithm = "bayesian"        // Gaussian process and expected improvement; any space
	Monotonic Algorithm = "monotonic_sla"   // doubling and bisection; one whole number
	Isotonic  Algorithm = "smooth_isotonic" // doubling, then the root of a fitted curve; one whole number
	Tiered    Algorithm = "multi_tier"      // bisection for several limits at once; one whole number
)

// Dimension is a place of the document and the values that it may have.
type Dimension struct {
	Path    string
	Lo, Hi  float64 // Lo < Hi; both are possible values
	Integer bool    // whole numbers only
	Log     bool    // values differ by their ratio rather than by their difference; Lo > 0
}

// Objective is a statistic to optimize.
type Objective struct {
	Metric   string
	Stat     string
	Maximize bool
}

// Tier is a group of limits that has a boundary of its own.
type Tier struct {
	Label   string
	Filters []Filter
}

// Options define a search.
type Options struct {
	Algorithm  Algorithm
	Space      []Dimension // at least one; the boundary searches take exactly one, of whole numbers
	Objectives []Objective // Bayesian: at least one
	Filters    []Filter    // Monotonic, Isotonic: at least one
	Tiers      []Tier      // Tiered only, at least two
	// Iterations is the most distinct values to probe, ≥ 2. Repeated probes of a value
	// do not count.
	Iterations       int
	Initial          int     // Bayesian: points of a uniform sequence to begin with, ≥ 1
	Patience         int     // Bayesian: stop after this many probes without improvement; 0 = never
	PlateauWindow    int     // Bayesian: look at this many probes, ≥ 2; 0 = never
	PlateauThreshold float64 // Bayesian: stop below this coefficient of variation of their objective
	Stability        int     // Monotonic: equal verdicts that a value near a limit needs; 0 = 2
	Replicates       int     // Isotonic: probes of each end of the final bracket; 0 = 2
	Seed             int64
	Sizing           sweep.Sizing
}

// Judges reports whether the boundary that the search finds decides which values are feasible. In
// an optimization each value is judged by itself, and near a capacity by chance.
func (o *Options) Judges() bool { return o.Algorithm != Bayesian && o.Algorithm != Capacity }

// Planner is a planner of this package.
type Planner interface {
	cell.Planner
	// Summarize returns what the outcomes so far amount to.
	Summarize(done []cell.Outcome) Summary
}

// New returns the planner of valid options.
func New(o Options) Planner {
	switch o.Algorithm {
	case Monotonic:
		o.Stability = cmp.Or(o.Stability, 2)
		return monotonic{o}
	case Isotonic:
		o.Replicates = cmp.Or(o.Replicates, 2)
		return isotonic{o}
	case Tiered:
		return tiered{o}
	case Bayesian:
		return bayesian{o}
	case Capacity: // it needs the study: see Of
	}
	panic(fmt.Sprintf("search: unknown algorithm %q", o.Algorithm)) // the document was checked
}

// variation returns the next variation: the values of the dimensions, in their order.
func (o *Options) variation(done []cell.Outcome, at []float64) (vary.Variation, bool) {
	v := vary.Variation{Index: len(done), Label: fmt.Sprintf("search_iter_%04d", len(done))}
	v.Folder = v.Label
	for i, x := range at {
		v.Values = append(v.Values, vary.Assignment{Path: o.Space[i].Path, Value: x})
	}
	v.Settings = o.Sizing.Settings(v.Values)
	return v, true
}

// probe returns the next variation of a search that repeats what is near a limit: the first
// probe of a value is short.
func (o *Options) probe(done []cell.Outcome, x float64) (vary.Variation, bool) {
	v, more := o.variation(done, []float64{x})
	known := slices.ContainsFunc(o.observations(done), func(s observation) bool { return s.x == x })
	if !known {
		v.Settings = o.Sizing.SettingsFor(v.Values, o.Sizing.First(v.Values, o.Filters))
	}
	return v, more
}

// bounds returns the smallest and the largest whole number of the only dimension.
func (o *Options) bounds() (lo, hi float64) {
	return math.Ceil(o.Space[0].Lo), math.Floor(o.Space[0].Hi)
}

// close reports whether a bracket is narrow enough: neighbours, or a share of its upper
// end that depends on the precision.
func (o *Options) close(lo, hi float64) bool {
	return hi-lo <= 1 || (hi-lo)/hi < o.Sizing.Precision.Width()
}

// observation is all that was measured at one value of the only dimension.
type observation struct {
	x        float64
	outcomes []*cell.Outcome // in their order
}

// observations groups outcomes by their value, in the order of the first of each.
func (o *Options) observations(done []cell.Outcome) []observation {
	var out []observation
	for i := range done {
		x, ok := done[i].Number(o.Space[0].Path)
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(v observation) bool { return v.x == x })
		if at < 0 {
			at = len(out)
			out = append(out, observation{x: x})
		}
		out[at].outcomes = append(out[at].outcomes, &done[i])
	}
	return out
}
