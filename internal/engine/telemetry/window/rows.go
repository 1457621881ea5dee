package window

import (
	"math"
	"time"
)

// Row is the state of a series, or of one bucket of a histogram, at one time of a window.
type Row struct {
	Family *Family
	Labels Labels
	At     time.Duration
	Value  float64 // of a gauge; of a counter, since the start of the window
	// Of a histogram, since the start of the window.
	Sum, Count float64
	Bound      string // of the bucket; empty = it is no histogram
	Observed   float64
}

// Rows calls each for every series of every scrape in a window, and at its end. The last row of a counter has
// the total that [History.Reduce] returns.
func (h *History) Rows(w Window, each func(*Row)) {
	var times []time.Duration
	for i := range h.Scrapes {
		if at := h.Scrapes[i].At(); at > w.From && at < w.To {
			times = append(times, at)
		}
	}
	times = append(times, w.To)
	for _, f := range h.Families {
		for _, g := range f.Groups {
			row := Row{Family: f, Labels: g.Labels}
			switch f.kind() {
			case Gauge, Unknown:
				h.gaugeRows(g, times, row, each)
			case Counter:
				h.counterRows(g, w, times, row, each)
			case Histogram:
				h.histogramRows(g, w, times, row, each)
			}
		}
	}
}

func (h *History) gaugeRows(g *Group, times []time.Duration, row Row, each func(*Row)) {
	steps := h.Steps(g)
	next, value := 0, math.NaN()
	for _, at := range times {
		for next < len(steps) && steps[next].At <= at {
			value = steps[next].Value
			next++
		}
		if !math.IsNaN(value) {
			row.At, row.Value = at, value
			each(&row)
		}
	}
}

func (h *History) counterRows(g *Group, w Window, times []time.Duration, row Row, each func(*Row)) {
	if g.value == nil {
		return
	}
	c := h.curves(g.value)[0]
	for _, at := range times {
		if n, ok := c.increase(Window{From: w.From, To: at}); ok {
			row.At, row.Value = at, n.Total
			each(&row)
		}
	}
}

func (h *History) histogramRows(g *Group, w Window, times []time.Duration, row Row, each func(*Row)) {
	if g.count == nil || g.sum == nil {
		return
	}
	all := h.curves(g.columns()...)
	for _, at := range times {
		until := Window{From: w.From, To: at}
		count, ok := all[0].increase(until)
		sum, known := all[1].increase(until)
		if !ok || !known {
			continue
		}
		row.At, row.Sum, row.Count = at, sum.Total, count.Total
		for i, b := range g.buckets {
			n, _ := all[i+2].increase(until)
			row.Bound, row.Observed = b.text, n.Total
			each(&row)
		}
	}
}
