package stat

import (
	"math"
	"slices"
)

// Blocks is the number of contiguous blocks into which a run is cut (Schmeiser, Oper. Res. 30, 1982:
// 10 to 30 of them; with 32, correlated latencies give twice as many false alarms).
const Blocks = 16

// Cuts are the borders of the blocks of a sequence: block k begins at Cuts[k] and ends before
// Cuts[k+1]. None is empty.
type Cuts [Blocks + 1]int

// EqualCuts returns the borders of blocks of equal count; n is at least [Blocks].
func EqualCuts(n int) *Cuts {
	var c Cuts
	for k := range c {
		c[k] = k * n / Blocks
	}
	return &c
}

// SessionCuts returns borders of blocks that contain about equally many values and cut no session;
// starts are the indexes at which sessions begin, the first of which is 0. ok is false for fewer
// sessions than blocks.
func SessionCuts(starts []int, n int) (c *Cuts, ok bool) {
	if len(starts) < Blocks {
		return nil, false
	}
	c = &Cuts{Blocks: n}
	last := 0 // index in starts of the border before
	for k := 1; k < Blocks; k++ {
		at, _ := slices.BinarySearch(starts, k*n/Blocks)
		last = min(max(at, last+1), len(starts)-Blocks+k)
		c[k] = starts[last]
	}
	return c, true
}

// sums returns the sum of the values of each block.
func (c *Cuts) sums(values []float64) (out [Blocks]float64) {
	for k := range out {
		for _, v := range values[c[k]:c[k+1]] {
			out[k] += v
		}
	}
	return out
}

// BlockMeans returns the means of blocks of equal count; there are at least [Blocks] values.
func BlockMeans(values []float64) (out [Blocks]float64) {
	c := EqualCuts(len(values))
	out, n := c.sums(values), c.counts()
	for k := range out {
		out[k] /= n[k]
	}
	return out
}

// RatioError returns the share Σsums/Σcounts and its standard error from blocks.
func RatioError(sums, counts [Blocks]float64) (share, standardError float64) {
	total, n := 0.0, 0.0
	for k := range sums {
		total += sums[k]
		n += counts[k]
	}
	share = total / n
	square := 0.0
	for k := range sums {
		square += (sums[k] - share*counts[k]) * (sums[k] - share*counts[k])
	}
	return share, math.Sqrt(square*Blocks/(Blocks-1)) / n
}

// counts returns the numbers of values of the blocks.
func (c *Cuts) counts() (out [Blocks]float64) {
	for k := range out {
		out[k] = float64(c[k+1] - c[k])
	}
	return out
}

// SeriesMean returns the mean of a sequence of at least 2·[Blocks] values, its standard error, the
// correlation of successive values, which is at least 0, and that of successive blocks. The error is the largest of three: that of the blocks, that
// of independent values, and that of a first-order autoregression, none of which alone holds for
// latencies of a queue.
func SeriesMean(values []float64, cuts *Cuts) (mean, standardError, correlation, blockCorrelation float64) {
	sums, counts := cuts.sums(values), cuts.counts()
	mean, ofBlocks := RatioError(sums, counts)
	n := float64(len(values))
	_, independent := meanError(values)
	independent *= math.Sqrt((n - 1) / n)
	correlation = max(0, lagCorrelation(values, mean))
	regressive := independent * math.Sqrt((1+correlation)/(1-correlation))
	means := make([]float64, Blocks)
	for k := range means {
		means[k] = sums[k] / counts[k]
	}
	centre := 0.0
	for _, m := range means {
		centre += m / Blocks
	}
	if math.IsInf(regressive, 0) || math.IsNaN(regressive) {
		regressive = independent * math.Sqrt(n)
	}
	return mean, max(ofBlocks, independent, regressive), correlation, lagCorrelation(means, centre)
}

// lagCorrelation returns the correlation of values with their successors; 0 of constant values.
func lagCorrelation(values []float64, mean float64) float64 {
	var product, square, before float64 // before is the distance of the value before from the mean
	for _, v := range values {
		square += (v - mean) * (v - mean)
		product += (v - mean) * before
		before = v - mean
	}
	if square == 0 {
		return 0
	}
	return product / square
}

// SeriesEstimate is an estimate from a sequence of dependent values.
type SeriesEstimate struct {
	Estimated
	Correlation float64 // of successive values, or of whether they are above the percentile; at least 0
	// BlockCorrelation is the correlation of successive blocks. Above [LongestDependence] the
	// sequence is shorter than its own correlation.
	BlockCorrelation float64
}

// LongestDependence is the correlation of successive blocks up to which their error is believed.
const LongestDependence = 0.3

// EstimateMean returns the mean of a sequence with its 95 % interval.
func EstimateMean(values []float64, cuts *Cuts) SeriesEstimate {
	mean, standardError, correlation, ofBlocks := SeriesMean(values, cuts)
	half := Student(0.975, intervalFreedom) * standardError
	return SeriesEstimate{Estimated{mean, mean - half, mean + half}, correlation, ofBlocks}
}

// EstimatePercentile returns the percentile p, between 0 and 1, of a sequence with its 95 %
// interval: the order statistics between which it lies by the error of the share of values above it
// (Woodruff, JASA 47, 1952). ok is false if they would lie beyond the extremes.
func EstimatePercentile(values []float64, cuts *Cuts, p float64) (e SeriesEstimate, ok bool) {
	sorted := slices.Sorted(slices.Values(values))
	e.Value = Quantile(sorted, p)
	_, standardError, correlation, ofBlocks := SeriesMean(indicator(values, e.Value), cuts)
	half := Student(0.975, intervalFreedom) * standardError
	edge := 1 / float64(len(values))
	if p-half < edge || p+half > 1-edge {
		return e, false
	}
	e.Low, e.High = Quantile(sorted, p-half), Quantile(sorted, p+half)
	e.Correlation, e.BlockCorrelation = correlation, ofBlocks
	return e, true
}

// indicator returns 1 for values above q and 0 for others.
func indicator(values []float64, q float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if v > q {
			out[i] = 1
		}
	}
	return out
}

// EstimateRate returns a rate per second, with its 95 % interval, from what was counted in
// successive parts of equal length of a time in seconds.
func EstimateRate(sums [Blocks]float64, seconds float64) SeriesEstimate {
	rates := make([]float64, Blocks)
	for k, sum := range sums {
		rates[k] = sum * Blocks / seconds
	}
	mean, standardError := meanError(rates)
	half := Student(0.975, intervalFreedom) * standardError
	e := Estimated{mean, mean - half, mean + half}
	return SeriesEstimate{Estimated: e, BlockCorrelation: lagCorrelation(rates, mean)}
}
