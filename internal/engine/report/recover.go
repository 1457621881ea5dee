package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Recovery is what [Recover] needs of its caller.
type Recovery struct {
	Keep     func(*measure.Set) error // makes a set keep its values on disk; an error leaves them in memory
	Progress func(read, total int64)  // is called now and then with bytes of the record file
}

// Recover computes the results of an interrupted run from the record file in its
// folder, and the phases as the API shows them. The run has its final state already.
// The error is that of ctx if it ends before. Memory does not grow with the file: the
// values are on disk, or within the budget of the metrics.
func Recover(ctx context.Context, dir string, m *plan.Measure, r *run.Run, o Recovery) (*export.Report, []run.Phase, error) {
	if keep := m.Files.Keep; !keep.Everything() {
		return nil, nil, fmt.Errorf("the record file does not have all requests (artifacts.keepRecords: %s)", keep.Mode)
	}
	log := results.Open(dir, m.Files.Layout.Prefix).Measured(o.Progress)
	jobs := agents.NewJobs()
	phases, err := replay(m, log.Records(ctx), o.Keep, jobs, func(int) time.Duration { return 0 })
	if err != nil {
		return nil, nil, err
	}
	adjust(phases, m.Document, nil)
	rep := Build(r, m, log.Clock, phases)
	rep.State, rep.Reason, rep.Complete = r.State, r.StateReason, false
	rep.Agents = agentsOf(jobs, m.Document, rep)
	rep.Validity = Validity(m.Document, rep, phases)
	rep.Warnings = append(warn("interrupted", "%s", r.StateReason), reportWarnings(rep)...)
	if log.LeftOut > 0 {
		rep.Warnings = append(rep.Warnings, warn("events-left-out",
			"the record file has %d requests without some of their content events, because it has at most %d for each: "+
				"what follows from the times of all events, such as the inter-token latency, is computed without these requests",
			log.LeftOut, export.MaxListed)...)
	}
	var public []run.Phase
	for i := range phases {
		public = append(public, phases[i].Public(log.Clock))
	}
	return rep, public, nil
}

// replay adds the records of a file to the phases in which they were made. Phases
// without a record are left out. start returns when a phase began; 0 = when its first record was due.
func replay(
	m *plan.Measure, records iter.Seq2[*bench.Record, error], keep func(*measure.Set) error, jobs *agents.Jobs,
	start func(phase int) time.Duration,
) ([]Measured, error) {
	phases := make([]Measured, len(m.Phases))
	for rec, err := range records {
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
			_ = keep(p.Set) // else the values stay in memory, within their budget
			p.Stats.End, p.Stats.Start = bench.PhaseAborted, cmp.Or(start(rec.Phase), rec.Stamps.Due)
			if p.Plan.Kind == bench.Profiling {
				p.Set.SliceFrom(p.Stats.Start)
			}
		}
		p.add(rec)
		collect.AgentsOf(p.Plan, jobs)(rec)
	}
	return slices.DeleteFunc(phases, func(p Measured) bool { return p.Set == nil }), nil
}

// newMeasured returns a phase without records.
func newMeasured(p *spec.Phase, o measure.Options) (Measured, error) {
	set, err := measure.NewSet(o)
	if err != nil {
		return Measured{}, err
	}
	return Measured{Plan: p, Set: set, Tally: &verdict.Tally{Replay: verdict.NewReplay(p.Lanes != nil)}, Stats: bench.PhaseStats{
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
