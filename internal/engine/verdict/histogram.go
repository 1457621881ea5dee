package verdict

import (
	"math"
	"math/bits"
	"time"
)

// The shape of a [Histogram].
const (
	unitBits = 10 // the finest bucket is 1024 ns wide
	subBits  = 4  // 16 buckets per octave
	octaves  = 23 // up to 2^27 units, 137 s
	buckets  = (octaves + 1) << subBits
)

// Histogram counts durations in fixed buckets: 1 µs wide up to 16 µs, then
// sixteen per octave, so that a quantile is at most 6.3 % too high and never too
// low. Negative durations count as 0, those above 137 s as 137 s. The zero value
// is empty. It is a value of 3 KB without pointers: assignment copies it. Not
// safe for concurrent use.
type Histogram struct {
	counts [buckets]uint64
	count  uint64
	sum    time.Duration
	max    time.Duration
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) { h.AddN(d, 1) }

// AddN counts a duration n times: a bucket of another histogram by its upper
// bound, for example.
func (h *Histogram) AddN(d time.Duration, n uint64) {
	if n == 0 {
		return
	}
	d = max(d, 0)
	h.counts[bucket(d)] += n
	h.count += n
	h.sum += d * time.Duration(n)
	h.max = max(h.max, d)
}

// bucket returns the index of the bucket of d ≥ 0.
func bucket(d time.Duration) int {
	u := uint64(d) >> unitBits
	if u < 1<<subBits {
		return int(u)
	}
	octave := bits.Len64(u) - 1 - subBits
	return min(octave<<subBits+int(u>>octave), buckets-1)
}

// upper returns the upper bound of a bucket.
func upper(i int) time.Duration {
	if i < 1<<subBits {
		return time.Duration(i+1) << unitBits
	}
	octave := i>>subBits - 1
	return time.Duration(i&(1<<subBits-1)+1<<subBits+1) << (octave + unitBits)
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.count += o.count
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// Since returns the durations that were counted after h equalled earlier. The largest value
// is known to within its bucket then.
func (h *Histogram) Since(earlier *Histogram) Histogram {
	d := Histogram{count: h.count - earlier.count, sum: h.sum - earlier.sum}
	for i := range h.counts {
		if d.counts[i] = h.counts[i] - earlier.counts[i]; d.counts[i] > 0 {
			d.max = min(upper(i), h.max)
		}
	}
	return d
}

// Count returns how many durations were counted.
func (h *Histogram) Count() int64 { return int64(h.count) }

// Sum returns the sum of all durations.
func (h *Histogram) Sum() time.Duration { return h.sum }

// Mean returns the mean duration; 0 without any.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return h.sum / time.Duration(h.count)
}

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns a bound that at least the share q of all durations does not
// exceed; 0 without any.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(h.count)))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank && n > 0 {
			return min(upper(i), h.max)
		}
	}
	return h.max
}

// Above returns how many durations are longer than limit, to within the bucket
// that limit is in: durations of that bucket do not count.
func (h *Histogram) Above(limit time.Duration) int64 {
	var n uint64
	for _, c := range h.counts[min(bucket(max(limit, 0))+1, buckets-1):] {
		n += c
	}
	return int64(n)
}
