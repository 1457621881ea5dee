package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is the number of resamples of a bootstrap.
const resamples = 1000

// interval returns a 95 % confidence interval of the boundary by a parametric bootstrap:
// every mean is drawn again with the spread that repeated trials had, relative to their
// mean, and the curves are fitted again. It contains the bracket. Without repeated trials
// nothing is known of the spread, and it is nil.
func (f *fitted) interval(filters []Filter, seed int64) []float64 {
	spread, ok := f.spread()
	if !ok {
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 0x626f756e64617279)) // "boundary"
	low, high := f.points[0].x, f.points[len(f.points)-1].x
	roots := make([]float64, resamples)
	for k := range roots {
		roots[k] = high
		for i := range filters {
			points := slices.Clone(f.curves[i])
			for j := range points {
				if observed := f.points[j].verdict.Readings[i].Observed; observed != nil {
					points[j].Y += rng.NormFloat64() * spread * math.Abs(*observed) / math.Sqrt(points[j].Weight)
				}
			}
			if c := fitCurve(points); c.at(low) >= 0 {
				roots[k] = low
			} else if root, ok := c.root(); ok {
				roots[k] = min(roots[k], root)
			}
		}
	}
	slices.Sort(roots)
	return []float64{min(roots[resamples/40], f.pass), max(roots[resamples-1-resamples/40], f.fail)}
}

// spread returns the standard deviation of repeated trials, relative to their mean; false
// if no value was repeated.
func (f *fitted) spread() (float64, bool) {
	sum, freedom := 0.0, 0
	for _, pt := range f.points {
		for _, r := range pt.verdict.Readings {
			if r.Observed == nil || r.trials < 2 || *r.Observed == 0 {
				continue
			}
			relative := r.spread / *r.Observed
			sum += float64(r.trials-1) * relative * relative
			freedom += r.trials - 1
		}
	}
	if freedom == 0 {
		return 0, false
	}
	return math.Sqrt(sum / float64(freedom)), true
}
