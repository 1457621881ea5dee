package measure

import (
	"math"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/stat"
)

// monitored are the quantiles that have an interval, in ascending order.
var monitored = [stat.Thresholds]float64{0.50, 0.90, 0.95, 0.99}

// monitoredStats are the statistics of the monitored quantiles.
var monitoredStats = [len(monitored)]metric.Stat{metric.P50, metric.P90, metric.P95, metric.P99}

// newConfidence returns the confidence of a result that is otherwise complete. rank
// returns the k-th smallest value in display units, from 0.
func newConfidence(res *metric.Result, sequence *stat.Sequence, rank func(k int64) float64) *metric.Confidence {
	n := res.Count
	if n < 2 {
		c := &metric.Confidence{Effective: float64(n), Unsupported: unsupported(res, nil)}
		extrapolate(c, res, &[len(monitored)]float64{1, 1, 1, 1}, rank)
		return c
	}
	effective, freedom := sequence.Effective()
	c := &metric.Confidence{Effective: effective}
	c.SetInterval(metric.Avg, meanInterval(res, effective, freedom))
	var sizes [len(monitored)]float64
	for i := range monitored {
		size, ok := sequence.EffectiveAbove(i)
		if !ok {
			size = effective
		}
		sizes[i] = size
		c.SetIndependent(monitoredStats[i], size)
	}
	c.Unsupported = unsupported(res, &sizes)
	extrapolate(c, res, &sizes, rank)
	for _, s := range metric.IntervalStats() {
		if p := c.Plausible(s); p != nil && p.Observed {
			c.SetInterval(s, p.Interval)
		}
	}
	return c
}

// extrapolate sets where the true values of the mean and of the percentiles may lie; sizes
// are the effective sizes of the monitored quantiles.
func extrapolate(c *metric.Confidence, res *metric.Result, sizes *[len(monitored)]float64, rank func(k int64) float64) {
	least, _ := res.Get(metric.Min)
	most, _ := res.Get(metric.Max)
	mean, known := c.Interval(metric.Avg)
	if !known { // one value, or none that is finite
		mean = metric.Interval{Low: math.Inf(-1), High: math.Inf(1)}
	}
	c.AddPlausible(&metric.Plausible{Stat: metric.Avg, Interval: mean, Observed: known, Effective: c.Effective})
	for _, p := range percentiles {
		at, ok := res.Get(p.stat)
		if !ok {
			continue
		}
		size := sizes[nearestMonitored(p.q)]
		lo, hi := stat.QuantileRanks(p.q, int64(size), res.Count)
		in := metric.Interval{Low: below(least, stat.BeyondRange(1-p.q, size)), High: beyond(most, stat.BeyondRange(p.q, size))}
		if lo >= 0 {
			in.Low = rank(lo)
		}
		if hi < res.Count {
			in.High = rank(hi)
		}
		in = metric.Interval{Low: min(at, in.Low), High: max(at, in.High)}
		c.AddPlausible(&metric.Plausible{Stat: p.stat, Interval: in, Observed: lo >= 0 && hi < res.Count, Effective: size})
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
func meanInterval(res *metric.Result, effective float64, freedom int) metric.Interval {
	mean, _ := res.Get(metric.Avg)
	std, _ := res.Get(metric.Std)
	lo, _ := res.Get(metric.Min)
	hi, _ := res.Get(metric.Max)
	half := stat.MeanMargin(std, res.Count, effective, freedom)
	return metric.Interval{Low: max(lo, mean-half), High: min(hi, mean+half)}
}

// unsupported lists the percentiles of a result with too few effective values
// beyond. Those that are not monitored take the size of the nearest that is; nil
// stands for a sample of one. Lengths and counts that are all equal are no sample, but what
// was asked for.
func unsupported(res *metric.Result, sizes *[len(monitored)]float64) []metric.Stat {
	var out []metric.Stat
	least, _ := res.Get(metric.Min)
	most, _ := res.Get(metric.Max)
	asked := res.Def.Unit == "tokens" || res.Def.Unit == "count"
	if asked && sizes != nil && least == most {
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
		if !metric.Supports(size, p.q) {
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
