package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/series"
)

// phaseSeries adds a phase to the time series of its run.
type phaseSeries struct {
	to    *series.Recorder
	phase *spec.Phase
}

var _ Observer = (*phaseSeries)(nil)

// Series records the time series of a run.
type Series struct{ to *series.Recorder }

var _ RunObserver = Series{}

// NewSeries returns the observer that records a time series.
func NewSeries(to *series.Recorder) Series { return Series{to} }

// Phase implements [RunObserver].
func (s Series) Phase(p *spec.Phase, _ *measure.Set) Observer { return &phaseSeries{s.to, p} }

// End implements [RunObserver]: it makes the time series durable.
func (s Series) End(warn func(code, detail string)) {
	incomplete, err := s.to.Close()
	switch {
	case err != nil:
		warn(WarnSeries, err.Error())
	case incomplete:
		warn(WarnSeries, "the time series lacks some seconds, because the disk was too slow")
	}
}

// WarnSeries is the warning on a run whose time series is not whole.
const WarnSeries = "series-incomplete"

// Begin implements [Observer].
func (s *phaseSeries) Begin(p Load) {
	s.to.Begin(series.Phase{Index: s.phase.Index, Name: s.phase.Name, Kind: string(s.phase.Kind), Start: p.Start()})
}

// Observe implements [Observer].
func (s *phaseSeries) Observe(rec *bench.Record) { s.to.Observe(rec, s.phase.Leaves(rec)) }

// Look implements [Observer].
func (s *phaseSeries) Look(l *Look) {
	now := series.Load{
		At: l.Stats.LastUpdate, Sent: l.Stats.Sent, Offered: -1,
		InFlight: l.Stats.InFlight(), Limit: int64(s.phase.Concurrency), Backlog: l.Stats.Backlog,
	}
	if s.phase.Open() {
		now.Offered = l.Stats.Arrivals.Used
	}
	if l.Last { // records are decoded after the last request
		now.At = max(l.Stats.RequestsEnd, l.Stats.Start)
	}
	s.to.Look(s.phase.Index, now, l.Last)
}
