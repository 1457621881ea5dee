package stat

import "math"

// Student returns the quantile p, between 0 and 1, of Student's distribution. The degrees
// of freedom are above 0 and need not be whole.
func Student(p, freedom float64) float64 {
	if p < 0.5 {
		return -Student(1-p, freedom)
	}
	tail := 2 * (1 - p)
	lo, hi := 0.0, 1.0
	for StudentTail(hi, freedom) > tail && hi < 1e18 {
		lo, hi = hi, 2*hi
	}
	for range 200 {
		mid := (lo + hi) / 2
		if mid == lo || mid == hi {
			break
		}
		if StudentTail(mid, freedom) > tail {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// StudentTail returns the probability that a value of Student's distribution is farther
// from 0 than t: the p-value of a two-sided test (DLMF 8.17, Abramowitz and Stegun 26.7.1).
func StudentTail(t, freedom float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return betaShare(freedom/(freedom+t*t), freedom/2, 0.5)
}

// betaShare is the regularized incomplete beta function I_x(a, b) for x from 0 to 1, by its
// continued fraction (DLMF 8.17.22), which converges fast below (a+1)/(a+b+2); above, the
// function follows from its mirror image.
func betaShare(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaShare(1-x, b, a)
	}
	whole, _ := math.Lgamma(a + b)
	left, _ := math.Lgamma(a)
	right, _ := math.Lgamma(b)
	front := math.Exp(whole-left-right+a*math.Log(x)+b*math.Log1p(-x)) / a
	// The fraction 1 + d₁/(1 + d₂/(1 + …)) is evaluated from its beginning (modified Lentz, DLMF
	// 3.10(iii)) until a further term changes no digit. No denominator gets 0 for these a and b.
	const most = 10_000
	value, above, below := 1.0, 1.0, 0.0
	for n := 1; n <= most; n++ {
		m := float64(n / 2)
		var d float64
		if n%2 == 0 {
			d = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		} else {
			d = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		below = 1 / (1 + d*below)
		above = 1 + d/above
		value *= above * below
		if math.Abs(above*below-1) < 1e-16 {
			break
		}
	}
	return front / value
}
