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
	// fewer than five effective values lie beyond.
	Unsupported []Stat

	intervals [len(intervalStats)]Interval
	has       uint8
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
		return &Confidence{Effective: float64(n), Unsupported: unsupported(res, nil)}
	}
	effective, freedom := sequence.Effective()
	c := &Confidence{Effective: effective}
	c.set(0, meanInterval(res, effective, freedom))
	var sizes [len(monitored)]float64
	for i, p := range monitored {
		size, ok := sequence.EffectiveAbove(i)
		if !ok {
			size = effective
		}
		sizes[i] = size
		lo, hi, ok := stat.QuantileRanks(p, int64(size), n)
		if !ok {
			continue
		}
		at, _ := res.Get(intervalStats[i+1])
		c.set(i+1, Interval{Low: min(at, rank(lo)), High: max(at, rank(hi))})
	}
	c.Unsupported = unsupported(res, &sizes)
	return c
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
// stands for a sample of one.
func unsupported(res *Result, sizes *[len(monitored)]float64) []Stat {
	var out []Stat
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
