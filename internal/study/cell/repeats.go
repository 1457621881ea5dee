package cell

import (
	"fmt"
	"math"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/view"
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
// of its own, in the order of c.Statistics, and the one whose precision ends the repeats; nil = none does.
func (c *Result) Repeats(level float64, ends *sweep.Convergence) []Repeats {
	var out []Repeats
	for i := range c.Statistics {
		s := &c.Statistics[i]
		if s.Invalid {
			continue
		}
		r, ok := repeatsOf(c.Counting(s.Tag), s.Tag, s.Stat, level)
		watched := ends != nil && ends.Mode == sweep.Precise && ends.Metric == s.Tag && ends.Stat == s.Stat
		if ok && (r.Within > 0 || watched) {
			r.Unit = s.Unit
			out = append(out, r)
		}
	}
	return out
}

// Precision is half the width of the interval, as a share of the mean.
func (r *Repeats) Precision() float64 { return (r.High - r.Low) / 2 / r.Mean }

// PrecisionLine says of repeats that end by their precision how far they came; empty for others.
func (c *Result) PrecisionLine(level float64, ends *sweep.Convergence) string {
	if ends == nil || ends.Mode != sweep.Precise {
		return ""
	}
	level = LevelUsed(level, ends)
	for _, r := range c.Repeats(level, ends) {
		if r.Tag != ends.Metric || r.Stat != ends.Stat {
			continue
		}
		outcome := "reached"
		if r.Precision() > ends.Limit() {
			outcome = "not reached"
		}
		return fmt.Sprintf("%s %s: %s, %s to %s (%.4g %% interval): ± %s after %d runs; ± %s was %s.", r.Tag, r.Stat,
			metric.ValueText(r.Mean, r.Unit), view.Figure(r.Low), view.Figure(r.High), 100*level, view.Percent(r.Precision()), r.N,
			view.Percent(ends.Limit()), outcome)
	}
	return fmt.Sprintf("%s %s: too few of its runs count to say how precisely it is known.", ends.Metric, ends.Stat)
}

// repeatsOf returns what at least two runs say of a statistic; ok is false if one has no positive
// value of it, or if only some have an interval. If none has one, as of throughput, the runs count alike.
func repeatsOf(trials []Trial, tag, name string, level float64) (r Repeats, ok bool) {
	const normal975 = 1.959963984540054
	var values, errors []float64 // logarithms, and their standard errors within the runs
	for i := range trials {
		m := trials[i].Metric(tag)
		if m == nil || m.Stats[name] <= 0 {
			return r, false
		}
		v := m.Stats[name]
		values = append(values, math.Log(v))
		if margin := m.Margins[name]; margin > 0 {
			errors = append(errors, margin/normal975/v)
		}
	}
	if len(values) < 2 || len(errors) != 0 && len(errors) != len(values) {
		return r, false
	}
	r = Repeats{Tag: tag, Stat: name, N: len(values)}
	var low, high float64
	if errors == nil {
		e := NewEstimate(values, level, "")
		r.Mean, low, high, r.Between = math.Exp(e.Mean), e.Low, e.High, e.Std
	} else {
		e := stat.Combine(values, errors)
		low, high = e.Interval(level)
		r.Mean, r.Between, r.Within = math.Exp(e.Mean), e.Between, e.Within
	}
	r.Low, r.High = math.Exp(low), math.Exp(high)
	r.Trend, r.TrendP, r.HasTrend = stat.Trend(values)
	return r, true
}
