package diagnose

import (
	"net/url"
	"slices"
	"time"

	"aiperfd/internal/engine/telemetry/window"
)

// Info returns how often a page was read so far.
func (p *Pages) Info(h *window.History) Info {
	out := Info{TotalFetches: len(h.Scrapes)}
	if out.TotalFetches == 0 {
		return out
	}
	const ms = float64(time.Millisecond)
	latency := time.Duration(0)
	var updates []time.Duration
	for i := range h.Scrapes {
		s := &h.Scrapes[i]
		latency += s.FirstByte - s.Sent
		if s.Fresh {
			updates = append(updates, s.FirstByte)
		}
	}
	out.AvgLatencyMS = float64(latency) / float64(out.TotalFetches) / ms
	out.FirstFetch = p.Clock.UnixNano(h.Scrapes[0].FirstByte)
	out.LastFetch = p.Clock.UnixNano(h.Scrapes[len(h.Scrapes)-1].FirstByte)
	out.UniqueUpdates = len(updates)
	if len(updates) == 0 {
		return out
	}
	first, last := updates[0], updates[len(updates)-1]
	out.FirstUpdate, out.LastUpdate = p.Clock.UnixNano(first), p.Clock.UnixNano(last)
	out.DurationSeconds = (last - first).Seconds()
	if len(updates) < 2 {
		return out
	}
	out.AvgInterval = float64(last-first) / float64(len(updates)-1) / ms
	var intervals []float64
	for i := 1; i < len(updates); i++ {
		intervals = append(intervals, float64(updates[i]-updates[i-1])/ms)
	}
	slices.Sort(intervals)
	middle := intervals[len(intervals)/2]
	if len(intervals)%2 == 0 {
		middle = (middle + intervals[len(intervals)/2-1]) / 2
	}
	out.MedianInterval = &middle
	return out
}

// Authority returns host and port of a page, as AIPerf's tables show it.
func (page *Page) Authority() string {
	u, err := url.Parse(page.URL)
	if err != nil || u.Host == "" {
		return page.URL
	}
	return u.Host
}
