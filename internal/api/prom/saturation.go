package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/engine/verdict"
)

// saturationFamilies are the metrics of an open loop: the offered and the achieved
// rate.
type saturationFamilies struct {
	saturated, asked, offered, achieved, backlog, cut *prometheus.Desc
}

func newSaturationFamilies() saturationFamilies {
	of := func(name, help string) *prometheus.Desc { return family("aiperf_"+name, help, "run_id") }
	return saturationFamilies{
		saturated: of("saturated", "1 if requests come faster than they are served, 0 if not. Open loops only."),
		asked:     of("asked_requests_per_second", "Request rate of the plan. Open loops only."),
		offered:   of("offered_requests_per_second", "Rate at which requests were due: random arrivals differ from their mean."),
		achieved:  of("achieved_requests_per_second", "Rate at which requests succeeded. Open loops only."),
		backlog:   of("backlog_requests_max", "Most requests that were due and had not returned at the same time. Open loops only."),
		cut:       of("cut_requests_ratio", "Share of the requests that were cut off by the end of the phase. Open loops only."),
	}
}

// all returns the descriptions.
func (f *saturationFamilies) all() []*prometheus.Desc {
	return []*prometheus.Desc{f.saturated, f.asked, f.offered, f.achieved, f.backlog, f.cut}
}

// saturation emits the metrics of an open loop.
func (e *emitter) saturation(id string, s *verdict.Saturation) {
	f := &e.load
	value := 0.0
	if s.Saturated {
		value = 1
	}
	e.gauge(f.saturated, value, id)
	e.gauge(f.asked, s.AskedRate, id)
	if s.OfferedRate != nil {
		e.gauge(f.offered, *s.OfferedRate, id)
	}
	if s.AchievedRate != nil {
		e.gauge(f.achieved, *s.AchievedRate, id)
	}
	e.gauge(f.backlog, float64(s.BacklogMax), id)
	e.gauge(f.cut, s.CutShare, id)
}
