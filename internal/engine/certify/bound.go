package certify

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	certifiedQuantile = 0.99 // the percentile that is certified
	// level is the confidence of each of the two bounds. Both hold together with at
	// least 98 %, however they depend on each other. The promise is 95 %, because
	// conditions differ from run to run.
	level = 0.99
	// tailIndex is assumed in extrapolations: a tail heavier than that of any
	// distribution with a finite variance.
	tailIndex = 2.0
)

// sample is one latency: the reported and the true value.
type sample struct {
	at              time.Duration // when it was measured
	reported, truth time.Duration
	err             time.Duration // largest possible difference; ≥ 0
}

// bound is an upper bound of the error of a p99, for runs under the same conditions as
// the one that the samples are from.
type bound struct {
	count           int
	effective       int // effective sample size
	reported, truth time.Duration
	p50, p99, max   time.Duration // of the errors of single values
	added           time.Duration // the error of the p99 of the next run is at most this …
	confidence      float64       // … in at least this share of runs, whatever the distribution
	extrapolated    bool          // added was increased because that share is less than level
}

// newBound computes a bound from at least one sample. It sorts samples in place.
//
// The error of a p99 is bounded by an order statistic of the errors of single
// values. If the next run has as many values as this one, its own p99 of the
// errors is at most the j-th smallest of this one with a probability that depends
// only on j ([precedence]). The smallest j with enough confidence is used. If there
// are too few values for any, the largest is extrapolated under the assumption that
// the tail of the errors follows a power law with tailIndex: the ratio of the maxima
// of two such samples has that distribution, and its odds scale with the power. The
// bound is at least the observed difference of the two p99.
func newBound(samples []sample) bound {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	b := bound{
		count:    len(samples),
		reported: quantile(samples, func(s *sample) time.Duration { return s.reported }),
		truth:    quantile(samples, func(s *sample) time.Duration { return s.truth }),
	}
	errs := make([]time.Duration, len(samples))
	for i := range samples {
		errs[i] = samples[i].err
	}
	sorted := slices.Sorted(slices.Values(errs))
	n := len(sorted)
	b.p50, b.p99, b.max = sorted[rank(n, 0.5)-1], sorted[rank(n, certifiedQuantile)-1], sorted[n-1]
	b.effective = effective(errs, b.p99)
	j, confidence := order(b.effective)
	b.confidence, b.extrapolated = confidence, confidence < level
	b.added = sorted[min(n, ceil(float64(j)*float64(n)/float64(b.effective)))-1]
	if b.extrapolated {
		b.added = time.Duration(float64(b.added) * math.Pow(odds(level)/odds(confidence), 1/tailIndex))
	}
	b.added = max(b.added, (b.reported - b.truth).Abs())
	return b
}

func odds(p float64) float64 { return p / (1 - p) }

// quantile returns the p99 of what get returns.
func quantile(samples []sample, get func(*sample) time.Duration) time.Duration {
	values := make([]time.Duration, len(samples))
	for i := range samples {
		values[i] = get(&samples[i])
	}
	slices.Sort(values)
	return values[rank(len(values), certifiedQuantile)-1]
}

// rank is the 1-based rank of a quantile of n values.
func rank(n int, p float64) int { return min(max(ceil(p*float64(n)), 1), n) }

// ceil rounds up; it ignores the rounding error of a product.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }

// chi2Limit is the loss that batches of independent values exceed with a probability
// of 5 %: the 95 % quantile of chi-square with 19 degrees of freedom, divided by 19.
const chi2Limit = 1.587

// effective returns the effective sample size of a sequence for its p99. Late values
// come in bursts, because a pause of the client affects all streams. The share of
// values above the p99 then varies more between batches than it would by chance; the
// ratio of the variances is the loss (method of batch means).
func effective(errs []time.Duration, p99 time.Duration) int {
	const batches = 20
	n := len(errs)
	size := n / batches
	if size < 2 {
		return n
	}
	var above [batches]float64
	total := 0.0
	for b := range batches {
		for _, e := range errs[b*size : (b+1)*size] {
			if e >= p99 {
				above[b]++
			}
		}
		total += above[b]
	}
	mean, square := total/batches, 0.0
	for _, k := range above {
		square += (k - mean) * (k - mean)
	}
	share := mean / float64(size)
	chance := float64(size) * share * (1 - share)
	if chance <= 0 {
		return n
	}
	loss := square / (batches - 1) / chance
	if loss < chi2Limit {
		return n
	}
	return max(1, int(float64(n)/loss))
}

// order returns the smallest rank j of m values that is an upper bound of the p99 of
// another m values from the same distribution with the confidence level, and its
// confidence. If there are too few values, it returns m and a lower confidence.
func order(m int) (j int, confidence float64) {
	k := rank(m, certifiedQuantile)
	for j = k; j < m; j++ {
		if confidence = precedence(m, k, j); confidence >= level {
			return j, confidence
		}
	}
	return m, precedence(m, k, m)
}

// exact is the largest number of values for which precedence computes its sum; above,
// it uses the normal approximation.
const exact = 50_000

// precedence returns the probability that the k-th smallest of m values is at most
// the j-th smallest of m others from the same continuous distribution: that at least k
// of the former lie below the j-th of the latter. Their number has a negative
// hypergeometric distribution (H. A. David and H. N. Nagaraja, Order Statistics,
// section 2.5).
func precedence(m, k, j int) float64 {
	if m > exact {
		p := float64(k) / float64(m)
		sd := math.Sqrt(2 * float64(m) * p * (1 - p))
		return 0.5 * math.Erfc(-(float64(j-k)+0.5)/sd/math.Sqrt2)
	}
	all := logChoose(2*m, m)
	sum := 0.0
	for i := k; i <= m; i++ {
		sum += math.Exp(logChoose(j-1+i, i) + logChoose(2*m-j-i, m-i) - all)
	}
	return min(sum, 1)
}

// logChoose returns the logarithm of a binomial coefficient.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 {
		v, _ := math.Lgamma(float64(x) + 1)
		return v
	}
	return lg(n) - lg(k) - lg(n-k)
}
