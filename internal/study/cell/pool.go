package cell

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"aiperfd/internal/engine/stat"
)

// Pooled are the percentiles of the requests of all trials together. The mean of the p99
// of several runs is not the p99 of their requests.
type Pooled struct {
	Tag, Unit string
	Count     int // requests
	Mean, Std float64
	Quantiles []Quantile // ascending
}

// Quantile is one pooled percentile.
type Quantile struct {
	Stat string  // p50, p90, p95, p99
	Q    float64 // 0.5, …
	// Value is the percentile; Low and High bound it at the level of the study. They
	// come from resampling whole trials, and are Value for one trial.
	Value, Low, High float64
}

// The bounds of pooling.
const (
	resamples = 1000
	// perTrial is how many values of a trial are resampled: evenly spaced ones of the
	// sorted values, which moves a percentile by less than 0.01 points.
	perTrial = 10_000
)

func pooledQuantiles() []Quantile {
	return []Quantile{{Stat: "p50", Q: 0.5}, {Stat: "p90", Q: 0.9}, {Stat: "p95", Q: 0.95}, {Stat: "p99", Q: 0.99}}
}

// Pool pools the metrics of which all trials that count have kept the values, which it reads.
// level is that of the intervals, seed that of the resampling.
func (c *Result) Pool(level float64, seed int64) {
	if len(c.Good) == 0 {
		return
	}
	for _, m := range c.Good[0].Metrics {
		trials := c.Counting(m.Tag)
		samples := make([][]float64, len(trials))
		for i := range trials {
			samples[i] = values(&trials[i], m.Tag)
		}
		if slices.ContainsFunc(samples, func(s []float64) bool { return len(s) == 0 }) {
			continue
		}
		p := poolOf(samples, level, seed)
		p.Tag, p.Unit = m.Tag, m.Unit
		c.Pooled = append(c.Pooled, p)
	}
}

// values returns the sorted values of a metric; nil if they were not kept.
func values(t *Trial, tag string) []float64 {
	if t.Samples == nil {
		return nil
	}
	kept, _ := t.Samples(tag)
	return slices.Sorted(slices.Values(kept))
}

// poolOf pools the sorted values of trials, each at least one.
func poolOf(samples [][]float64, level float64, seed int64) Pooled {
	all := slices.Concat(samples...)
	slices.Sort(all)
	p := Pooled{Count: len(all), Quantiles: pooledQuantiles()}
	for _, v := range all {
		p.Mean += v / float64(len(all))
	}
	for _, v := range all {
		p.Std += (v - p.Mean) * (v - p.Mean) / float64(len(all))
	}
	p.Std = math.Sqrt(p.Std)
	again := bootstrap(samples, p.Quantiles, seed)
	for i := range p.Quantiles {
		q := &p.Quantiles[i]
		q.Value = stat.Quantile(all, q.Q)
		q.Low, q.High = q.Value, q.Value
		if len(samples) > 1 {
			slices.Sort(again[i])
			q.Low = min(q.Value, stat.Quantile(again[i], (1-level)/2))
			q.High = max(q.Value, stat.Quantile(again[i], (1+level)/2))
		}
	}
	return p
}

// weighted is a value of one trial.
type weighted struct {
	value float64
	trial int
	size  float64 // requests that it stands for
}

// bootstrap returns, for each quantile, its values in resamples of the trials, drawn
// with replacement.
func bootstrap(samples [][]float64, quantiles []Quantile, seed int64) [][]float64 {
	var all []weighted
	for i, s := range samples {
		n := min(len(s), perTrial)
		for k := range n {
			at := int((float64(k) + 0.5) * float64(len(s)) / float64(n))
			all = append(all, weighted{s[at], i, float64(len(s)) / float64(n)})
		}
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	r := rand.New(rand.NewPCG(uint64(seed), 0xb007))
	out := make([][]float64, len(quantiles))
	times := make([]float64, len(samples))
	for range resamples {
		clear(times)
		total := 0.0
		for range samples {
			i := r.IntN(len(samples))
			times[i]++
			total += float64(len(samples[i]))
		}
		seen, next := 0.0, 0
		for _, w := range all {
			seen += times[w.trial] * w.size
			for next < len(quantiles) && seen >= quantiles[next].Q*total*(1-1e-12) && times[w.trial] > 0 {
				out[next] = append(out[next], w.value)
				next++
			}
		}
	}
	return out
}
