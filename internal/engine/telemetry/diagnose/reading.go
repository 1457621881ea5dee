package diagnose

import (
	"math"

	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
)

// reading is how often a page was read within a window, and the seconds that this took.
type reading struct {
	times   int
	seconds float64
}

// readings returns how a page was read in a window.
func readings(h *window.History, w window.Window) (r reading) {
	for i := range h.Scrapes {
		if s := &h.Scrapes[i]; s.Sent >= w.From && s.End <= w.To {
			r.times++
			r.seconds += (s.End - s.Sent).Seconds()
		}
	}
	return r
}

// returns counts how often a page shows a process again after it has shown another one: by their starts, or, of
// servers that do not say when they started, by counts of requests that fall and are where they were at once.
func returns(h *window.History, servers []servermap.Server, w window.Window) (n int) {
	if f := h.Family("process_start_time_seconds"); f != nil {
		return switched(h, f, w)
	}
	for i := range servers {
		from, ok := servers[i].Find(h, "requests")
		if !ok {
			continue
		}
		for _, g := range from.Groups {
			n = max(n, recovered(samples(h, g, w)))
		}
	}
	return n
}

// switched counts how often a page returns in a window to processes that it has shown before others. The sum of
// their starts tells sets of processes apart.
func switched(h *window.History, f *window.Family, w window.Window) (n int) {
	var starts [][]window.Step
	for _, g := range f.Groups {
		if steps := h.Steps(g); len(steps) > 0 {
			starts = append(starts, steps)
		}
	}
	seen, last := map[float64]bool{}, math.NaN()
	for _, s := range window.Combine(window.Sum, starts...) {
		if s.At > w.To {
			break
		}
		if math.IsNaN(s.Value) || s.Value == last {
			continue
		}
		if seen[s.Value] && s.At >= w.From {
			n++
		}
		seen[s.Value], last = true, s.Value
	}
	return n
}

// recovered counts how often a counter that has fallen is within a few readings where it fell from, if that happens
// more than once: a server that has begun again does not count that fast.
func recovered(v []float64) (n int) {
	const soon, certain = 3, 2
	for i := 1; i < len(v); i++ {
		if v[i] >= v[i-1] {
			continue
		}
		for j := i + 1; j < min(len(v), i+1+soon); j++ {
			if v[j] >= v[i-1] {
				n++
				break
			}
		}
	}
	if n < certain {
		return 0
	}
	return n
}

// samples returns the values of a series in a window.
func samples(h *window.History, g *window.Group, w window.Window) (out []float64) {
	for _, s := range h.Samples(g) {
		if s.At >= w.From && s.At <= w.To && !math.IsNaN(s.Value) {
			out = append(out, s.Value)
		}
	}
	return out
}
