package window

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Step is a value that a gauge holds from a time on. NaN = it has none.
type Step struct {
	At    time.Duration
	Value float64
}

// Steps returns the values of a gauge, in order. Each holds until the next.
func (h *History) Steps(g *Group) []Step {
	if g.value == nil {
		return nil
	}
	out := make([]Step, 0, len(g.value.changes))
	for _, c := range g.value.changes {
		out = append(out, Step{h.Scrapes[c.scrape].At(), c.value})
	}
	return out
}

// Within returns the values that a gauge had in a window. The first reading after its start counts from the start
// on: a phase begins when its load begins, and what was read before that load says nothing of it. Without a
// reading in the window the value before it holds.
func (h *History) Within(g *Group, w Window) []Step {
	steps := h.Steps(g)
	first := slices.IndexFunc(h.Scrapes, func(s Scrape) bool { return s.At() > w.From })
	if first < 0 || h.Scrapes[first].At() > w.To {
		return steps
	}
	at := h.Scrapes[first].At()
	next, found := slices.BinarySearchFunc(steps, at, func(s Step, at time.Duration) int { return cmp.Compare(s.At, at) })
	if found {
		next++
	}
	if next == 0 { // the series came later
		return steps
	}
	return append([]Step{{At: w.From, Value: steps[next-1].Value}}, steps[next:]...)
}

// Value returns the value of a gauge or a counter at a reading; ok = false if it had none.
func (h *History) Value(g *Group, scrape int) (v float64, ok bool) {
	if g.value == nil {
		return 0, false
	}
	v = g.value.at(scrape)
	return v, !math.IsNaN(v)
}

// Samples returns the values of a gauge or a counter at every reading of the page. NaN = it had none.
func (h *History) Samples(g *Group) []Step {
	if g.value == nil || len(g.value.changes) == 0 {
		return nil
	}
	out := make([]Step, 0, len(h.Scrapes))
	next, value := 0, math.NaN()
	for i := range h.Scrapes {
		for next < len(g.value.changes) && g.value.changes[next].scrape <= i {
			value = g.value.changes[next].value
			next++
		}
		out = append(out, Step{h.Scrapes[i].At(), value})
	}
	return out
}

// Readings returns how often the page was read in a window, after its start.
func (h *History) Readings(w Window) int {
	n := 0
	for i := range h.Scrapes {
		if at := h.Scrapes[i].At(); at > w.From && at <= w.To {
			n++
		}
	}
	return n
}

// Combine returns what a function makes of the values that several gauges have at the same time. Gauges
// without a value are left out.
func Combine(of func(values []float64) float64, gauges ...[]Step) []Step {
	if len(gauges) == 1 {
		return gauges[0]
	}
	var times []time.Duration
	for _, g := range gauges {
		for _, s := range g {
			times = append(times, s.At)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	at := make([]int, len(gauges))
	out := make([]Step, 0, len(times))
	for _, t := range times {
		var values []float64
		for i, g := range gauges {
			for at[i] < len(g) && g[at[i]].At <= t {
				at[i]++
			}
			if at[i] > 0 && !math.IsNaN(g[at[i]-1].Value) {
				values = append(values, g[at[i]-1].Value)
			}
		}
		if len(values) == 0 {
			out = append(out, Step{t, math.NaN()})
		} else {
			out = append(out, Step{t, of(values)})
		}
	}
	return out
}

// Sum adds values.
func Sum(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}

// Mean returns the mean of values.
func Mean(values []float64) float64 { return Sum(values) / float64(len(values)) }

// Levels is the distribution of a gauge over time: each value counts for as long as it held.
type Levels struct {
	levels []level // ascending
	total  float64 // seconds
}

// level is a value with the seconds for which it held.
type level struct{ value, held float64 }

// Over returns the distribution of a gauge in a window. A gauge whose first value lies inside the window
// counts from there.
func Over(steps []Step, w Window) Levels {
	var out Levels
	for i, s := range steps {
		from, to := max(s.At, w.From), w.To
		if i+1 < len(steps) {
			to = min(to, steps[i+1].At)
		}
		if held := (to - from).Seconds(); held > 0 && !math.IsNaN(s.Value) {
			out.levels = append(out.levels, level{s.Value, held})
			out.total += held
		}
	}
	slices.SortFunc(out.levels, func(a, b level) int { return cmp.Compare(a.value, b.value) })
	return out
}

// Empty reports whether the gauge had no value.
func (l *Levels) Empty() bool { return l.total == 0 }

// Seconds returns for how long the gauge had a value.
func (l *Levels) Seconds() float64 { return l.total }

// Mean returns the average over time.
func (l *Levels) Mean() float64 {
	sum := 0.0
	for _, v := range l.levels {
		sum += v.value * v.held
	}
	return sum / l.total
}

// Deviation returns the standard deviation over time.
func (l *Levels) Deviation() float64 {
	mean, sum := l.Mean(), 0.0
	for _, v := range l.levels {
		sum += (v.value - mean) * (v.value - mean) * v.held
	}
	return math.Sqrt(sum / l.total)
}

// Min returns the least value.
func (l *Levels) Min() float64 { return l.levels[0].value }

// Max returns the largest value.
func (l *Levels) Max() float64 { return l.levels[len(l.levels)-1].value }

// Quantile returns the value below which the gauge was for a share of the time, 0 to 1.
func (l *Levels) Quantile(q float64) float64 {
	left := q * l.total
	for _, v := range l.levels {
		if left -= v.held; left <= 0 {
			return v.value
		}
	}
	return l.Max()
}

// Share returns for which share of the time a condition held, 0 to 1.
func (l *Levels) Share(holds func(float64) bool) float64 {
	sum := 0.0
	for _, v := range l.levels {
		if holds(v.value) {
			sum += v.held
		}
	}
	return sum / l.total
}
