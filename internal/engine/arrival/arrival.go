// Package arrival generates the times at which the requests of an open-loop phase
// are due. A process is a pure sequence of offsets from the start of the phase. It
// does not depend on clocks, servers or slots, so that slow responses never move a due
// time, and the same seed gives the same schedule on every machine.
//
// The closed loop has no arrivals: it is the nil sequence.
package arrival

import (
	"fmt"
	"iter"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// Options configure one arrival process.
type Options struct {
	Rate       float64    // mean arrivals per second; finite, > 0; not used with a series
	Smoothness float64    // shape of the gaps, for kinds that are Shaped; finite, > 0; 1 = Poisson
	Seed       bench.Seed // root of the random streams; not used by constant
	Ramp       Ramp       // to the rate, or to the first one of the series
	Series     []Point    // at least two, in the order of their times, which differ; nil = the rate is constant
}

// Rates returns the rate as a function of time; nil = it is constant.
func (o *Options) Rates() *Rates {
	if o.Ramp.Duration <= 0 && len(o.Series) == 0 {
		return nil
	}
	return newRates(o.Rate, o.Series, o.Ramp)
}

// Kind is one row of the table of arrival processes.
type Kind struct {
	Name   string // the phase's type in documents
	Doc    string // one sentence for the documentation
	Mean   string // mean gap as a formula
	CV     string // coefficient of variation of the gaps as a formula
	Shaped bool   // uses Options.Smoothness; the others ignore it
	// constant returns the process at a constant rate.
	constant func(o *Options) iter.Seq[time.Duration]
	// gaps returns the function that draws the gaps of the process at a rate of 1.
	gaps func(o *Options) func() float64
}

// New checks the options and returns the process. Each iteration over it starts again
// at the first arrival and yields the same offsets.
func (k *Kind) New(o Options) (iter.Seq[time.Duration], error) {
	if err := o.check(k.Shaped); err != nil {
		return nil, err
	}
	rates := o.Rates()
	if rates == nil {
		return k.constant(&o), nil
	}
	return func(yield func(time.Duration) bool) { rates.vary(k.gaps(&o), yield) }, nil
}

// Kinds lists the arrival processes in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "constant", Mean: "1/rate", CV: "0",
			Doc:      "One arrival every 1/rate seconds. Each due time is computed from the number of the arrival, so the schedule does not drift.",
			constant: func(o *Options) iter.Seq[time.Duration] { return Constant(o.Rate) },
			gaps:     func(*Options) func() float64 { return func() float64 { return 1 } },
		},
		{
			Name: "poisson", Mean: "1/rate", CV: "1",
			Doc:      "Independent, exponentially distributed gaps, as produced by many independent users.",
			constant: func(o *Options) iter.Seq[time.Duration] { return Poisson(o.Rate, o.Seed) },
			gaps:     func(o *Options) func() float64 { return poissonGaps(o.Seed) },
		},
		{
			Name: "gamma", Mean: "1/rate", CV: "1/√smoothness", Shaped: true,
			Doc: "Gamma-distributed gaps with shape `smoothness`: below 1, arrivals come in bursts; 1 is Poisson; " +
				"above 1, arrivals are more regular. vLLM calls this quantity burstiness.",
			constant: func(o *Options) iter.Seq[time.Duration] { return Gamma(o.Rate, o.Smoothness, o.Seed) },
			gaps:     func(o *Options) func() float64 { return gammaGaps(o.Smoothness, o.Seed) },
		},
	}
}

// check returns an error for options that no process has.
func (o *Options) check(shaped bool) error {
	if len(o.Series) == 0 && !isPositive(o.Rate) {
		return fmt.Errorf("rate %v: must be a finite number of arrivals per second above 0", o.Rate)
	}
	if shaped && !isPositive(o.Smoothness) {
		return fmt.Errorf("smoothness %v: must be a finite number above 0", o.Smoothness)
	}
	for i, p := range o.Series {
		switch {
		case !isPositive(p.Rate):
			return fmt.Errorf("point %d of the series: rate %v: must be a finite number of arrivals per second above 0", i,
				p.Rate)
		case p.At < 0 || i > 0 && p.At <= o.Series[i-1].At:
			return fmt.Errorf("point %d of the series: time %v: must not be negative, and must be later than the point before",
				i, p.At)
		}
	}
	return nil
}

func isPositive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// horizon is the end of every sequence: 290 years, just below the largest
// time.Duration, so that neither a sum nor a conversion can overflow.
const horizon = 290 * 365 * 24 * time.Hour

// nanos is one second in the unit of time.Duration.
const nanos = float64(time.Second)

// Constant yields k/rate for k = 1, 2, …, rounded to the nearest nanosecond.
// rate is in arrivals per second, finite and > 0. Each offset is computed from
// k alone, so rounding errors do not add up.
func Constant(rate float64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for k := 1.0; ; k++ {
			// k·10⁹ is exact up to 9·10⁶ arrivals and correctly rounded beyond.
			at := math.RoundToEven(k * nanos / rate)
			if !(at < float64(horizon)) || !yield(time.Duration(at)) {
				return
			}
		}
	}
}

// Poisson yields the arrivals of a Poisson process of rate arrivals per second
// (finite, > 0). The gaps come from stream timing.request.poisson_interval.
func Poisson(rate float64, seed bench.Seed) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		gap := poissonGaps(seed)
		sum(func() float64 { return gap() * nanos / rate }, yield)
	}
}

func poissonGaps(seed bench.Seed) func() float64 {
	return seed.Rand(bench.StreamPoissonInterval).ExpFloat64
}

// Gamma yields a renewal process whose gaps have the gamma distribution of
// shape smoothness and scale 1/(rate·smoothness), both finite and > 0: mean
// 1/rate seconds, coefficient of variation 1/√smoothness. The gaps come from
// stream timing.request.gamma_interval.
func Gamma(rate, smoothness float64, seed bench.Seed) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		gap := gammaGaps(smoothness, seed)
		sum(func() float64 { return gap() * nanos / rate }, yield)
	}
}

func gammaGaps(smoothness float64, seed bench.Seed) func() float64 {
	g := newGamma(smoothness, seed.Rand(bench.StreamGammaInterval))
	return func() float64 { return g.draw() / smoothness }
}

// sum yields the running sum of gaps (nanoseconds, ≥ 0). Whole nanoseconds are
// added as integers, which is exact, and only the fraction of one is carried as
// a float; a plain float sum would lose precision as it grows and drift.
func sum(gap func() float64, yield func(time.Duration) bool) {
	var at time.Duration
	carry := 0.0 // in [0, 1) nanoseconds
	for {
		g := gap()
		if !(g < float64(horizon)) {
			return
		}
		whole, fraction := math.Modf(g)
		carry += fraction
		if carry >= 1 {
			carry--
			whole++
		}
		if whole >= float64(horizon-at) {
			return
		}
		at += time.Duration(whole)
		if !yield(at) {
			return
		}
	}
}
