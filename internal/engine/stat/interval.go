package stat

import "math"

// Level is the probability with which an interval covers the true value.
const Level = 0.95

// MeanMargin returns half the width of Student's interval of a mean. deviation is
// the population standard deviation of n values, which are worth effective
// independent ones; freedom is the degrees of freedom of that estimate.
func MeanMargin(deviation float64, n int64, effective float64, freedom int) float64 {
	return studentQuantile(freedom) * deviation * math.Sqrt(float64(n)/float64(n-1)/effective)
}

// QuantileRanks returns the ranks, from 0, of the two of n values in ascending order
// between which the quantile q lies, if the values are worth size independent
// ones. If size is too small for one of them, it is -1 or n.
func QuantileRanks(q float64, size, n int64) (lo, hi int64) {
	lo, hi = -1, n
	from, to := orderBounds(size, q)
	if from >= 1 {
		lo = scaleRank(from, size, n)
	}
	if to <= size {
		hi = scaleRank(to, size, n)
	}
	return lo, hi
}

// BeyondRange returns a factor for the quantile q that the largest of a few values does not
// bound: the quantile is at most that value times the factor, if the tail is not heavier
// than that of a Pareto distribution with index 1, whose mean is infinite. The largest of
// size independent values is, with 97.5 % probability, at least the quantile u for which
// u^size = 0.025; from there to q such a tail grows by (1-u)/(1-q) (Weissman, JASA 73,
// 1978). By symmetry, the least of the values divided by the factor for 1-q bounds a low
// quantile.
func BeyondRange(q, size float64) float64 {
	u := math.Pow((1-Level)/2, 1/max(1, size))
	return max(1, (1-u)/(1-q))
}

// scaleRank turns the k-th of size values, from 1, into a rank among n, from 0.
func scaleRank(k, size, n int64) int64 {
	r := math.Round((float64(k)-0.5)*float64(n)/float64(size) - 0.5)
	return min(max(0, int64(r)), n-1)
}

// normal975 is the quantile 0.975 of the standard normal distribution.
const normal975 = 1.959963984540054

// student975 are the quantiles 0.975 of Student's distribution for 1 to 10
// degrees of freedom.
var student975 = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281}

// studentQuantile returns the quantile 0.975 of Student's distribution: from the
// table for up to 10 degrees of freedom, by the expansion in 1/v (Abramowitz and
// Stegun 26.7.5) beyond, with an error of 1e-4.
func studentQuantile(v int) float64 {
	if v <= len(student975) {
		return student975[max(v, 1)-1]
	}
	const z = normal975
	n := float64(v)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n) +
		(3*math.Pow(z, 7)+19*math.Pow(z, 5)+17*z*z*z-15*z)/(384*n*n*n)
}

// orderBounds returns the ranks, from 1, of the two order statistics of n
// independent values between which the quantile p lies with at least 95 %
// probability, 2.5 % at most on each side (David and Nagaraja, Order Statistics,
// §7.1): the number of values below the quantile is binomial. If n is too small for one
// of them, it is 0 or n+1.
func orderBounds(n int64, p float64) (lo, hi int64) {
	if n < 1 {
		return 0, n + 1
	}
	const tail = (1 - Level) / 2
	if n > 1_000_000 { // normal to better than one part in a thousand of the deviation
		mean, deviation := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
		return int64(mean - normal975*deviation), int64(math.Ceil(mean+normal975*deviation)) + 1
	}
	return binomialQuantile(n, p, tail), n + 1 - binomialQuantile(n, 1-p, tail)
}

// binomialQuantile returns the largest r such that fewer than r successes in n
// trials have at most a probability of tail; 0 if there is none.
func binomialQuantile(n int64, p, tail float64) int64 {
	// Start where nothing is left below, eight deviations under the mean.
	from := max(0, int64(float64(n)*p-8*math.Sqrt(float64(n)*p*(1-p)))-1)
	chance := math.Exp(logBinomial(n, from) + float64(from)*math.Log(p) + float64(n-from)*math.Log1p(-p))
	odds := p / (1 - p)
	below := chance // probability of at most k
	for k := from; k < n; k++ {
		if below > tail {
			return k
		}
		chance *= odds * float64(n-k) / float64(k+1)
		below += chance
	}
	return n
}

// logBinomial is the logarithm of the binomial coefficient n over k.
func logBinomial[T int | int64](n, k T) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
