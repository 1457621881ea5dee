package metric

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/stat"
)

// percentile is a statistic with its quantile and the number of values from
// which on it is given.
type percentile struct {
	stat Stat
	q    float64
	from int64
}

// percentiles are all of them, ascending.
var percentiles = [...]percentile{
	{P1, 0.01, 1}, {P5, 0.05, 1}, {P10, 0.10, 1}, {P25, 0.25, 1}, {P50, 0.50, 1}, {P75, 0.75, 1},
	{P90, 0.90, 1}, {P95, 0.95, 1}, {P99, 0.99, 1}, {P999, 0.999, 1000}, {P9999, 0.9999, 10000},
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
func exactly(res *Result, runs iter.Seq[[]float64], sorted []float64, div float64) {
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
	res.Set(Avg, mean/div)
	res.Set(Min, sorted[0]/div)
	res.Set(Max, sorted[len(sorted)-1]/div)
	res.Set(Sum, sum/div)
	res.Set(Std, math.Sqrt(squares/n)/div)
	for _, p := range percentiles {
		if res.Count >= p.from {
			res.Set(p.stat, stat.Quantile(sorted, p.q)/div)
		}
	}
}

// sketched fills a result from a sketch; scale turns its unit into the shown one.
func sketched(res *Result, s *sketch.Sketch, scale float64) {
	res.Count = int64(s.Count())
	res.RelError = sketch.RelativeError
	res.Set(Avg, s.Mean()*scale)
	res.Set(Min, s.Min()*scale)
	res.Set(Max, s.Max()*scale)
	res.Set(Sum, s.Sum()*scale)
	res.Set(Std, s.Std()*scale)
	var out [len(percentiles)]float64
	s.Quantiles(quantiles[:], out[:])
	for i, p := range percentiles {
		if res.Count >= p.from {
			res.Set(p.stat, out[i]*scale)
		}
	}
}

// withErrors fills a result from n values and as many infinite ones as there
// were errors. rank returns the k-th smallest of the n values, from 0; it is
// called with ascending k.
func withErrors(res *Result, n, errors int64, rank func(k int64) float64) {
	res.Count = n + errors
	res.Set(Min, rank(0))
	for _, s := range []Stat{Avg, Max, Sum} {
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
func weighted(res *Result, ws []timeline.Weight) {
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
	res.Set(Avg, mean)
	res.Set(Min, ws[0].Value)
	res.Set(Max, ws[len(ws)-1].Value)
	res.Set(Std, math.Sqrt(squares/total))
	var seen float64
	i := 0
	for _, p := range percentiles {
		switch p.stat {
		case P50, P90, P95, P99:
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
