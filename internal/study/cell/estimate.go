package cell

import (
	"math"

	"aiperfd/internal/engine/stat"
)

// Estimate is what several runs say about one statistic. The interval is Student's of
// the mean over the runs.
type Estimate struct {
	N                   int // runs, ≥ 1
	Mean, Std, Min, Max float64
	SE, Low, High       float64 // standard error of the mean; its interval, which is the value itself for one run
	T                   float64 // quantile of Student's distribution; NaN for one run
	Unit                string
	// Within is the mean margin of the intervals that the runs give themselves, at 95 %;
	// 0 = they give none.
	Within float64
	// Invalid means that the load generator distorted the metric in all runs: the values are
	// those of these runs, and no results. Otherwise such runs do not count; LeftOut is their
	// number.
	Invalid bool
	LeftOut int
	// Unsupported means that a run has too few independent requests for this percentile.
	Unsupported bool
}

// NewEstimate returns the estimate of at least one value with an interval of a level.
func NewEstimate(values []float64, level float64, unit string) Estimate {
	e := Estimate{N: len(values), Min: values[0], Max: values[0], T: math.NaN(), Unit: unit}
	for _, v := range values {
		e.Mean += v / float64(len(values))
		e.Min, e.Max = min(e.Min, v), max(e.Max, v)
	}
	e.Low, e.High = e.Mean, e.Mean
	if e.N == 1 {
		return e
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - e.Mean) * (v - e.Mean)
	}
	e.Std = math.Sqrt(squares / float64(e.N-1))
	e.SE = e.Std / math.Sqrt(float64(e.N))
	e.T = stat.Student((1+level)/2, float64(e.N-1))
	e.Low, e.High = e.Mean-e.T*e.SE, e.Mean+e.T*e.SE
	return e
}

// CV returns the coefficient of variation; infinite for a mean of 0.
func (e *Estimate) CV() float64 {
	if e.Mean == 0 {
		return math.Inf(1)
	}
	return e.Std / math.Abs(e.Mean)
}

// Spread returns how many times more the runs differ from each other than their own
// intervals say; false = the runs give no intervals, or there is only one.
func (e *Estimate) Spread() (ratio float64, ok bool) {
	const normal975 = 1.959963984540054
	if e.Within <= 0 || e.N < 2 {
		return 0, false
	}
	return e.Std / (e.Within / normal975), true
}
