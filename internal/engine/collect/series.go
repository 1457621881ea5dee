package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/series"
)

// WarnSeries is the warning on a run whose time series is not whole.
const WarnSeries = "series-incomplete"

// NewSeries returns the observer that records the time series of a run.
func NewSeries(to *series.Recorder) RunObserver {
	phase := func(p *spec.Phase, _ *measure.Set) Observer {
		return Observer{
			Begin: func(l Load) {
				to.Begin(series.Phase{Index: p.Index, Name: p.Name, Kind: string(p.Kind), Start: l.Start()})
			},
			Observe: func(rec *bench.Record) { to.Observe(rec, p.Leaves(rec)) },
			Look:    func(l *Look) { to.Look(p.Index, seriesLoad(p, l), l.Last) },
		}
	}
	return RunObserver{Phase: phase, End: func(warn func(code, detail string)) { CloseSeries(to, warn) }}
}

// CloseSeries closes a time series; nil = there is none. What it lacks goes to warn.
func CloseSeries(to *series.Recorder, warn func(code, detail string)) {
	if to == nil {
		return
	}
	incomplete, err := to.Close()
	switch {
	case err != nil:
		warn(WarnSeries, err.Error())
	case incomplete:
		warn(WarnSeries, "the time series lacks some seconds, because the disk was too slow")
	}
}

// seriesLoad returns the load of a phase at one instant.
func seriesLoad(p *spec.Phase, l *Look) series.Load {
	now := series.Load{
		At: l.Stats.LastUpdate, Sent: l.Stats.Sent, Offered: -1,
		InFlight: l.Stats.InFlight(), Limit: int64(p.Concurrency), Backlog: l.Stats.Backlog,
	}
	if p.Open() {
		now.Offered = l.Stats.Arrivals.Used
	}
	if l.Last { // records are decoded after the last request
		now.At = max(l.Stats.RequestsEnd, l.Stats.Start)
	}
	return now
}
