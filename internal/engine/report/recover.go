package report

import (
	"errors"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Recover computes the results of an interrupted run from the record file in its
// folder, and the phases as the API shows them. The run has its final state already.
func Recover(dir string, m *plan.Measure, r *run.Run) (*export.Report, []run.Phase, error) {
	file, err := regular.Open(filepath.Join(dir, export.NamesFor(m.Files.Layout.Prefix).Records))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	log, err := export.ReadRecords(file)
	if err != nil {
		return nil, nil, err
	}
	phases, err := replay(m, log)
	if err != nil {
		return nil, nil, err
	}
	rep := Build(r, m, log.Clock, phases)
	rep.State, rep.Reason, rep.Complete = r.State, r.StateReason, false
	rep.Warnings = append(warn("interrupted", "%s", r.StateReason), reportWarnings(rep)...)
	var public []run.Phase
	for i := range phases {
		public = append(public, phases[i].Public(log.Clock))
	}
	return rep, public, nil
}

// replay adds the records of a file to the phases in which they were made. Phases
// without a record are left out.
func replay(m *plan.Measure, log *export.RecordLog) ([]Measured, error) {
	phases := make([]Measured, len(m.Phases))
	for rec, err := range log.Records {
		if err != nil {
			return nil, err
		}
		if rec.Phase < 0 || rec.Phase >= len(phases) {
			return nil, errors.New("record file names a phase that the configuration does not have")
		}
		p := &phases[rec.Phase]
		if p.Set == nil {
			if *p, err = newMeasured(&m.Phases[rec.Phase], m.Metrics); err != nil {
				return nil, err
			}
			p.Stats.End, p.Stats.Start = bench.PhaseAborted, rec.Stamps.Due
			if p.Plan.Kind == bench.Profiling {
				p.Set.SliceFrom(rec.Stamps.Due)
			}
		}
		p.add(rec)
	}
	return slices.DeleteFunc(phases, func(p Measured) bool { return p.Set == nil }), nil
}

// newMeasured returns a phase without records.
func newMeasured(p *plan.Phase, o metric.Options) (Measured, error) {
	set, err := metric.NewSet(o)
	if err != nil {
		return Measured{}, err
	}
	return Measured{Plan: p, Set: set, Tally: new(verdict.Tally), Stats: bench.PhaseStats{
		Index: p.Index, ProfilingIndex: p.ProfilingIndex, Name: p.Name, Kind: p.Kind,
		ExpectedRequests: p.Requests, ExpectedSessions: p.Sessions, ExpectedDuration: p.Duration,
		Grace: p.Grace,
	}}, nil
}

// add counts a record as a running phase does.
func (m *Measured) add(rec *bench.Record) {
	s := &m.Stats
	if m.Plan.Leaves(rec) {
		s.Records.Excluded++
	} else {
		m.Set.Observe(rec)
	}
	m.Tally.Observe(rec)
	s.Sent++
	s.Start = min(s.Start, rec.Stamps.Due, rec.Stamps.Start)
	s.LastUpdate = max(s.LastUpdate, rec.Stamps.End)
	s.RequestsEnd, s.Records.From = s.LastUpdate, s.Start+m.Plan.Shape.Excluded()
	switch {
	case rec.Cancelled() && rec.Answer.Failure.Class == bench.CancelledByTest:
		s.CancelledByTest++
	case rec.Cancelled():
		s.Cancelled++
	case rec.OK():
		s.Completed++
		s.Records.Success++
	default:
		s.Completed++
		s.Errors++
		s.Records.Errors++
	}
}
