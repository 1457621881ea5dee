// Package random provides the distributions from which lengths, counts and times are
// drawn.
package random

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Bounds of the parameters of a distribution. They prevent a typing error from
// exhausting the memory.
const (
	MaxValue     = 1e9 // mean, median, points, clamps
	maxDistDepth = 4   // mixtures of mixtures
	MaxRejects   = 10_000
)

// Spec describes a distribution as documents do. Exactly one of Mean, Peaks
// and Points is given; Stddev and Median go with Mean and exclude each other.
type Spec struct {
	Mean   *float64 // ≥ 0; alone: a constant
	Stddev float64  // ≥ 0; normal, truncated at 0 by rejection
	Median *float64 // > 0 and < Mean: log-normal
	Min    *float64 // ≥ 0; clamp after drawing
	Max    *float64 // ≥ Min; clamp after drawing
	Peaks  []Peak   // mixture
	Points []Point  // empirical
}

// Peak is one component of a mixture.
type Peak struct {
	Spec
	Weight float64 // > 0, relative to the other peaks
}

// Point is one value of an empirical distribution.
type Point struct {
	Value  float64 // ≥ 0
	Weight float64 // > 0, relative to the other points
}

type distKind uint8

const (
	distNone distKind = iota
	distConstant
	distNormal
	distLogNormal
	distMixture
	distEmpirical
)

// Dist is a distribution of non-negative numbers. The zero value means "not
// given" and draws 0; [New] and [Fixed] return others. A Dist is immutable
// and safe for concurrent use.
type Dist struct {
	kind     distKind
	a, b     float64 // constant: value; normal: mean, sd; log-normal: μ, σ
	min, max float64
	parts    []Dist    // mixture
	values   []float64 // empirical
	sums     []float64 // cumulated weights of parts or values
}

// Fixed returns the distribution that always draws v, clamped to 0 … 10⁹.
func Fixed(v float64) Dist {
	return Dist{kind: distConstant, a: min(max(v, 0), MaxValue), max: math.Inf(1)}
}

// New checks a description and returns the distribution. The error lists all
// problems.
func New(s Spec) (Dist, error) { return newDist(s, maxDistDepth) }

func newDist(s Spec, depth int) (Dist, error) {
	if err := s.check(); err != nil {
		return Dist{}, err
	}
	d := Dist{max: math.Inf(1)}
	if s.Min != nil {
		d.min = *s.Min
	}
	if s.Max != nil {
		d.max = *s.Max
	}
	switch {
	case len(s.Points) > 0:
		d.kind = distEmpirical
		return d, d.addPoints(s.Points)
	case len(s.Peaks) > 0:
		if depth == 0 {
			return Dist{}, fmt.Errorf("peaks within peaks: at most %d levels are accepted", maxDistDepth)
		}
		d.kind = distMixture
		return d, d.addPeaks(s.Peaks, depth-1)
	case s.Median != nil:
		d.kind = distLogNormal
		d.a, d.b = math.Log(*s.Median), math.Sqrt(2*math.Log(*s.Mean / *s.Median))
	case s.Stddev > 0:
		d.kind, d.a, d.b = distNormal, *s.Mean, s.Stddev
	default:
		d.kind, d.a = distConstant, *s.Mean
	}
	return d, nil
}

// check checks everything except the parts of a mixture.
func (s Spec) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	number := func(name string, v *float64) {
		if v != nil && !(*v >= 0 && *v <= MaxValue) {
			bad("%s %v: must be a number from 0 to %g", name, *v, MaxValue)
		}
	}
	forms := 0
	for _, given := range []bool{s.Mean != nil, len(s.Peaks) > 0, len(s.Points) > 0} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		bad("exactly one of mean, peaks and points must be given, not %d of them", forms)
	}
	number("mean", s.Mean)
	number("stddev", &s.Stddev)
	number("median", s.Median)
	number("min", s.Min)
	number("max", s.Max)
	if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		bad("min %v is above max %v", *s.Min, *s.Max)
	}
	if (s.Stddev != 0 || s.Median != nil) && s.Mean == nil {
		bad("stddev and median need a mean")
	}
	if s.Stddev != 0 && s.Median != nil {
		bad("stddev and median exclude each other")
	}
	if s.Median != nil && s.Mean != nil && !(*s.Median > 0 && *s.Mean > *s.Median) {
		bad("mean %v must be above median %v, and that above 0", *s.Mean, *s.Median)
	}
	return errors.Join(errs...)
}

func (d *Dist) addPoints(points []Point) error {
	var errs []error
	for i, p := range points {
		if !(p.Value >= 0 && p.Value <= MaxValue) {
			errs = append(errs, fmt.Errorf("points[%d]: value %v: must be a number from 0 to %g", i, p.Value, MaxValue))
		}
		errs = append(errs, d.addWeight("points", i, p.Weight))
		d.values = append(d.values, p.Value)
	}
	return errors.Join(errs...)
}

func (d *Dist) addPeaks(peaks []Peak, depth int) error {
	var errs []error
	for i, p := range peaks {
		part, err := newDist(p.Spec, depth)
		if err != nil {
			errs = append(errs, fmt.Errorf("peaks[%d]: %w", i, err))
		}
		errs = append(errs, d.addWeight("peaks", i, p.Weight))
		d.parts = append(d.parts, part)
	}
	return errors.Join(errs...)
}

func (d *Dist) addWeight(list string, i int, w float64) error {
	if !(w > 0 && w <= MaxValue) {
		return fmt.Errorf("%s[%d]: weight %v: must be above 0 and at most %g", list, i, w, MaxValue)
	}
	total := 0.0
	if n := len(d.sums); n > 0 {
		total = d.sums[n-1]
	}
	d.sums = append(d.sums, total+w)
	return nil
}

// Given reports whether d is not the zero value.
func (d Dist) Given() bool { return d.kind != distNone }

// Draw returns one value, ≥ 0, clamped to min and max. A constant does not use r,
// which may then be nil.
func (d Dist) Draw(r *rand.Rand) float64 {
	return min(max(d.draw(r), d.min), d.max)
}

// The explicit conversions keep the compiler from fusing a product and a sum,
// so that all platforms draw the same.
func (d Dist) draw(r *rand.Rand) float64 {
	switch d.kind {
	case distNone:
		return 0
	case distConstant:
		return d.a
	case distNormal:
		for range MaxRejects {
			if x := d.a + float64(d.b*r.NormFloat64()); x >= 0 {
				return x
			}
		}
		return 0
	case distLogNormal:
		return math.Exp(d.a + float64(d.b*r.NormFloat64()))
	case distMixture:
		return d.parts[d.pick(r)].Draw(r)
	case distEmpirical:
		return d.values[d.pick(r)]
	}
	return 0
}

// pick draws an index in proportion to the weights.
func (d Dist) pick(r *rand.Rand) int {
	last := len(d.sums) - 1
	at := r.Float64() * d.sums[last]
	for i, s := range d.sums[:last] {
		if at < s {
			return i
		}
	}
	return last
}

// DrawInt returns one value rounded half to even, from 1 to 10⁹. AIPerf 0.13
// rounds up instead, which moves the mean by about +0.5.
func (d Dist) DrawInt(r *rand.Rand) int {
	return int(max(1, math.RoundToEven(min(d.Draw(r), MaxValue))))
}

// Mean returns the mean of the draws, 0 for the zero value. It does not include what
// truncating a normal distribution at 0 and clamping it or a log-normal one to min and max
// change, except that the mean is clamped, too.
func (d Dist) Mean() float64 {
	sum, before := 0.0, 0.0
	switch d.kind {
	case distNone:
		return 0
	case distConstant, distNormal:
		sum = d.a
	case distLogNormal:
		sum = math.Exp(d.a + float64(d.b*d.b)/2)
	case distMixture, distEmpirical:
		for i, upTo := range d.sums {
			value := 0.0
			if d.kind == distMixture {
				value = d.parts[i].Mean()
			} else {
				value = d.values[i]
			}
			sum += value * (upTo - before) / d.sums[len(d.sums)-1]
			before = upTo
		}
	}
	return min(max(sum, d.min), d.max)
}

// Constant returns the value of a constant as a count, at least 1, if every draw is
// the same; else 0.
func (d Dist) Constant() int {
	if d.kind != distConstant {
		return 0
	}
	return d.DrawInt(nil)
}

// High returns a value that draws hardly ever exceed: the largest one of a distribution
// that has one, else that of four standard deviations. It is 0 for the zero value.
func (d Dist) High() float64 {
	const deviations = 4 // one draw in 30,000 is above
	high := 0.0
	switch d.kind {
	case distNone:
		return 0
	case distConstant:
		high = d.a
	case distNormal:
		high = d.a + float64(deviations*d.b)
	case distLogNormal:
		high = math.Exp(d.a + float64(deviations*d.b))
	case distMixture:
		for i := range d.parts {
			high = max(high, d.parts[i].High())
		}
	case distEmpirical:
		for _, v := range d.values {
			high = max(high, v)
		}
	}
	return min(max(high, d.min), d.max, MaxValue)
}
