package cell

import (
	"math"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/stat"
)

// Repeats is what the runs of a variation say together about one statistic, if each is taken as one
// draw from all runs of this configuration: the mean of the logarithms, as a value again.
type Repeats struct {
	Tag, Stat, Unit string
	N               int     // runs, at least 2
	Mean, Low, High float64 // the interval has the level of the call
	// Between is the standard deviation between runs beyond their own errors, and Within the typical
	// standard error within a run, both as shares of the value.
	Between, Within float64
	// Trend is the rank correlation of the values with the order of the runs, and TrendP its p-value;
	// HasTrend is false for too few runs.
	Trend, TrendP float64
	HasTrend      bool
}

// MinRepeats is the number of runs that a verdict on a configuration needs.
const MinRepeats = 3

// Drifts reports whether the values depend on the order of the runs.
func (r *Repeats) Drifts() bool { return r.HasTrend && r.TrendP < 0.01 }

// ShareBetween returns the share of the variance of a run's value that lies between runs.
func (r *Repeats) ShareBetween() float64 {
	between, within := r.Between*r.Between, r.Within*r.Within
	if between+within == 0 {
		return 0
	}
	return between / (between + within)
}

// LevelUsed returns the level of the intervals of [Result.Repeats]: the asked one or, if the results
// decided how many runs there are, one at which looking after each run still covers in 95 % of cases.
func LevelUsed(level float64, c *sweep.Convergence) float64 {
	if c == nil {
		return level
	}
	return max(level, stat.WatchedLevel(max(c.MinRuns, sweep.DefaultMinRuns)))
}

// Repeats returns the statistics of which every run that counts has a positive value and an interval
// of its own, in the order of c.Statistics.
func (c *Result) Repeats(level float64) []Repeats {
	var out []Repeats
	for i := range c.Statistics {
		s := &c.Statistics[i]
		values, errors := c.logarithms(s)
		if len(values) < 2 || s.Invalid {
			continue
		}
		e := stat.Combine(values, errors)
		low, high := e.Interval(level)
		r := Repeats{
			Tag: s.Tag, Stat: s.Stat, Unit: s.Unit, N: len(values), Mean: math.Exp(e.Mean), Low: math.Exp(low), High: math.Exp(high),
			Between: e.Between, Within: e.Within,
		}
		r.Trend, r.TrendP, r.HasTrend = stat.Trend(values)
		out = append(out, r)
	}
	return out
}

// logarithms returns the logarithms of the values of a statistic, and their standard errors within
// the runs; none if a run has no positive value or no interval.
func (c *Result) logarithms(s *Statistic) (values, errors []float64) {
	const normal975 = 1.959963984540054
	trials := c.Counting(s.Tag)
	for i := range trials {
		m := trials[i].Metric(s.Tag)
		if m == nil {
			return nil, nil
		}
		v, margin := m.Stats[s.Stat], m.Margins[s.Stat]
		if v <= 0 || margin <= 0 {
			return nil, nil
		}
		values, errors = append(values, math.Log(v)), append(errors, margin/normal975/v)
	}
	return values, errors
}
