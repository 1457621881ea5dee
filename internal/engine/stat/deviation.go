package stat

import "math"

// MedianDeviation returns the median of the distances of values, in ascending order, from
// their median; NaN without values.
func MedianDeviation(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	median := Quantile(sorted, 0.5)
	right := n / 2 // values from here on are at least the median
	left := right - 1
	var last, before float64
	for range n/2 + 1 {
		before = last
		if right >= n || left >= 0 && median-sorted[left] <= sorted[right]-median {
			last = median - sorted[left]
			left--
		} else {
			last = sorted[right] - median
			right++
		}
	}
	if n%2 == 0 {
		return (before + last) / 2
	}
	return last
}
