package metric

import (
	"math"
	"slices"
)

// MinBeyond is the number of independent values that a percentile needs on its thinner side to be
// supported by a sample.
const MinBeyond = 5

// Supports reports whether a sample that is worth size independent values is large
// enough for the quantile q.
func Supports(size, q float64) bool { return size*min(q, 1-q) >= MinBeyond*(1-1e-9) }

// Interval is a confidence interval, in display units.
type Interval struct{ Low, High float64 }

// Confidence describes how well the statistics of one metric estimate those of the
// same load over unlimited time. It is immutable.
type Confidence struct {
	// Effective is the effective sample size for the mean, from 1 to the count:
	// consecutive requests are correlated.
	Effective float64
	// Unsupported are the percentiles that the sample is too small for, ascending:
	// fewer than five effective values lie beyond. None of lengths and counts that are all equal.
	Unsupported []Stat

	intervals [len(intervalStats)]Interval
	has       uint8
	plausible []Plausible // absent in results that were read from a file
	// independent is the number of independent values that the sample is worth for each of
	// intervalStats; 0 = unknown.
	independent [len(intervalStats)]float64
}

// Plausible is where the true value of a statistic may lie.
type Plausible struct {
	Stat Stat
	Interval
	// Observed: both ends are values of the sample, and this is its confidence interval.
	// Otherwise the sample is too small for one of them, which is extrapolated, see
	// stat.BeyondRange.
	Observed  bool
	Effective float64 // independent values that the sample is worth for this statistic
}

// intervalStats are the statistics that have an interval: the mean, and quantiles in
// ascending order.
var intervalStats = [...]Stat{Avg, P50, P90, P95, P99}

// IntervalStats returns the statistics that have an interval, the mean first.
func IntervalStats() []Stat { return slices.Clone(intervalStats[:]) }

// Interval returns the confidence interval of a statistic; false if the sample
// gives none. Only avg, p50, p90, p95 and p99 have one.
func (c *Confidence) Interval(s Stat) (Interval, bool) {
	for i, known := range intervalStats {
		if known == s && c != nil {
			return c.intervals[i], c.has&(1<<i) != 0
		}
	}
	return Interval{}, false
}

// Plausible returns where the true value of the mean or of a percentile may lie; nil for
// other statistics, and for results that were read from a file.
func (c *Confidence) Plausible(s Stat) *Plausible {
	if c == nil {
		return nil
	}
	for i := range c.plausible {
		if p := &c.plausible[i]; p.Stat == s {
			return p
		}
	}
	return nil
}

// Independent returns the number of independent values that the sample is worth for a
// statistic; that for the mean if there is none of its own.
func (c *Confidence) Independent(s Stat) float64 {
	for i, known := range intervalStats {
		if known == s && c.independent[i] > 0 {
			return c.independent[i]
		}
	}
	return c.Effective
}

// Supported reports whether the sample is large enough for a percentile. It is
// true for other statistics, and for all of a nil Confidence.
func (c *Confidence) Supported(s Stat) bool {
	if c == nil {
		return true
	}
	return !slices.Contains(c.Unsupported, s)
}

// SetInterval stores the interval of one of [IntervalStats], unless an end of it is not finite.
func (c *Confidence) SetInterval(s Stat, in Interval) {
	if math.IsNaN(in.Low-in.High) || math.IsInf(in.Low-in.High, 0) {
		return
	}
	if i := slices.Index(intervalStats[:], s); i >= 0 {
		c.intervals[i] = in
		c.has |= 1 << i
	}
}

// SetIndependent stores the number of independent values that the sample is worth for one of
// [IntervalStats].
func (c *Confidence) SetIndependent(s Stat, values float64) {
	if i := slices.Index(intervalStats[:], s); i >= 0 {
		c.independent[i] = values
	}
}

// AddPlausible stores where the true value of a statistic may lie.
func (c *Confidence) AddPlausible(p *Plausible) { c.plausible = append(c.plausible, *p) }
