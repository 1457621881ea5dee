package window

import (
	"math"
	"slices"
	"time"
)

// Times returns when any of several pages was read in a window, after its start, in order.
func Times(w Window, pages ...*History) []time.Duration {
	var out []time.Duration
	for _, h := range pages {
		for i := range h.Scrapes {
			if at := h.Scrapes[i].At(); at > w.From && at <= w.To {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// At returns the value that a gauge has at each of several times, which are in order; NaN = none.
func At(steps []Step, times []time.Duration) []float64 {
	out := make([]float64, 0, len(times))
	next := 0
	for _, t := range times {
		for next < len(steps) && steps[next].At <= t {
			next++
		}
		if next == 0 {
			out = append(out, math.NaN())
		} else {
			out = append(out, steps[next-1].Value)
		}
	}
	return out
}

// Grown returns by how much a counter has grown from its first reading until each of several times,
// interpolated; nil = the group is none, or has no value.
func (h *History) Grown(g *Group, times []time.Duration) []float64 {
	if g.value == nil {
		return nil
	}
	c := &h.curves(g.value)[0]
	if len(c.at) == 0 {
		return nil
	}
	out := make([]float64, 0, len(times))
	for _, t := range times {
		v, _ := c.bound(t)
		out = append(out, v)
	}
	return out
}
