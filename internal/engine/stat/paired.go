package stat

import (
	"math"
	"slices"
)

// PairedMean compares the means of positive values of two runs that were measured in pairs: the
// logarithm of their ratio, with the error of the difference of both sequences, each divided by its
// mean. It also returns the correlation of successive blocks, to be compared with
// [LongestDependence]: that of the difference or, if requests queue, that of the runs if it is larger.
func PairedMean(a, b []float64, cuts *Cuts) (d Difference, blockCorrelation float64) {
	left, right := EstimateMean(a, cuts), EstimateMean(b, cuts)
	return paired(left, right, cuts, len(a), func(i int) float64 { return b[i]/right.Value - a[i]/left.Value })
}

// PairedPercentile compares percentiles of positive values of two runs that were measured in pairs,
// as PairedMean does: a percentile moves with the share of values above it, divided by the density
// of the values there. ok is false if a run does not support the percentile.
func PairedPercentile(a, b []float64, cuts *Cuts, p float64) (d Difference, blockCorrelation float64, ok bool) {
	estimateA, ok := EstimatePercentile(a, cuts, p)
	if !ok {
		return d, 0, false
	}
	estimateB, ok := EstimatePercentile(b, cuts, p)
	if !ok {
		return d, 0, false
	}
	qa, qb := estimateA.Value, estimateB.Value
	scaleA, scaleB := densityAt(a, p)*qa, densityAt(b, p)*qb
	if !(scaleA > 0 && scaleB > 0) || math.IsInf(scaleA, 0) || math.IsInf(scaleB, 0) {
		return d, 0, false
	}
	above := func(x, q float64) float64 {
		if x > q {
			return p
		}
		return p - 1
	}
	d, blockCorrelation = paired(estimateA, estimateB, cuts, len(a), func(i int) float64 {
		return above(b[i], qb)/scaleB - above(a[i], qa)/scaleA
	})
	return d, blockCorrelation, true
}

// paired returns the difference of two estimates from n pairs, of which difference gives the
// linearised differences.
func paired(a, b SeriesEstimate, cuts *Cuts, n int, difference func(i int) float64) (Difference, float64) {
	series := make([]float64, n)
	for i := range series {
		series[i] = difference(i)
	}
	_, standardError, _, correlation := SeriesMean(series, cuts)
	correlation /= math.Sqrt2 // that of one sequence varies more than the mean of two
	if min(a.Correlation, b.Correlation) > queued {
		correlation = max(correlation, (a.BlockCorrelation+b.BlockCorrelation)/2)
	}
	d := Difference{
		Estimate: math.Log(b.Value / a.Value), Below: standardError, Above: standardError, Freedom: intervalFreedom,
	}
	return d, correlation
}

// queued is the correlation of successive requests from which they wait in a queue: a queue whose
// memory is longer than a block distorts the linearised differences, although they cancel most of it.
const queued = 0.5

// densityAt returns the density of values at their percentile p, from the order statistics around
// it: those between which it would lie if the values were independent.
func densityAt(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	half := Student(0.975, intervalFreedom) * math.Sqrt(p*(1-p)/n)
	low, high := max(p-half, 0), min(p+half, 1)
	return (high - low) / (Quantile(sorted, high) - Quantile(sorted, low))
}
