package aggregate

import (
	"maps"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// Statistic is the estimate of one statistic of one metric.
type Statistic struct {
	Tag, Stat string
	Estimate
}

// Key returns AIPerf's name: request_latency_p99.
func (s *Statistic) Key() string { return s.Tag + "_" + s.Stat }

// Cell is what the trials of one variation say together.
type Cell struct {
	cell.Outcome
	Good       []cell.Trial   // those that are results; if none is, those that only the client distorted
	Distorted  int            // runs that succeeded, but were distorted by the load generator
	Statistics []Statistic    // in the order of Key; empty if no trial is a result
	Pooled     []Pooled       // in the order of the metrics
	Broken     []sweep.Filter // the conditions that are not satisfied
}

// NewCell aggregates the trials of a variation. level is that of the intervals, seed
// that of the resampling.
func NewCell(o cell.Outcome, filters []sweep.Filter, level float64, seed int64) Cell {
	c := Cell{Outcome: o, Good: o.Successful()}
	sound := slices.DeleteFunc(slices.Clone(c.Good), distorted)
	c.Distorted = len(c.Good) - len(sound)
	if len(sound) > 0 {
		c.Good = sound
	}
	values := make(map[string]*Statistic)
	all := make(map[string][]float64)
	margins := make(map[string][]float64)
	for i := range c.Good {
		for _, m := range c.Good[i].Metrics {
			for name, v := range m.Stats {
				key := m.Tag + "_" + name
				values[key] = &Statistic{Tag: m.Tag, Stat: name, Estimate: Estimate{Unit: m.Unit}}
				all[key] = append(all[key], v)
				if margin, ok := m.Margins[name]; ok {
					margins[key] = append(margins[key], margin)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s := values[key]
		s.Estimate = NewEstimate(all[key], level, s.Unit)
		if own := margins[key]; len(own) == len(all[key]) {
			s.Within = NewEstimate(own, level, s.Unit).Mean
		}
		c.Statistics = append(c.Statistics, *s)
	}
	for _, f := range filters {
		if !c.satisfies(f) {
			c.Broken = append(c.Broken, f)
		}
	}
	c.Pooled = pool(c.Good, level, seed)
	return c
}

// Find returns an estimate; nil = no trial has the statistic.
func (c *Cell) Find(tag, name string) *Estimate {
	i := slices.IndexFunc(c.Statistics, func(s Statistic) bool { return s.Tag == tag && s.Stat == name })
	if i < 0 {
		return nil
	}
	return &c.Statistics[i].Estimate
}

// Invalid reports whether the load generator distorted all runs, so that the cell is not a
// result.
func (c *Cell) Invalid() bool { return slices.ContainsFunc(c.Good, distorted) }

func distorted(t cell.Trial) bool { return t.Distorted() }

// Feasible reports whether all conditions are satisfied.
func (c *Cell) Feasible() bool { return len(c.Broken) == 0 && len(c.Good) > 0 }

// satisfies reports whether the mean over the trials, and at least half of them, satisfy
// a condition. A trial without the metric does not.
func (c *Cell) satisfies(f sweep.Filter) bool {
	mean, pass, n := 0.0, 0, len(c.Good)
	for i := range c.Good {
		v, ok := c.Good[i].Stat(f.MetricTag, f.Stat)
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
