package stat

import (
	"math"
	"slices"
)

// The rules by which values form two groups.
const (
	leastValues    = 100  // of which groups are sought
	leastAshman    = 2.5  // distance of the means in deviations (Ashman, Bird and Zepf, Astron. J. 108, 1994)
	deepestShare   = 0.5  // of the density at the lower peak that the density between the groups may reach
	leastGroup     = 0.02 // share of the values
	leastVariance  = 1e-4 // of a group, as a share of that of all values
	densitySamples = 100  // between the means
)

// Residuals returns what is left of ys once their best line over xs is taken away. Both are equally long. If all xs are
// equal, the line is flat.
func Residuals(xs, ys []float64) []float64 {
	meanX, meanY := meanOf(xs), meanOf(ys)
	var products, squares float64
	for i := range xs {
		products += (xs[i] - meanX) * (ys[i] - meanY)
		squares += (xs[i] - meanX) * (xs[i] - meanX)
	}
	slope := 0.0
	if squares > 0 {
		slope = products / squares
	}
	out := make([]float64, len(ys))
	for i := range ys {
		out[i] = ys[i] - meanY - slope*(xs[i]-meanX)
	}
	return out
}

// LowerGroup returns the share of the values that belong to the lower one of two groups, whose means are at least apart
// from each other; ok is false if the values do not form two groups. The groups are those with the least deviations
// from their means; few values lie between them.
func LowerGroup(values []float64, apart float64) (share float64, ok bool) {
	n := len(values)
	if n < leastValues {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	cut := bestSplit(sorted)
	share = float64(cut) / float64(n)
	if share < leastGroup || share > 1-leastGroup {
		return 0, false
	}
	low, lowSquare := momentsOf(sorted[:cut])
	high, highSquare := momentsOf(sorted[cut:])
	if high-low < apart || (high-low)*math.Sqrt2 <= leastAshman*math.Sqrt(lowSquare+highSquare) {
		return 0, false
	}
	within := math.Sqrt((share*lowSquare + (1-share)*highSquare))
	width := 0.9 * within * math.Pow(float64(n), -0.2) // Silverman's rule
	if width == 0 {
		return share, true
	}
	return share, hollow(sorted, low, high, (sorted[cut-1]+sorted[cut])/2, width)
}

// bestSplit returns where sorted values are cut so that they are likeliest as draws from two normal distributions, each
// with its own share, mean and deviation. With equal deviations the cut may lie within a large group beside a small one.
func bestSplit(sorted []float64) int {
	n := len(sorted)
	least := max(2, int(math.Ceil(leastGroup*float64(n))))
	sums, squares := make([]float64, n+1), make([]float64, n+1)
	for i, v := range sorted {
		sums[i+1], squares[i+1] = sums[i]+v, squares[i]+v*v
	}
	floor := leastVariance * (squares[n]/float64(n) - sums[n]/float64(n)*sums[n]/float64(n))
	cost := func(from, to int) float64 {
		k := float64(to - from)
		mean := (sums[to] - sums[from]) / k
		variance := max((squares[to]-squares[from])/k-mean*mean, floor, math.SmallestNonzeroFloat64)
		return k * (math.Log(variance)/2 - math.Log(k))
	}
	best, cut := math.Inf(1), least
	for i := least; i <= n-least; i++ {
		if c := cost(0, i) + cost(i, n); c < best {
			best, cut = c, i
		}
	}
	return cut
}

// momentsOf returns the mean of values and their mean square around it.
func momentsOf(values []float64) (mean, square float64) {
	mean = meanOf(values)
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	return mean, square / float64(len(values))
}

// hollow reports whether the density of values is low between the peaks on both sides of a cut.
func hollow(sorted []float64, low, high, cut, width float64) bool {
	at := make([]float64, densitySamples+1)
	density := make([]float64, len(at))
	for i := range at {
		at[i] = low + (high-low)*float64(i)/densitySamples
		for _, v := range sorted {
			z := (at[i] - v) / width
			density[i] += math.Exp(-z * z / 2)
		}
	}
	split := max(1, min(len(at)-1, slices.IndexFunc(at, func(x float64) bool { return x >= cut })))
	left := slices.Index(density[:split], slices.Max(density[:split]))
	right := split + slices.Index(density[split:], slices.Max(density[split:]))
	return slices.Min(density[left:right+1]) < deepestShare*min(density[left], density[right])
}
