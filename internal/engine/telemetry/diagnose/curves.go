package diagnose

import (
	"iter"
	"slices"
	"time"

	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
)

// Curves are canonical metrics of all servers together over the time of a run: one value per reading. Of a run
// with many readings, a point is several of them.
type Curves struct {
	Start time.Time `json:"start_time"` // from which seconds count
	Time  []float64 `json:"time_sec"`   // of each reading, or of the last one of the point
	// Levels are what the servers said at that time, by canonical name; null = nothing.
	Levels map[string][]*float64 `json:"levels"`
	// Increases are by how much counters grew since the point before, by canonical name.
	Increases map[string][]*float64 `json:"increases"`
}

// leastPoints is how often servers must be read for a curve.
const leastPoints = 3

// drawn returns the canonical metrics that have curves.
func drawn() []string {
	return []string{
		"waiting", "running", "kv_usage", "preemptions", "prefix_hits", "prefix_queries", "prompt_tokens",
		"generation_tokens",
	}
}

// NewCurves returns the curves of the sources in a window; nil = there are too few readings. start is the wall
// time of the beginning of the window.
func NewCurves(sources []Source, w window.Window, start time.Time) *Curves {
	var histories []*window.History
	for _, src := range sources {
		if len(src.Servers) > 0 {
			histories = append(histories, src.History)
		}
	}
	times := window.Times(w, histories...)
	if len(times) < leastPoints {
		return nil
	}
	points := window.Divide(len(times))
	c := &Curves{
		Start: start, Time: points.Ends(times, w.From), Levels: map[string][]*float64{}, Increases: map[string][]*float64{},
	}
	engines := anyEngine(sources)
	for _, m := range servermap.Metrics() {
		switch {
		case !slices.Contains(drawn(), m.Name):
		case m.Form == servermap.Level, m.Form == servermap.Share:
			if values := levels(sources, m, !engines, times); values != nil {
				c.Levels[m.Name] = points.Reduce(values, window.Mean)
			}
		case m.Form == servermap.Total:
			if values := increases(sources, m.Name, !engines, w.From, times); values != nil {
				c.Increases[m.Name] = points.Reduce(values, window.Sum)
			}
		}
	}
	return c
}

// levels returns a level at each time; nil = no server has it.
func levels(sources []Source, m servermap.Metric, frontend bool, times []time.Duration) []float64 {
	var all [][]window.Step
	for src, g := range groups(sources, m.Name, frontend) {
		if steps := src.History.Steps(g); steps != nil {
			all = append(all, steps)
		}
	}
	if len(all) == 0 {
		return nil
	}
	of := window.Sum
	if m.Form == servermap.Share {
		of = window.Mean
	}
	return window.At(window.Combine(of, all...), times)
}

// increases returns by how much a counter grew before each time since the one before; nil = no server has it.
func increases(sources []Source, name string, frontend bool, from time.Duration, times []time.Duration) []float64 {
	var sums []float64
	bounds := append([]time.Duration{from}, times...)
	for src, g := range groups(sources, name, frontend) {
		grown := src.History.Grown(g, bounds)
		if grown == nil {
			continue
		}
		if sums == nil {
			sums = make([]float64, len(times))
		}
		for i := range sums {
			sums[i] += grown[i+1] - grown[i]
		}
	}
	return sums
}

// groups yields the series of a canonical metric, of the frontends or of the engines.
func groups(sources []Source, name string, frontend bool) iter.Seq2[*Source, *window.Group] {
	return func(yield func(*Source, *window.Group) bool) {
		for i := range sources {
			src := &sources[i]
			for k := range src.Servers {
				s := &src.Servers[k]
				if s.Frontend != frontend {
					continue
				}
				from, ok := s.Find(src.History, name)
				if !ok {
					continue
				}
				for _, g := range from.Groups {
					if !yield(src, g) {
						return
					}
				}
			}
		}
	}
}
