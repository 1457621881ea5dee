package stat

import "math"

// PredictionRank returns the rank j, from 1, of a sample of m values that the
// quantile q of another m values of the same kind does not exceed with the
// confidence level, and the confidence of that rank. If no rank is good enough,
// because there are too few values, it is the largest one, with less confidence.
func PredictionRank(q, level float64, m int) (j int, confidence float64) {
	k := NearestRank(q, m)
	for j = k; j < m; j++ {
		if confidence = precedence(m, k, j); confidence >= level {
			return j, confidence
		}
	}
	return m, precedence(m, k, m)
}

// maxSummed is the number of values up to which precedence is summed exactly;
// beyond, its terms are those of a normal distribution.
const maxSummed = 50_000

// precedence returns the probability that the k-th smallest of m values is at most
// the j-th smallest of m others from the same continuous distribution, whatever
// that is: that at least k of the ones lie below the j-th of the others. How many
// do is negative hypergeometric (H. A. David and H. N. Nagaraja, Order Statistics,
// section 2.5).
func precedence(m, k, j int) float64 {
	if m > maxSummed {
		p := float64(k) / float64(m)
		sd := math.Sqrt(2 * float64(m) * p * (1 - p))
		return 0.5 * math.Erfc(-(float64(j-k)+0.5)/sd/math.Sqrt2)
	}
	all := logBinomial(2*m, m)
	sum := 0.0
	for i := k; i <= m; i++ {
		sum += math.Exp(logBinomial(j-1+i, i) + logBinomial(2*m-j-i, m-i) - all)
	}
	return min(sum, 1)
}
