package arrival

import (
	"math"
	"time"
)

// Point is a rate at a time.
type Point struct {
	At   time.Duration // since the end of the ramp, ≥ 0
	Rate float64       // arrivals per second; finite, > 0
}

// Rates is a rate that changes in time. It is immutable.
type Rates struct {
	pieces []piece
	last   float64 // rate after the last piece, > 0
}

// piece is a stretch of time in which the rate changes by one formula.
type piece struct {
	length   float64 // seconds, > 0
	from, to float64 // arrivals per second, > 0
	grows    bool    // by the same factor in equal times; false = evenly
}

// maxRampSteps bounds the pieces of a ramp with random steps.
const maxRampSteps = 10_000

// RampStart is the rate at the start of a ramp as a time: that share of the ramp's
// duration is the share of the target. It is AIPerf's.
const RampStart = 100 * time.Millisecond

// newRates returns the rate of a ramp to the first point, or to rate without points, and
// of the points after it. Between two points it changes evenly; before the first one
// and after the last one it is constant.
func newRates(rate float64, series []Point, rise Ramp) *Rates {
	r := &Rates{last: rate}
	target := rate
	if len(series) > 0 {
		target = series[0].Rate
	}
	if d := rise.Duration; d > 0 {
		r.ramp(target*min(1, float64(RampStart)/float64(d)), target, rise)
	}
	at, value := time.Duration(0), target
	for _, p := range series {
		r.add(piece{length: (p.At - at).Seconds(), from: value, to: p.Rate})
		at, value = p.At, p.Rate
		r.last = p.Rate
	}
	return r
}

func (r *Rates) add(p piece) {
	if p.length > 0 {
		r.pieces = append(r.pieces, p)
	}
}

// ramp adds the pieces of a ramp.
func (r *Rates) ramp(from, to float64, rise Ramp) {
	d := rise.Duration.Seconds()
	if rise.Strategy != PoissonRamp {
		r.add(piece{length: d, from: from, to: to, grows: rise.Strategy == ExponentialRamp})
		return
	}
	// A step for each arrival per second, as AIPerf has on average.
	n := int(max(1, min(math.Ceil(to-from), maxRampSteps)))
	times := rise.Times(n)
	at := 0.0
	for i := range n {
		value, next := from+float64((to-from)*float64(i)/float64(n)), times()*d
		r.add(piece{length: next - at, from: value, to: value})
		at = next
	}
}

// At returns the rate at an offset from the start of the phase.
func (r *Rates) At(offset time.Duration) float64 {
	at := offset.Seconds()
	for i := range r.pieces {
		if p := &r.pieces[i]; at < p.length {
			return p.at(at)
		}
		at -= r.pieces[i].length
	}
	return r.last
}

// Count returns the expected number of arrivals up to an offset from the start of the
// phase, ≥ 0: the integral of the rate.
func (r *Rates) Count(offset time.Duration) float64 {
	at, sum := offset.Seconds(), 0.0
	for i := range r.pieces {
		if p := &r.pieces[i]; at < p.length {
			return sum + p.area(at)
		}
		sum += r.pieces[i].whole()
		at -= r.pieces[i].length
	}
	return sum + float64(at*r.last)
}

// at returns the rate after x seconds of the piece.
func (p *piece) at(x float64) float64 {
	if p.grows {
		return p.from * math.Pow(p.to/p.from, x/p.length)
	}
	return p.from + float64((p.to-p.from)*(x/p.length))
}

// area returns the expected number of arrivals in the first x seconds of the piece.
func (p *piece) area(x float64) float64 {
	if p.grows && p.from != p.to {
		return (p.at(x) - p.from) / p.growth()
	}
	return (p.from + p.at(x)) / 2 * x
}

func (p *piece) whole() float64 { return p.area(p.length) }

// growth is the logarithm of the factor by which the rate grows in a second.
func (p *piece) growth() float64 { return math.Log(p.to/p.from) / p.length }

// inverse returns the seconds after which the area is a.
func (p *piece) inverse(a float64) float64 {
	if p.grows && p.from != p.to {
		g := p.growth()
		return math.Log1p(a*g/p.from) / g
	}
	// The root of from·x + slope/2·x² = a, in a form without cancellation that holds
	// for a slope of 0 and below as well.
	slope := (p.to - p.from) / p.length
	root := float64(p.from*p.from) + float64(2*slope*a)
	return 2 * a / (p.from + math.Sqrt(max(root, 0)))
}

// vary yields arrivals of a rate that changes in time: with the expected number of
// arrivals as its clock, the process has a rate of 1, and gap returns its gaps (≥ 0).
// This time change is exact for every process of independent gaps, and a Poisson
// process stays one. Offsets are rounded to the nearest nanosecond.
func (r *Rates) vary(gap func() float64, yield func(time.Duration) bool) {
	// of the current piece: its start in seconds, the area so far, the index of the one after it
	begin, area, next := 0.0, 0.0, 0
	for {
		area += gap()
		x := 0.0
		for ; next < len(r.pieces); next++ {
			p := &r.pieces[next]
			if whole := p.whole(); area >= whole {
				area -= whole
				begin += p.length
				continue
			}
			x = p.inverse(area)
			break
		}
		if next == len(r.pieces) {
			x = area / r.last
		}
		at := math.RoundToEven((begin + x) * nanos)
		if !(at < float64(horizon)) || !yield(time.Duration(at)) {
			return
		}
	}
}
