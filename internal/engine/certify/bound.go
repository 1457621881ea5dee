package certify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/stat"
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
// on nothing but j ([stat.PredictionRank]). The smallest j that is good enough counts. Where
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
	b.p50, b.p99, b.max = sorted[stat.NearestRank(0.5, n)-1], sorted[stat.NearestRank(tail, n)-1], sorted[n-1]
	b.effective = stat.EffectiveAtLeast(errs, b.p99)
	j, confidence := stat.PredictionRank(tail, level, b.effective)
	b.confidence, b.extrapolated = confidence, confidence < level
	b.added = sorted[min(n, stat.Ceil(float64(j)*float64(n)/float64(b.effective)))-1]
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
	return values[stat.NearestRank(tail, len(values))-1]
}
