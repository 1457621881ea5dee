package stat

import "math"

// Student returns the quantile p, between 0 and 1, of Student's distribution with at
// least one degree of freedom.
func Student(p float64, freedom int) float64 {
	if p < 0.5 {
		return -Student(1-p, freedom)
	}
	lo, hi := 0.0, 1.0
	for studentCDF(hi, freedom) < p && hi < 1e18 {
		lo, hi = hi, 2*hi
	}
	for range 200 {
		mid := (lo + hi) / 2
		if mid == lo || mid == hi {
			break
		}
		if studentCDF(mid, freedom) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// studentCDF returns the distribution function at t ≥ 0, by the finite sums for whole
// degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
func studentCDF(t float64, freedom int) float64 {
	v := float64(freedom)
	theta := math.Atan(t / math.Sqrt(v))
	sin, cos := math.Sincos(theta)
	term, sum := 1.0, 0.0
	if freedom%2 == 1 {
		term = cos
		for k := 1; k <= freedom-2; k += 2 {
			sum += term
			term *= cos * cos * float64(k+1) / float64(k+2)
		}
		return 0.5 + (theta+sin*sum)/math.Pi
	}
	for k := 0; k <= freedom-2; k += 2 {
		sum += term
		term *= cos * cos * float64(k+1) / float64(k+2)
	}
	return 0.5 + sin*sum/2
}
