package sketch

import (
	"iter"
	"math"
	"slices"
)

// Quantile estimates the quantile q (0 to 1) by the rule that position q·(n-1)
// of the sorted values is interpolated linearly, as numpy does by default. NaN
// without values or with q out of range; +Inf if an infinite value is involved.
func (s *Sketch) Quantile(q float64) float64 {
	var out [1]float64
	s.Quantiles([]float64{q}, out[:])
	return out[0]
}

// Quantiles estimates several quantiles in one pass, with the rule of
// [Sketch.Quantile]. qs must ascend; out receives one value for each.
func (s *Sketch) Quantiles(qs, out []float64) {
	w := walk{s: s}
	for i, q := range qs {
		out[i] = math.NaN()
		n := s.Count()
		if n == 0 || !(q >= 0 && q <= 1) {
			continue
		}
		r := q * float64(n-1)
		lo := math.Floor(r)
		frac := r - lo
		out[i] = w.at(uint64(lo))
		if frac > 0 {
			next := w.peek(uint64(lo) + 1)
			if math.IsInf(next, 1) {
				out[i] = next
			} else {
				out[i] += frac * (next - out[i])
			}
		}
	}
}

// Rank estimates the k-th smallest value, k from 0; NaN if there is none.
func (s *Sketch) Rank(k uint64) float64 {
	if k >= s.Count() {
		return math.NaN()
	}
	w := walk{s: s}
	return w.at(k)
}

// walk finds ascending ranks in one pass over the buckets.
type walk struct {
	s    *Sketch
	seen uint64 // values in the buckets before the cursor
	pos  int    // cursor: negative buckets from the far end, the zeros, then positive buckets
}

// at returns the estimate of rank k, which must not be less than any k before.
func (w *walk) at(k uint64) float64 {
	s := w.s
	negs, all := len(s.neg.counts), len(s.neg.counts)+1+len(s.pos.counts)
	for ; w.pos < all; w.pos++ {
		c := s.zeros
		switch {
		case w.pos < negs:
			c = s.neg.counts[negs-1-w.pos]
		case w.pos > negs:
			c = s.pos.counts[w.pos-negs-1]
		}
		if k < w.seen+c {
			return s.clamp(w.value(negs), k)
		}
		w.seen += c
	}
	return math.Inf(1)
}

// peek is at without moving the cursor.
func (w *walk) peek(k uint64) float64 {
	c := *w
	return c.at(k)
}

// value returns the estimate for the bucket at the cursor.
func (w *walk) value(negs int) float64 {
	switch {
	case w.pos < negs:
		return -upper(w.s.neg.base+negs-1-w.pos) * center
	case w.pos > negs:
		return upper(w.s.pos.base+w.pos-negs-1) * center
	}
	return 0
}

// clamp keeps an estimate between the exact extremes, and returns these for the
// first and the last finite rank.
func (s *Sketch) clamp(v float64, k uint64) float64 {
	switch k {
	case 0:
		return s.min
	case s.finite - 1:
		return s.max
	}
	return min(max(v, s.min), s.max)
}

// Bucket is a counted interval. Positive values lie in (Lower, Upper], negative
// ones in [Lower, Upper); the zeros have both bounds 0.
type Bucket struct {
	Lower, Upper float64
	Count        uint64
}

// Buckets yields the non-empty buckets in ascending order, without infinite values.
func (s *Sketch) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for i, c := range slices.Backward(s.neg.counts) {
			k := s.neg.base + i
			if c > 0 && !yield(Bucket{Lower: -upper(k), Upper: -upper(k - 1), Count: c}) {
				return
			}
		}
		if s.zeros > 0 && !yield(Bucket{Count: s.zeros}) {
			return
		}
		for i, c := range s.pos.counts {
			k := s.pos.base + i
			if c > 0 && !yield(Bucket{Lower: upper(k - 1), Upper: upper(k), Count: c}) {
				return
			}
		}
	}
}

// CountsAtMost returns for each bound, which must ascend, the number of finite values
// that are at most that bound, to the resolution of the buckets: values up to 0.55 %
// above a bound may be included.
func (s *Sketch) CountsAtMost(bounds ...float64) []uint64 {
	out := make([]uint64, len(bounds))
	var n uint64
	i := 0
	for b := range s.Buckets() {
		for i < len(bounds) && (b.Lower > bounds[i] || b.Lower == bounds[i] && bounds[i] > 0) {
			out[i] = n
			i++
		}
		n += b.Count
	}
	for ; i < len(bounds); i++ {
		out[i] = n
	}
	return out
}
