package certify

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	tail = 0.99 // the percentile that is certified
	// level is the confidence of each of the two bounds. Both hold together with
	// 98 %, whatever they have to do with each other; what is promised is 95 %,
	// because one run is never quite like the other.
	level = 0.99
	// tailIndex is for extrapolation: heavier than the tail of any distribution
	// with a variance.
	tailIndex = 2.0
)

// sample is one latency as the client reports it and as it was.
type sample struct {
	at              time.Duration // for the order in time
	reported, truth time.Duration
	err             time.Duration // what the two can differ by at most; ≥ 0
}

// bound is what samples say about the error of the p99 of a run like the one that
// they are from.
type bound struct {
	count           int
	effective       int // independent samples that they are worth
	reported, truth time.Duration
	p50, p99, max   time.Duration // of the errors of single values
	added           time.Duration // the p99 of the next run is off by at most this …
	confidence      float64       // … in at least this share of runs, whatever the distribution
	extrapolated    bool          // added was made larger because that share is less than level
}

// newBound computes a bound. samples are sorted in place; there must be one.
//
// The error of a p99 is bounded by an order statistic of the errors of single
// values. If the next run has as many values as this one, its own p99 of the
// errors is at most the j-th smallest of this one with a probability that depends
// on nothing but j ([precedence]). The smallest j that is good enough counts. Where
// there are too few values for any, the largest is multiplied by what it takes if
// the tail of the errors falls like a power of tailIndex: the ratio of the largest
// of two such samples has that distribution, and its odds scale with the power. The
// difference of the two p99 that was seen is never more than the bound.
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
	b.p50, b.p99, b.max = sorted[rank(n, 0.5)-1], sorted[rank(n, tail)-1], sorted[n-1]
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
	return values[rank(len(values), tail)-1]
}

// rank is the 1-based rank of a quantile of n values.
func rank(n int, p float64) int { return min(max(ceil(p*float64(n)), 1), n) }

// ceil forgives the rounding of a product.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }

// byChance is the loss that batches of independent values show in one of twenty
// cases: the 95 % quantile of chi-square with 19 degrees of freedom, by 19.
const byChance = 1.587

// effective returns how many independent values a sequence is worth for its p99.
// Late values come in bursts: what stops the client stops it for all streams. The
// share of values above the p99 varies more from one stretch of time to the next
// then than it would by chance, and that is the loss (batch means).
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
	if loss < byChance {
		return n
	}
	return max(1, int(float64(n)/loss))
}

// order returns the rank j of m values below which the p99 of another m values of
// the same kind lies with the wanted confidence, and that confidence. With few
// values none is good enough: then it is the largest, with less confidence.
func order(m int) (j int, confidence float64) {
	k := rank(m, tail)
	for j = k; j < m; j++ {
		if confidence = precedence(m, k, j); confidence >= level {
			return j, confidence
		}
	}
	return m, precedence(m, k, m)
}

// exact is up to how many values precedence is summed up; beyond, its terms are
// those of a normal distribution.
const exact = 50_000

// precedence returns the probability that the k-th smallest of m values is at most
// the j-th smallest of m others from the same continuous distribution, whatever
// that is: that at least k of the ones lie below the j-th of the others. How many
// do is negative hypergeometric (H. A. David and H. N. Nagaraja, Order Statistics,
// section 2.5).
func precedence(m, k, j int) float64 {
	if m > exact {
		p := float64(k) / float64(m)
		sd := math.Sqrt(2 * float64(m) * p * (1 - p))
		return 0.5 * math.Erfc(-(float64(j-k)+0.5)/sd/math.Sqrt2)
	}
	all := choose(2*m, m)
	sum := 0.0
	for i := k; i <= m; i++ {
		sum += math.Exp(choose(j-1+i, i) + choose(2*m-j-i, m-i) - all)
	}
	return min(sum, 1)
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	lg := func(x int) float64 {
		v, _ := math.Lgamma(float64(x) + 1)
		return v
	}
	return lg(n) - lg(k) - lg(n-k)
}
