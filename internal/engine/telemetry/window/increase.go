package window

import (
	"math"
	"sort"
	"time"
)

// Window is a part of a run.
type Window struct {
	From, To time.Duration
	// Settled is a time after which the server counted nothing more of this window, and before which
	// nothing of what follows; 0 = there is none.
	Settled time.Duration
}

// Seconds returns the length of a window.
func (w Window) Seconds() float64 { return (w.To - w.From).Seconds() }

// Increase is by how much a counter grew in a window.
type Increase struct {
	Total   float64 // between the exact bounds, interpolated
	Error   float64 // the largest possible error of Total: the counter is monotone between scrapes
	Settled float64 // from the last scrape before the window to the one after which nothing was counted; NaN = unknown
	Resets  int
	// Partial means that Total is a lower bound: the counter was reset, or it appears first inside the window.
	Partial bool
}

// Plus returns the sum of two increases.
func (a Increase) Plus(b Increase) Increase {
	return Increase{
		Total: a.Total + b.Total, Error: a.Error + b.Error, Settled: a.Settled + b.Settled,
		Resets: a.Resets + b.Resets, Partial: a.Partial || b.Partial,
	}
}

// Best returns the settled increase if it is known, otherwise the interpolated one.
func (a Increase) Best() float64 {
	if math.IsNaN(a.Settled) {
		return a.Total
	}
	return a.Settled
}

// curve is how much a counter has grown since the first scrape, at each scrape that has it.
type curve struct {
	at     []time.Duration
	value  []float64
	resets []time.Duration
}

// curves returns the curves of counters that are reset together: one that falls resets all. A counter that
// an earlier scrape lacks was zero then: servers expose many with their first value only.
func (h *History) curves(columns ...*column) []curve {
	out := make([]curve, len(columns))
	last, values := make([]float64, len(columns)), make([]float64, len(columns))
	for i := range h.Scrapes {
		at, reset := h.Scrapes[i].At(), h.restarted(i)
		for j, c := range columns {
			values[j] = math.NaN()
			if c != nil {
				values[j] = c.at(i)
			}
			reset = reset || len(out[j].value) > 0 && values[j] < last[j]
		}
		for j, v := range values {
			if math.IsNaN(v) {
				continue
			}
			if o := &out[j]; len(o.value) == 0 && i > 0 {
				o.grow(h.Scrapes[i-1].At(), 0)
			}
			if o := &out[j]; reset && len(o.value) > 0 {
				o.resets = append(o.resets, at)
				o.grow(at, v)
			} else {
				o.grow(at, v-last[j])
			}
			last[j] = v
		}
	}
	return out
}

// grow adds an increase to a curve. The first value is where it begins.
func (c *curve) grow(at time.Duration, by float64) {
	n := len(c.value)
	if n > 0 {
		by += c.value[n-1]
	}
	c.at, c.value = append(c.at, at), append(c.value, by)
}

// startTime is when the process of a server began, in seconds since 1970.
const startTime = "process_start_time_seconds"

// restarted reports whether the process of the server began anew between a scrape and the one before.
func (h *History) restarted(scrape int) bool {
	f := h.byName[startTime]
	if scrape == 0 || f == nil || f.Groups[0].value == nil {
		return false
	}
	before, now := f.Groups[0].value.at(scrape-1), f.Groups[0].value.at(scrape)
	return before != now && !math.IsNaN(before) && !math.IsNaN(now)
}

// bound returns the value of a curve at a time, by linear interpolation, and its largest possible error.
func (c *curve) bound(at time.Duration) (v, err float64) {
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] >= at })
	switch {
	case i == len(c.at):
		return c.value[i-1], 0
	case i == 0 || c.at[i] == at:
		return c.value[i], 0
	}
	low, high := c.value[i-1], c.value[i]
	v = low + (high-low)*float64(at-c.at[i-1])/float64(c.at[i]-c.at[i-1])
	return v, max(v-low, high-v)
}

// before returns the value at the last scrape at or before a time; ok = false if there is none.
func (c *curve) before(at time.Duration) (v float64, ok bool) {
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] > at })
	if i == 0 {
		return 0, false
	}
	return c.value[i-1], true
}

// increase returns by how much a curve grows in a window; ok = false if it has no value.
func (c *curve) increase(w Window) (out Increase, ok bool) {
	if len(c.at) == 0 || c.at[0] > w.To {
		return Increase{}, false
	}
	from, fromErr := c.bound(w.From)
	to, toErr := c.bound(w.To)
	out = Increase{Total: to - from, Error: fromErr + toErr, Settled: math.NaN()}
	before, known := c.before(w.From)
	out.Partial = !known
	if w.Settled > 0 && known {
		if v, ok := c.before(w.Settled); ok {
			out.Settled = v - before
		}
	}
	for _, at := range c.resets {
		if at > w.From && at <= w.To {
			out.Resets++
			out.Partial = true
		}
	}
	return out, true
}

// Increase returns by how much a counter grows in a window; ok = false if the group is none, or has no value.
func (h *History) Increase(g *Group, w Window) (Increase, bool) {
	if g.value == nil {
		return Increase{}, false
	}
	return h.curves(g.value)[0].increase(w)
}

// Observations are the values that a histogram took in, in a window.
type Observations struct{ Count, Sum Increase }

// Mean returns the mean of the observations; ok = false if there is none.
func (o Observations) Mean() (float64, bool) {
	n := o.Count.Best()
	if !(n > 0) {
		return 0, false
	}
	return o.Sum.Best() / n, true
}

// Observed returns count and sum of a histogram in a window; ok = false if the group is none, or has no value.
func (h *History) Observed(g *Group, w Window) (Observations, bool) {
	if g.count == nil || g.sum == nil {
		return Observations{}, false
	}
	all := h.curves(g.columns()...)
	count, ok := all[0].increase(w)
	sum, known := all[1].increase(w)
	return Observations{count, sum}, ok && known
}

// columns returns count, sum and the buckets of a histogram.
func (g *Group) columns() []*column {
	out := []*column{g.count, g.sum}
	for _, b := range g.buckets {
		out = append(out, b.column)
	}
	return out
}
