package cell

import (
	"cmp"
	"math"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/stat"
)

// Converged reports whether the trials of a variation are stable enough to repeat it no
// more. Trials that failed do not count, nor those in which the load generator distorted the
// metric. Looking after every trial makes the widths at which repeats end somewhat too
// small, except those of [sweep.Precise], which allow for it.
func Converged(c *sweep.Convergence, level float64, trials []Trial) bool {
	if c == nil {
		return false
	}
	good := Sound(trials, c.Metric)
	if len(good) < max(c.MinRuns, sweep.DefaultMinRuns) {
		return false
	}
	if c.Mode == sweep.Distribution {
		last := len(good) - 1
		var before []float64
		for i := range good[:last] {
			before = append(before, values(&good[i], c.Metric)...)
		}
		slices.Sort(before)
		now := values(&good[last], c.Metric)
		return len(now) > 0 && len(before) > 0 && distance(now, before) < c.Limit()
	}
	if c.Mode == sweep.Equivalence {
		last := len(good) - 1
		return unchanged(good[:last], &good[last], c.Metric, c.Limit())
	}
	if c.Mode == sweep.Precise {
		r, why := repeatsOf(good, c.Metric, c.Stat, LevelUsed(level, c))
		return why == "" && r.Precision() <= c.Limit()
	}
	var all []float64
	for i := range good {
		v, ok := good[i].Stat(c.Metric, c.Stat)
		if !ok {
			return false
		}
		all = append(all, v)
	}
	e := NewEstimate(all, level, "")
	if e.Mean == 0 {
		return false
	}
	if c.Mode == sweep.CV {
		return e.CV() < c.Limit()
	}
	return (e.High-e.Low)/math.Abs(e.Mean) < c.Limit()
}

// unchanged reports whether p50 and p95 of a metric surely differ by less than a share between the trials before and
// the last one, by the intervals that each has within itself (TOST on [stat.Mover]).
func unchanged(before []Trial, last *Trial, tag string, share float64) bool {
	for _, name := range []string{"p50", "p95"} {
		now, ok := estimated([]Trial{*last}, tag, name)
		then, known := estimated(before, tag, name)
		if !ok || !known || !stat.Mover(then, now).Equivalent(math.Log1p(share)) {
			return false
		}
	}
	return true
}

// estimated returns the mean of the logarithms of a statistic of trials with its interval, which speaks for these
// trials alone; ok is false if one has no interval of its own above 0.
func estimated(trials []Trial, tag, name string) (e stat.Estimated, ok bool) {
	n, variance := float64(len(trials)), 0.0
	for i := range trials {
		v, has := trials[i].Stat(tag, name)
		if !has || v <= 0 {
			return e, false
		}
		margin := trials[i].Metric(tag).Margins[name] / v
		if margin <= 0 {
			return e, false
		}
		e.Value += math.Log(v) / n
		variance += margin * margin
	}
	half := math.Sqrt(variance) / n
	e.Low, e.High = e.Value-half, e.Value+half
	return e, true
}

// distance returns the largest difference between the distribution functions of two
// sorted samples, which is the statistic of Kolmogorov and Smirnov.
func distance(a, b []float64) float64 {
	var i, j int
	largest := 0.0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && cmp.Compare(a[i], x) <= 0 {
			i++
		}
		for j < len(b) && cmp.Compare(b[j], x) <= 0 {
			j++
		}
		largest = max(largest, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return largest
}
