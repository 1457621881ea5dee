package metric

import (
	"math"
	"slices"

	"aiperfd/internal/engine/stat"
)

// Level is the probability with which an interval of a [Confidence] covers the
// true value.
const Level = stat.Level

// monitored are the quantiles that have an interval, in ascending order.
var monitored = [stat.Thresholds]float64{0.50, 0.90, 0.95, 0.99}

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
	// Observed: both ends are values of the sample, and this is its interval at [Level].
	// Otherwise the sample is too small for one of them, which is extrapolated, see
	// [stat.BeyondRange].
	Observed  bool
	Effective float64 // independent values that the sample is worth for this statistic
}

// Each monitored quantile has its statistic.
var _ = [1]struct{}{}[len(intervalStats)-1-len(monitored)]

// intervalStats are the statistics that have an interval: the mean, and the
// monitored quantiles in their order.
var intervalStats = [...]Stat{Avg, P50, P90, P95, P99}

// Interval returns the interval of a statistic at [Level]; false if the sample
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

// set stores the interval of intervalStats[i] unless it is not one.
func (c *Confidence) set(i int, in Interval) {
	if math.IsNaN(in.Low-in.High) || math.IsInf(in.Low-in.High, 0) {
		return
	}
	c.intervals[i] = in
	c.has |= 1 << i
}

// newConfidence returns the confidence of a result that is otherwise complete. rank
// returns the k-th smallest value in display units, from 0.
func newConfidence(res *Result, sequence *stat.Sequence, rank func(k int64) float64) *Confidence {
	n := res.Count
	if n < 2 {
		c := &Confidence{Effective: float64(n), Unsupported: unsupported(res, nil)}
		c.extrapolate(res, &[len(monitored)]float64{1, 1, 1, 1}, rank)
		return c
	}
	effective, freedom := sequence.Effective()
	c := &Confidence{Effective: effective}
	c.set(0, meanInterval(res, effective, freedom))
	var sizes [len(monitored)]float64
	for i := range monitored {
		size, ok := sequence.EffectiveAbove(i)
		if !ok {
			size = effective
		}
		sizes[i] = size
		c.independent[1+i] = size // intervalStats begin with the mean
	}
	c.Unsupported = unsupported(res, &sizes)
	c.extrapolate(res, &sizes, rank)
	for i, s := range intervalStats {
		if p := c.Plausible(s); p != nil && p.Observed {
			c.set(i, p.Interval)
		}
	}
	return c
}

// extrapolate sets where the true values of the mean and of the percentiles may lie; sizes
// are the effective sizes of the monitored quantiles.
func (c *Confidence) extrapolate(res *Result, sizes *[len(monitored)]float64, rank func(k int64) float64) {
	least, _ := res.Get(Min)
	most, _ := res.Get(Max)
	mean, known := c.Interval(Avg)
	if !known { // one value, or none that is finite
		mean = Interval{math.Inf(-1), math.Inf(1)}
	}
	c.plausible = append(c.plausible, Plausible{Avg, mean, known, c.Effective})
	for _, p := range percentiles {
		at, ok := res.Get(p.stat)
		if !ok {
			continue
		}
		size := sizes[nearestMonitored(p.q)]
		lo, hi := stat.QuantileRanks(p.q, int64(size), res.Count)
		in := Interval{below(least, stat.BeyondRange(1-p.q, size)), beyond(most, stat.BeyondRange(p.q, size))}
		if lo >= 0 {
			in.Low = rank(lo)
		}
		if hi < res.Count {
			in.High = rank(hi)
		}
		in = Interval{min(at, in.Low), max(at, in.High)}
		c.plausible = append(c.plausible, Plausible{p.stat, in, lo >= 0 && hi < res.Count, size})
	}
}

// beyond is a plausible value above the largest of a sample, and below one beneath the
// least. The values of nearly all metrics are positive; of the others nothing is known.
func beyond(most, factor float64) float64 {
	if most < 0 {
		return math.Inf(1)
	}
	return most * factor
}

func below(least, factor float64) float64 {
	if least < 0 {
		return math.Inf(-1)
	}
	return least / factor
}

// meanInterval returns the interval of the mean, within the range of the values.
func meanInterval(res *Result, effective float64, freedom int) Interval {
	mean, _ := res.Get(Avg)
	std, _ := res.Get(Std)
	lo, _ := res.Get(Min)
	hi, _ := res.Get(Max)
	half := stat.MeanMargin(std, res.Count, effective, freedom)
	return Interval{Low: max(lo, mean-half), High: min(hi, mean+half)}
}

// unsupported lists the percentiles of a result with too few effective values
// beyond. Those that are not monitored take the size of the nearest that is; nil
// stands for a sample of one. Lengths and counts that are all equal are no sample, but what
// was asked for.
func unsupported(res *Result, sizes *[len(monitored)]float64) []Stat {
	var out []Stat
	least, _ := res.Get(Min)
	if asked := res.Def.Unit == "tokens" || res.Def.Unit == "count"; asked && sizes != nil && least == res.values[Max] {
		return nil
	}
	for _, p := range percentiles {
		if _, ok := res.Get(p.stat); !ok {
			continue
		}
		size := 1.0
		if sizes != nil {
			size = sizes[nearestMonitored(p.q)]
		}
		if !stat.Supports(size, p.q) {
			out = append(out, p.stat)
		}
	}
	return out
}

// nearestMonitored returns the index of the monitored quantile nearest to q.
func nearestMonitored(q float64) int {
	best := 0
	for i, m := range monitored {
		if math.Abs(m-q) <= math.Abs(monitored[best]-q) {
			best = i
		}
	}
	return best
}
