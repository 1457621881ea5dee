package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/verdict"
)

// interruptedReason is shown with runs that the end of the process interrupted.
const interruptedReason = "interrupted: the process ended while the run was active; the summary covers the requests that were recorded"

// recover settles what an earlier process left behind: interrupted runs get a
// summary from their record file, queued ones go back into the queue unless
// they needed secrets.
func (e *Engine) recover(ctx context.Context) error {
	for _, s := range []bench.State{bench.Starting, bench.Running, bench.Stopping, bench.Exporting} {
		if err := e.each(ctx, s, e.interrupted); err != nil {
			return err
		}
	}
	return e.each(ctx, bench.Queued, e.requeue)
}

// each calls f for every run in a state, oldest first.
func (e *Engine) each(ctx context.Context, s bench.State, f func(context.Context, *Run) error) error {
	var all []Run
	for q := (Query{States: []bench.State{s}, Sort: SortCreated, Limit: 500}); ; {
		page, err := e.opts.Store.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list %s runs: %w", s, err)
		}
		all = append(all, page.Runs...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	for i := range all {
		r, err := e.opts.Store.Get(ctx, all[i].ID)
		if err != nil {
			return fmt.Errorf("read run %s: %w", all[i].ID, err)
		}
		if err := f(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// interrupted ends a run whose process died, with what its record file holds.
func (e *Engine) interrupted(ctx context.Context, r *Run) error {
	r.Error = &RunError{Code: Interrupted, Message: interruptedReason}
	finishRun(r, bench.Failed, interruptedReason)
	r.Revision++
	removeValues(e.opts.Store.Dir(r.ID))
	if err := e.rebuild(r); err != nil {
		e.opts.Log.Warn().Err(err).Str("run", r.ID).Msg("no partial results of interrupted run")
		err = errors.Join(err, export.Abandon(e.opts.Store.Dir(r.ID)))
		r.Warnings = append(slices.Clip(r.Warnings), Warning{Code: "no-partial-results", Detail: err.Error()})
	}
	if err := e.opts.Store.Put(ctx, r); err != nil {
		return fmt.Errorf("store interrupted run %s: %w", r.ID, err)
	}
	e.opts.Log.Warn().Str("run", r.ID).Msg("run was interrupted by the end of the process")
	return nil
}

// rebuild computes the results of an interrupted run from its record file.
func (e *Engine) rebuild(r *Run) error {
	d, _, err := config.Load(r.Config, config.LoadOptions{Stored: true, Choices: Choices()})
	if err != nil {
		return fmt.Errorf("read stored configuration: %w", err)
	}
	d.RandomSeed = &r.Seed
	plan, err := compileMeasure(d)
	if err != nil {
		return fmt.Errorf("compile stored configuration: %w", err)
	}
	dir := e.opts.Store.Dir(r.ID)
	names := export.NamesFor(plan.Files.Prefix)
	file, err := os.Open(filepath.Join(dir, names.Records))
	if err != nil {
		return err
	}
	defer file.Close()
	log, err := export.ReadRecords(file)
	if err != nil {
		return err
	}
	phases, err := replay(plan, log)
	if err != nil {
		return err
	}
	rep := newReport(r, plan)
	rep.State, rep.Reason = r.State, r.StateReason
	fill(rep, log.Clock, phases)
	rep.Notes = append(rep.Notes, export.Note{Code: "interrupted", Detail: interruptedReason})
	for _, w := range doubts(rep) {
		rep.Notes = append(rep.Notes, export.Note{Code: w.Code, Detail: w.Detail})
	}
	rep.Complete = false
	if _, err := export.Write(dir, names, rep, &redact.Set{}); err != nil {
		return err
	}
	r.Summary = summarise(rep)
	snap := &Snapshot{
		Wall: time.Now().UTC(), State: r.State, Final: true, Exported: true, Phases: publicPhases(phases, log.Clock),
		Metrics: rep.Results, Warmup: rep.Warmup, Errors: rep.Errors, Start: rep.Start, End: rep.End,
		Stream: rep.Stream,
	}
	snap.MetricsAt = snap.Wall
	return storeSnapshot(dir, snap)
}

// replay folds a record file into metrics, phase by phase.
func replay(plan *Measure, log *export.RecordLog) ([]measured, error) {
	phases := make([]measured, len(plan.Phases))
	for rec, err := range log.Records {
		if err != nil {
			return nil, err
		}
		if rec.Phase < 0 || rec.Phase >= len(phases) {
			return nil, errors.New("record file names a phase that the configuration does not have")
		}
		m := &phases[rec.Phase]
		if m.set == nil {
			set, err := metric.NewSet(plan.Metrics)
			if err != nil {
				return nil, err
			}
			p := &plan.Phases[rec.Phase]
			*m = measured{plan: p, set: set, tally: new(verdict.Tally), stats: bench.PhaseStats{
				Index: p.Index, ProfilingIndex: p.ProfilingIndex, Name: p.Name, Kind: p.Kind,
				ExpectedRequests: p.Requests, ExpectedSessions: p.Sessions, ExpectedDuration: p.Duration,
				Grace: p.Grace, End: bench.PhaseAborted, Start: rec.Stamps.Due,
			}}
		}
		m.fold(rec)
	}
	return slices.DeleteFunc(phases, func(m measured) bool { return m.set == nil }), nil
}

// fold counts one record as a running phase would have.
func (m *measured) fold(rec *bench.Record) {
	m.set.Observe(rec)
	m.tally.Observe(rec)
	s := &m.stats
	s.Sent++
	s.Start = min(s.Start, rec.Stamps.Due, rec.Stamps.Start)
	s.LastUpdate = max(s.LastUpdate, rec.Stamps.End)
	s.RequestsEnd = s.LastUpdate
	switch {
	case rec.Cancelled():
		s.Cancelled++
	case rec.OK():
		s.Completed++
		s.SuccessRecords++
	default:
		s.Completed++
		s.Errors++
		s.ErrorRecords++
	}
}

func publicPhases(phases []measured, clock bench.Clock) []Phase {
	var out []Phase
	for _, m := range phases {
		out = append(out, publicPhase(m.plan, m.set, m.stats, clock))
	}
	return out
}

// requeue puts a queued run of an earlier process back into the queue. One that
// needed secrets cannot run: they are never stored.
func (e *Engine) requeue(ctx context.Context, r *Run) error {
	d, _, err := config.Load(r.Config, e.opts.Load)
	if r.Credentials.any() || err != nil {
		r.Error = &RunError{Code: SecretLost, Message: "queued with secrets, which are never stored; submit it again"}
		if err != nil && !r.Credentials.any() {
			r.Error = &RunError{Code: Internal, Message: err.Error()}
		}
		finishRun(r, bench.Failed, r.Error.Message)
		r.Revision++
		return e.opts.Store.Put(ctx, r)
	}
	d.RandomSeed = &r.Seed
	d.Metadata = config.Metadata{Name: r.Name, Labels: r.Labels, Notes: r.Notes}
	j, err := e.newJob(Submission{Document: d, Via: r.Via, CLICommand: r.CLICommand})
	if err != nil {
		return fmt.Errorf("compile queued run %s: %w", r.ID, err)
	}
	j.run = *r
	e.enqueue(j)
	return nil
}
