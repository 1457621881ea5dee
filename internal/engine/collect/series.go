package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/series"
)

// phaseSeries adds a phase to the time series of its run.
type phaseSeries struct {
	to    *series.Recorder
	phase *plan.Phase
}

var _ Observer = (*phaseSeries)(nil)

// NewSeries returns the observer that adds a phase to the time series of its run.
func NewSeries(to *series.Recorder, p *plan.Phase) Observer { return &phaseSeries{to, p} }

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
