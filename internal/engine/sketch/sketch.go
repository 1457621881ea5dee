// Package sketch estimates quantiles of a stream in bounded memory, with a
// stated error, and merges exactly.
//
// Buckets are exponential with base 2^(1/128): bucket i holds the values in
// (2^((i-1)/128), 2^(i/128)]. That is schema 7 of Prometheus native histograms,
// so a sketch can be exported at any schema from 0 to 7 without a second
// estimate. A bucket is found by integer arithmetic on the bits of the value, so
// equal values fall into equal buckets on every machine, and merging adds
// counts, so that its result does not depend on the order. No buckets are collapsed,
// so the error bound holds at every quantile; only the span between
// the smallest and the largest value costs memory (about 3.4 KB for each decade).
package sketch

import (
	"math"
	"slices"
)

// RelativeError bounds |estimate - exact| / |exact| of every quantile of values
// between [MinValue] and [MaxValue]: (γ-1)/(γ+1) with γ = 2^(1/128), rounded up.
const RelativeError = 0.00271

// MinValue and MaxValue are the smallest and the largest magnitude that are
// distinguished: 2^-60 (about 8.7e-19) and 2^60 (about 1.2e18). Smaller magnitudes count
// as zero, larger finite ones fall into the last bucket.
const (
	MinValue = 1.0 / MaxValue
	MaxValue = 1 << 60
)

// Sketch is a quantile sketch with exact count, sum, minimum and maximum. The
// zero Sketch is empty and ready to use. It is not safe for concurrent use.
//
// Values may be negative or +Inf; NaN and -Inf are ignored. An infinite value is
// counted, enters quantiles, and makes sum, mean and maximum infinite.
type Sketch struct {
	pos, neg store
	zeros    uint64
	infs     uint64
	finite   uint64  // values that are neither NaN nor infinite
	min, max float64 // of the finite values
	sum      float64 // of the finite values
	mean, m2 float64 // Welford, of the finite values
}

// New returns an empty sketch.
func New() *Sketch { return &Sketch{} }

// Add counts one value. It allocates only when the value lies outside the span
// seen so far.
func (s *Sketch) Add(v float64) {
	if !s.count(v) {
		return
	}
	s.finite++
	s.sum += v
	d := v - s.mean
	s.mean += d / float64(s.finite)
	s.m2 += d * (v - s.mean)
}

// count puts v into its bucket and reports whether it is finite. Minimum and
// maximum are kept here, because they need to know whether v is the first.
func (s *Sketch) count(v float64) bool {
	switch {
	case v >= MinValue && v <= math.MaxFloat64:
		s.pos.add(index(v), 1)
	case v <= -MinValue && v >= -math.MaxFloat64:
		s.neg.add(index(-v), 1)
	case v > 1:
		s.infs++
		return false
	case math.IsNaN(v) || v < -1:
		return false
	default:
		s.zeros++
	}
	if s.finite == 0 {
		s.min, s.max = v, v
	} else {
		s.min, s.max = min(s.min, v), max(s.max, v)
	}
	return true
}

// Merge adds the values of o, which stays as it is. Counts, minimum,
// maximum and quantiles do not depend on the order of merges; sums, means and
// deviations do in the last bits.
func (s *Sketch) Merge(o *Sketch) {
	s.infs += o.infs
	if o.finite == 0 {
		return
	}
	if s.finite == 0 {
		s.min, s.max = o.min, o.max
	} else {
		s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	}
	s.join(o.finite, o.sum, o.mean, o.m2)
	s.zeros += o.zeros
	s.pos.merge(&o.pos)
	s.neg.merge(&o.neg)
}

// Clone returns an independent copy.
func (s *Sketch) Clone() *Sketch {
	c := *s
	c.pos.counts = slices.Clone(s.pos.counts)
	c.neg.counts = slices.Clone(s.neg.counts)
	return &c
}

// Count returns the number of values, infinite ones included.
func (s *Sketch) Count() uint64 { return s.finite + s.infs }

// Sum returns the sum of the values, +Inf if one of them was; 0 without values.
func (s *Sketch) Sum() float64 {
	if s.infs > 0 {
		return math.Inf(1)
	}
	return s.sum
}

// Min returns the smallest value; NaN without values.
func (s *Sketch) Min() float64 {
	switch {
	case s.finite > 0:
		return s.min
	case s.infs > 0:
		return math.Inf(1)
	}
	return math.NaN()
}

// Max returns the largest value; NaN without values.
func (s *Sketch) Max() float64 {
	switch {
	case s.infs > 0:
		return math.Inf(1)
	case s.finite > 0:
		return s.max
	}
	return math.NaN()
}

// Mean returns the arithmetic mean, +Inf if a value was infinite; NaN without
// values.
func (s *Sketch) Mean() float64 {
	switch {
	case s.infs > 0:
		return math.Inf(1)
	case s.finite > 0:
		return s.sum / float64(s.finite)
	}
	return math.NaN()
}

// Std returns the population standard deviation; NaN without values or with an
// infinite one.
func (s *Sketch) Std() float64 {
	if s.finite == 0 || s.infs > 0 {
		return math.NaN()
	}
	return math.Sqrt(max(0, s.m2/float64(s.finite)))
}
