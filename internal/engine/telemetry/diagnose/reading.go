package diagnose

import (
	"fmt"
	"math"

	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/view"
)

// disturbing is the share of the time above which reading the metrics of a server can be felt there: many servers
// render them in the thread that delivers tokens.
const disturbing = 0.01

// scrapeDisturbs tells for how much of the time the metrics of a server were read.
func scrapeDisturbs(p *Picture, _ *Client) (Finding, bool) {
	return Finding{
		Level: Notice, Metric: "scrape_share", Value: &p.scrapes, Limit: new(disturbing),
		Message: fmt.Sprintf("reading the metrics of a server took %s of the time, in which it may have delivered no "+
			"tokens: read them less often (--server-metrics-interval) or not at all (--no-server-metrics)",
			view.Percent(p.scrapes)),
	}, p.scrapes > disturbing && p.read >= leastReadings
}

// behindBalancer tells that several processes answer at one address.
func behindBalancer(p *Picture, _ *Client) (Finding, bool) {
	return Finding{
		Level: Notice, Value: new(float64(p.switches)),
		Message: fmt.Sprintf("several processes answer at one address: its metrics returned to one that had answered "+
			"before at least %s, and what they say belongs to none of them alone; name each with --server-metrics",
			view.Plural(p.switches, "time")),
	}, p.switches > 0
}

// observe notes how a source was read: how much of the time that took, and whether one process has answered.
func (p *Picture) observe(src *Source) {
	busy := 0.0
	for i := range src.History.Scrapes {
		if s := &src.History.Scrapes[i]; s.Sent >= p.window.From && s.End <= p.window.To {
			busy += (s.End - s.Sent).Seconds()
		}
	}
	if length := p.window.Seconds(); length > 0 {
		p.scrapes = max(p.scrapes, busy/length)
	}
	p.switches = max(p.switches, returns(src, p.window))
}

// returns counts how often a page shows a process again after it has shown another one: by their starts, or, of
// servers that do not say when they started, by counts of requests that fall and are where they were at once.
func returns(src *Source, w window.Window) (n int) {
	if f := src.History.Family("process_start_time_seconds"); f != nil {
		return switched(src.History, f, w)
	}
	for i := range src.Servers {
		from, ok := src.Servers[i].Find(src.History, "requests")
		if !ok {
			continue
		}
		for _, g := range from.Groups {
			n = max(n, recovered(samples(src.History, g, w)))
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
