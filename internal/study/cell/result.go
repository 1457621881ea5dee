package cell

import (
	"maps"
	"slices"

	"aiperfd/internal/engine/config/sweep"
)

// Statistic is the estimate of one statistic of one metric.
type Statistic struct {
	Tag, Stat string
	Estimate
}

// Key returns AIPerf's name: request_latency_p99.
func (s *Statistic) Key() string { return s.Tag + "_" + s.Stat }

// Result is what the trials of one variation say together.
type Result struct {
	Outcome
	Good       []Trial        // those that succeeded
	Statistics []Statistic    // in the order of Key; empty if no trial is a result
	Pooled     []Pooled       // in the order of the metrics; only after Pool
	Broken     []sweep.Filter // the conditions that are not satisfied
	Unsure     []sweep.Filter // the conditions that the load generator leaves open: it distorted their metrics
	// Beyond means that a search found the values above its boundary, whatever its conditions
	// are here.
	Beyond bool
}

// NewResult aggregates the trials of a variation. level is that of the intervals.
func NewResult(o Outcome, filters []sweep.Filter, level float64) Result {
	c := Result{Outcome: o, Good: o.Successful()}
	values := make(map[string]*Statistic)
	all := make(map[string][]float64)
	margins := make(map[string][]float64)
	unsupported := make(map[string]bool)
	for i := range c.Good {
		for _, m := range c.Good[i].Metrics {
			if c.Good[i].Distorted(m.Tag) && !c.Invalid(m.Tag) {
				continue
			}
			for name, v := range m.Stats {
				key := m.Tag + "_" + name
				values[key] = &Statistic{Tag: m.Tag, Stat: name, Estimate: Estimate{Unit: m.Unit}}
				all[key] = append(all[key], v)
				unsupported[key] = unsupported[key] || slices.Contains(m.Unsupported, name)
				if margin, ok := m.Margins[name]; ok {
					margins[key] = append(margins[key], margin)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s := values[key]
		s.Estimate = NewEstimate(all[key], level, s.Unit)
		s.Unsupported = unsupported[key]
		if s.Invalid = c.Invalid(s.Tag); !s.Invalid {
			s.LeftOut = len(c.Good) - len(Sound(c.Good, s.Tag))
		}
		if own := margins[key]; len(own) == len(all[key]) {
			s.Within = NewEstimate(own, level, s.Unit).Mean
		}
		c.Statistics = append(c.Statistics, *s)
	}
	for _, f := range filters {
		holds := c.satisfies(f)
		if !holds {
			c.Broken = append(c.Broken, f)
		}
		open := func(t Trial) bool { return t.Unsure(f.MetricTag, f.Op, holds) }
		if c.Invalid(f.MetricTag) && slices.ContainsFunc(c.Good, open) {
			c.Unsure = append(c.Unsure, f)
		}
	}
	return c
}

// Find returns an estimate; nil = no trial has the statistic.
func (c *Result) Find(tag, name string) *Estimate {
	i := slices.IndexFunc(c.Statistics, func(s Statistic) bool { return s.Tag == tag && s.Stat == name })
	if i < 0 {
		return nil
	}
	return &c.Statistics[i].Estimate
}

// Counting returns the runs whose values of a metric count, see [Counting].
func (c *Result) Counting(tag string) []Trial { return Counting(c.Good, tag) }

// Invalid reports whether there is one of these metrics that the load generator distorted in
// all runs, so that there is no result of it.
func (c *Result) Invalid(tags ...string) bool { return Distorted(c.Good, tags...) }

// Distorted returns in how many runs the load generator distorted one of these metrics.
func (c *Result) Distorted(tags ...string) int { return len(c.Good) - len(Sound(c.Good, tags...)) }

// Feasible reports whether all conditions are satisfied.
func (c *Result) Feasible() bool { return len(c.Broken) == 0 && len(c.Good) > 0 && !c.Beyond }

// satisfies reports whether the mean over the trials that count, and at least half of them,
// satisfy a condition. A trial without the metric does not.
func (c *Result) satisfies(f sweep.Filter) bool {
	trials := c.Counting(f.MetricTag)
	mean, pass, n := 0.0, 0, len(trials)
	for i := range trials {
		v, ok := trials[i].Stat(f.MetricTag, f.Stat)
		if !ok {
			return false
		}
		mean += v / float64(n)
		if f.Holds(v) {
			pass++
		}
	}
	return n > 0 && f.Holds(mean) && 2*pass >= n
}
