package diagnose

import (
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/view"
)

// disturbing is the share of the time above which reading the metrics of a server can be felt there: many servers
// render them in the thread that delivers tokens.
const disturbing = 0.01

// scrapeDisturbs tells how long a server was busy with the reading of its metrics.
func scrapeDisturbs(p *Picture, _ *Client) (Finding, bool) {
	return Finding{
		Level: Notice, Metric: "scrape_share", Value: &p.scrapes, Limit: new(disturbing),
		Message: fmt.Sprintf("reading its metrics kept a server busy for %s of the time: read them less often "+
			"(--server-metrics-interval), or not at all (--no-server-metrics)", view.Percent(p.scrapes)),
	}, p.scrapes > disturbing
}

// behindBalancer tells that several processes answer at one address.
func behindBalancer(p *Picture, _ *Client) (Finding, bool) {
	return Finding{
		Level: Notice, Value: new(float64(p.switches)),
		Message: fmt.Sprintf("several processes answer at one address: its metrics changed from one to another and "+
			"back at least %d times, and their totals and levels are none of them; name each with --server-metrics", p.switches),
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

// returns counts how often a page shows again what it had shown before another process answered: its start, or, of
// servers that do not say when they started, a count of requests that had fallen.
func returns(src *Source, w window.Window) int {
	if f := src.History.Family("process_start_time_seconds"); f != nil && len(f.Groups) > 0 {
		n := 0
		var seen []float64
		for _, s := range samples(src.History, f.Groups[0], w) {
			switch {
			case len(seen) > 0 && seen[len(seen)-1] == s:
				continue
			case slices.Contains(seen, s):
				n++
			}
			seen = append(seen, s)
		}
		return n
	}
	most := 0
	for i := range src.Servers {
		from, ok := src.Servers[i].Find(src.History, "requests")
		if !ok {
			continue
		}
		for _, g := range from.Groups {
			most = max(most, recovered(samples(src.History, g, w)))
		}
	}
	return most
}

// recovered counts how often a counter that has fallen is above where it fell from a few readings later, if that
// happens more than once: a server that has begun again does not count that fast.
func recovered(v []float64) (n int) {
	const soon = 3
	for i := 1; i < len(v); i++ {
		if v[i] >= v[i-1] {
			continue
		}
		for j := i + 1; j < min(len(v), i+1+soon); j++ {
			if v[j] >= v[i-1] && v[j-1] < v[i-1] {
				n++
				break
			}
		}
	}
	if n < 2 {
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
