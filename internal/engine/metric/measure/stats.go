package measure

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/stat"
)

// percentile is a statistic with its quantile and the number of values from
// which on it is given.
type percentile struct {
	stat metric.Stat
	q    float64
	from int64
}

// percentiles are all of them, ascending.
var percentiles = [...]percentile{
	{metric.P1, 0.01, 1}, {metric.P5, 0.05, 1}, {metric.P10, 0.10, 1}, {metric.P25, 0.25, 1}, {metric.P50, 0.50, 1}, {metric.P75, 0.75, 1},
	{metric.P90, 0.90, 1}, {metric.P95, 0.95, 1}, {metric.P99, 0.99, 1}, {metric.P999, 0.999, 1000}, {metric.P9999, 0.9999, 10000},
}

// quantiles are the quantiles of percentiles.
var quantiles = func() (qs [len(percentiles)]float64) {
	for i, p := range percentiles {
		qs[i] = p.q
	}
	return qs
}()

// exactly fills a result from all values in base units, given in order of
// observation and sorted.
func exactly(res *metric.Result, runs iter.Seq[[]float64], sorted []float64, div float64) {
	n := float64(len(sorted))
	var sum float64
	for run := range runs {
		for _, x := range run {
			sum += x
		}
	}
	mean := sum / n
	var squares float64
	for run := range runs {
		for _, x := range run {
			squares += (x - mean) * (x - mean)
		}
	}
	res.Count = int64(len(sorted))
	res.Set(metric.Avg, mean/div)
	res.Set(metric.Min, sorted[0]/div)
	res.Set(metric.Max, sorted[len(sorted)-1]/div)
	res.Set(metric.Sum, sum/div)
	res.Set(metric.Std, math.Sqrt(squares/n)/div)
	setQuantiles(res, sorted, div)
	spread(res)
	res.Set(metric.MAD, stat.MedianDeviation(sorted)/div)
}

// atLeast fills a result from lower bounds in base units, sorted. Only the statistics
// that are lower bounds themselves exist.
func atLeast(res *metric.Result, sorted []float64, div float64) {
	var sum float64
	for _, x := range sorted {
		sum += x
	}
	res.Count = int64(len(sorted))
	res.Set(metric.Avg, sum/float64(len(sorted))/div)
	res.Set(metric.Min, sorted[0]/div)
	res.Set(metric.Max, sorted[len(sorted)-1]/div)
	setQuantiles(res, sorted, div)
}

// setQuantiles sets the percentiles of sorted values in base units.
func setQuantiles(res *metric.Result, sorted []float64, div float64) {
	for _, p := range percentiles {
		if res.Count >= p.from {
			res.Set(p.stat, stat.Quantile(sorted, p.q)/div)
		}
	}
}

// sketchedLeast does the same from a sketch; scale turns its unit into the shown one.
func sketchedLeast(res *metric.Result, s *sketch.Sketch, scale float64) {
	res.Count, res.RelError = int64(s.Count()), sketch.RelativeError
	res.Set(metric.Avg, s.Mean()*scale)
	res.Set(metric.Min, s.Min()*scale)
	res.Set(metric.Max, s.Max()*scale)
	var out [len(percentiles)]float64
	s.Quantiles(quantiles[:], out[:])
	for i, p := range percentiles {
		if res.Count >= p.from {
			res.Set(p.stat, out[i]*scale)
		}
	}
}

// spread adds the statistics that follow from others.
func spread(res *metric.Result) {
	get := func(s metric.Stat) float64 {
		v, ok := res.Get(s)
		if !ok {
			return math.NaN()
		}
		return v
	}
	res.Set(metric.IQR, get(metric.P75)-get(metric.P25))
	if n := float64(res.Count); n > 1 {
		res.Set(metric.StdSample, get(metric.Std)*math.Sqrt(n/(n-1)))
	}
	if p50 := get(metric.P50); p50 > 0 {
		res.Set(metric.TailRatio, get(metric.P99)/p50)
	}
}

// sketched fills a result from a sketch; scale turns its unit into the shown one.
func sketched(res *metric.Result, s *sketch.Sketch, scale float64) {
	sketchedLeast(res, s, scale)
	res.Set(metric.Sum, s.Sum()*scale)
	res.Set(metric.Std, s.Std()*scale)
	spread(res)
}

// medianDeviation estimates the median distance from the median. All values of a bucket
// count as its middle, or as the median if that is in it.
func medianDeviation(s *sketch.Sketch) float64 {
	median := s.Quantile(0.5)
	var all []timeline.Weight // of a distance, its number
	var n float64
	for b := range s.Buckets() {
		w := timeline.Weight{Value: math.Abs((b.Lower+b.Upper)/2 - median), Seconds: float64(b.Count)}
		if b.Lower <= median && median <= b.Upper {
			w.Value = 0
		}
		all, n = append(all, w), n+w.Seconds
	}
	slices.SortFunc(all, func(a, b timeline.Weight) int { return cmp.Compare(a.Value, b.Value) })
	var seen float64
	for _, w := range all {
		if seen += w.Seconds; seen >= n/2 {
			return w.Value
		}
	}
	return math.NaN()
}

// withErrors fills a result from n values and as many infinite ones as there
// were errors. rank returns the k-th smallest of the n values, from 0; it is
// called with ascending k.
func withErrors(res *metric.Result, n, errors int64, rank func(k int64) float64) {
	res.Count = n + errors
	res.Set(metric.Min, rank(0))
	for _, s := range []metric.Stat{metric.Avg, metric.Max, metric.Sum} {
		res.Set(s, math.Inf(1))
	}
	for _, p := range percentiles {
		if res.Count < p.from {
			continue
		}
		if k := stat.ClosestRank(p.q, res.Count); k < n {
			res.Set(p.stat, rank(k))
		} else {
			res.Set(p.stat, math.Inf(1))
		}
	}
}

// weighted fills a result with time-weighted statistics. A quantile is the
// smallest value at or below which the share q of the time was spent.
func weighted(res *metric.Result, ws []timeline.Weight) {
	var total, sum float64
	for _, w := range ws {
		total += w.Seconds
		sum += w.Value * w.Seconds
	}
	if !(total > 0) {
		return
	}
	mean := sum / total
	var squares float64
	for _, w := range ws {
		squares += (w.Value - mean) * (w.Value - mean) * w.Seconds
	}
	slices.SortFunc(ws, func(a, b timeline.Weight) int { return cmp.Compare(a.Value, b.Value) })
	res.Set(metric.Avg, mean)
	res.Set(metric.Min, ws[0].Value)
	res.Set(metric.Max, ws[len(ws)-1].Value)
	res.Set(metric.Std, math.Sqrt(squares/total))
	var seen float64
	i := 0
	for _, p := range percentiles {
		switch p.stat {
		case metric.P50, metric.P90, metric.P95, metric.P99:
		default:
			continue
		}
		for seen+ws[i].Seconds < p.q*total && i < len(ws)-1 {
			seen += ws[i].Seconds
			i++
		}
		res.Set(p.stat, ws[i].Value)
	}
}
