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
// draw from all runs of this configuration: the mean of the logarithms, as a value again, or of the
// values themselves if they are shares.
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

// Repeats returns the statistics of which every run that counts has a value, above 0 unless it is a
// share, and an interval of its own, in the order of c.Statistics, and the one whose precision ends the
// repeats; nil = none does.
func (c *Result) Repeats(level float64, ends *sweep.Convergence) []Repeats {
	var out []Repeats
	for i := range c.Statistics {
		s := &c.Statistics[i]
		if s.Invalid {
			continue
		}
		r, why := repeatsOf(c.Counting(s.Tag), s.Tag, s.Stat, level)
		watched := ends != nil && ends.Mode == sweep.Precise && ends.Metric == s.Tag && ends.Stat == s.Stat
		if why == "" && (r.Within > 0 || watched) {
			out = append(out, r)
		}
	}
	return out
}

// RepeatsOf returns what the runs that count say of a statistic, or why they say nothing.
func (c *Result) RepeatsOf(tag, name string, level float64) (r Repeats, why string) {
	return repeatsOf(c.Counting(tag), tag, name, level)
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
	_, why := repeatsOf(c.Counting(ends.Metric), ends.Metric, ends.Stat, level)
	if c.Invalid(ends.Metric) {
		why = "the load generator distorted it in all runs"
	}
	return fmt.Sprintf("%s %s: how precisely it is known cannot be said: %s.", ends.Metric, ends.Stat, why)
}

// linear reports whether values of a unit are averaged as they are: shares, which may be 0.
func linear(unit string) bool { return unit == "%" || unit == "ratio" }

// repeatsOf returns what at least two runs say of a statistic, or why they say nothing: one has no
// value of it, or none that has a logarithm, or only some have an interval. If none has one, as of
// throughput, the runs count alike.
func repeatsOf(trials []Trial, tag, name string, level float64) (r Repeats, why string) {
	const normal975 = 1.959963984540054
	var values, errors []float64 // on the scale of the mean: logarithms, or the values of shares
	for i := range trials {
		m := trials[i].Metric(tag)
		if m == nil {
			return r, trials[i].Label + " has no value of it"
		}
		v, ok := m.Stats[name]
		switch {
		case !ok:
			return r, trials[i].Label + " has no value of it"
		case v <= 0 && !linear(m.Unit):
			return r, fmt.Sprintf("%s has the value %v, which has no logarithm", trials[i].Label, v)
		}
		r.Unit = m.Unit
		margin := m.Margins[name] / normal975
		if !linear(m.Unit) {
			v, margin = math.Log(v), margin/v
		}
		values = append(values, v)
		if margin > 0 {
			errors = append(errors, margin)
		}
	}
	switch {
	case len(values) < 2:
		return r, "fewer than two of its runs count"
	case len(errors) != 0 && len(errors) != len(values):
		return r, fmt.Sprintf("only %d of %d runs have an interval of their own", len(errors), len(values))
	}
	r.Tag, r.Stat, r.N = tag, name, len(values)
	if errors == nil {
		e := NewEstimate(values, level, "")
		r.Mean, r.Low, r.High, r.Between = e.Mean, e.Low, e.High, e.Std
	} else {
		e := stat.Combine(values, errors)
		r.Low, r.High = e.Interval(level)
		r.Mean, r.Between, r.Within = e.Mean, e.Between, e.Within
	}
	switch {
	case linear(r.Unit) && r.Mean <= 0:
		return r, "its mean is not above 0, so that no width is a share of it"
	case linear(r.Unit):
		r.Between, r.Within = r.Between/r.Mean, r.Within/r.Mean
	default:
		r.Mean, r.Low, r.High = math.Exp(r.Mean), math.Exp(r.Low), math.Exp(r.High)
	}
	r.Trend, r.TrendP, r.HasTrend = stat.Trend(values)
	return r, ""
}
