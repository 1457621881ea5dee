package stat

import "math"

// Quantile returns the quantile q, from 0 to 1, of values in ascending order:
// position q·(n-1) of the values, interpolated linearly, which is numpy's default
// and type 7 of Hyndman and Fan (1996). NaN without values.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	r := q * float64(len(sorted)-1)
	lo := int(r)
	if lo+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[lo] + (r-float64(lo))*(sorted[lo+1]-sorted[lo])
}

// ClosestRank returns the rank, from 0, of the value that is closest to the
// quantile q of n values: position q·(n-1) rounded to the nearest integer, halves
// to the even one. It is numpy's method "nearest".
func ClosestRank(q float64, n int64) int64 { return int64(math.RoundToEven(q * float64(n-1))) }

// NearestRank returns the smallest rank, from 1, that at least the share q of n
// values does not exceed: the inverse of the empirical distribution. n must be at
// least 1.
func NearestRank(q float64, n int) int { return min(max(Ceil(q*float64(n)), 1), n) }

// Ceil is the least integer that is not less than x, up to the rounding error of a
// product.
func Ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }
