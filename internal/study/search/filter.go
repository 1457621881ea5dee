package search

import (
	"cmp"
	"math"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/study/cell"
)

// Filter is a limit that a variation must keep.
type Filter = sweep.Filter

// margin returns by how much a value exceeds the limit; negative values keep it.
func margin(f Filter, v float64) float64 {
	if f.Op == "gt" || f.Op == "ge" {
		return f.Threshold - v
	}
	return v - f.Threshold
}

// scale is the size of a margin that is as large as the threshold.
func scale(f Filter) float64 { return cmp.Or(math.Abs(f.Threshold), 1) }

// Reading is what trials measured of the metric of a filter.
type Reading struct {
	Filter
	Observed *float64 // mean over the trials that count; nil = one of them did not measure it
	// Unsupported means that a percentile was taken of too few requests: fewer than 5 are
	// expected beyond it.
	Unsupported bool
	Unit        string // of the value, as ms; empty if it was not measured

	spread float64 // standard deviation over the trials; 0 for one
	trials int
}

// margin returns by how much the limit is exceeded. A missing value exceeds it by the
// limit itself.
func (r *Reading) margin() float64 {
	if r.Observed == nil {
		return scale(r.Filter)
	}
	return margin(r.Filter, *r.Observed)
}

// Verdict is the judgement of a variation by a list of filters.
type Verdict struct {
	Pass     bool
	Readings []Reading // one per filter, in their order
}

// Judge judges all trials of outcomes together. The limits are kept if the mean over the
// trials keeps each of them, and at least half of the trials keep all. AIPerf 0.13 asks
// for one such trial only, so that repeats make a limit easier to keep. Of a metric, only
// the trials of [cell.Counting] count.
func Judge(filters []Filter, outcomes ...*cell.Outcome) Verdict {
	v := Verdict{Pass: true}
	trials := together(outcomes)
	kept, judged := 0, 0
	for i := range trials {
		keeps, counts := keeps(filters, &trials[i], trials)
		if counts {
			judged++
		}
		if keeps {
			kept++
		}
	}
	if judged == 0 || 2*kept < judged {
		v.Pass = false
	}
	for _, f := range filters {
		r := read(f, trials)
		v.Readings = append(v.Readings, r)
		v.Pass = v.Pass && r.Observed != nil && f.Holds(*r.Observed)
	}
	return v
}

// together returns the trials of all outcomes.
func together(outcomes []*cell.Outcome) []cell.Trial {
	var trials []cell.Trial
	for _, o := range outcomes {
		trials = append(trials, o.Trials...)
	}
	return trials
}

// keeps reports whether a trial keeps the limits. It does not count if others, but not
// itself, have sound values of all metrics.
func keeps(filters []Filter, t *cell.Trial, trials []cell.Trial) (keeps, counts bool) {
	if t.Failure != "" {
		return false, true
	}
	keeps, counts = true, len(filters) == 0
	for _, f := range filters {
		if t.Distorted(f.MetricTag) && slices.ContainsFunc(trials, func(o cell.Trial) bool { return o.Sound(f.MetricTag) }) {
			continue
		}
		x, ok := statistic(t, f.MetricTag, f.Stat)
		keeps, counts = keeps && ok && f.Holds(x), true
	}
	return keeps && counts, counts
}

// unsure returns the metric of the first limit that is open because the load generator
// distorted it in all trials; empty = there is none.
func unsure(filters []Filter, trials []cell.Trial) string {
	for _, f := range filters {
		for _, t := range cell.Counting(trials, f.MetricTag) {
			if v, ok := statistic(&t, f.MetricTag, f.Stat); t.Unsure(f.MetricTag, f.Op, ok && f.Holds(v)) {
				return f.MetricTag
			}
		}
	}
	return ""
}

// read returns the mean over the trials that count.
func read(f Filter, trials []cell.Trial) Reading {
	r := Reading{Filter: f}
	var values []float64
	for _, t := range cell.Counting(trials, f.MetricTag) {
		x, ok := statistic(&t, f.MetricTag, f.Stat)
		if !ok {
			return r
		}
		values = append(values, x)
		r.Unit = t.Metric(f.MetricTag).Unit
		r.Unsupported = r.Unsupported || !Supported(&t, f.MetricTag, f.Stat)
	}
	if r.trials = len(values); r.trials == 0 {
		return r
	}
	mean, spread := moments(values)
	r.Observed, r.spread = &mean, spread
	return r
}

// moments returns the mean and the standard deviation of values.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	if len(values) < 2 {
		return mean, 0
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(deviation)
}

// breach returns the first reading that does not keep its limit, or nil.
func (v *Verdict) breach() *Reading {
	for i := range v.Readings {
		if r := &v.Readings[i]; r.Observed == nil || !r.Holds(*r.Observed) {
			return r
		}
	}
	return nil
}

// clear is how far from its limit, as a share of it, a value is not near it.
const clear = 0.2

// clear reports whether the verdict would hardly change if the variation were performed
// again: all limits are kept by far, or one is exceeded by far.
func (v *Verdict) clear() bool {
	worst := math.Inf(-1)
	for i := range v.Readings {
		r := &v.Readings[i]
		if r.Observed == nil {
			return false
		}
		worst = max(worst, r.margin()/scale(r.Filter))
	}
	if v.Pass {
		return worst <= -clear
	}
	return worst >= clear
}

// statistic returns a statistic of a trial if it is finite.
func statistic(t *cell.Trial, metric, name string) (float64, bool) {
	v, ok := t.Stat(metric, name)
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Supported reports whether the statistic of a metric is taken of enough values. Means and
// extremes always are; of a percentile, five values are expected beyond it.
func Supported(t *cell.Trial, tag, name string) bool {
	q, percentile := sweep.Quantile(name)
	n, counted := t.Stat(tag, "count")
	return !percentile || !counted || metric.Supports(n, q)
}
