package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/export/native"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// interruptedReason is the state reason of runs that the end of the process interrupted.
const interruptedReason = "interrupted: the process ended while the run was active; the summary covers the requests that were recorded"

// recovery recovers the runs of an earlier process.
type recovery struct{ engine *Engine }

// run recovers the runs of an earlier process: interrupted runs get a summary from
// their record file, and queued ones return to the queue unless they need secrets.
func (v *recovery) run(ctx context.Context) error {
	for _, s := range []bench.State{bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting} {
		if err := v.each(ctx, s, v.interrupted); err != nil {
			return err
		}
	}
	return v.each(ctx, bench.StateQueued, v.requeue)
}

// each calls f for every run in a state, oldest first.
func (v *recovery) each(ctx context.Context, s bench.State, f func(context.Context, *run.Run) error) error {
	var all []run.Run
	for q := (run.Query{Kind: run.KindRun, States: []bench.State{s}, Sort: run.SortCreated, Limit: 500}); ; {
		page, err := v.engine.opts.Store.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list %s runs: %w", s, err)
		}
		all = append(all, page.Runs...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	for i := range all {
		r, err := v.engine.opts.Store.Get(ctx, all[i].ID)
		if err != nil {
			return fmt.Errorf("read run %s: %w", all[i].ID, err)
		}
		if err := f(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// interrupted ends a run whose process died, with the results from its record file.
func (v *recovery) interrupted(ctx context.Context, r *run.Run) error {
	r.Error = &run.Error{Code: run.Interrupted, Message: interruptedReason}
	finishRun(r, bench.StateFailed, interruptedReason)
	r.Revision++
	collect.RemoveValues(v.engine.opts.Store.Dir(r.ID))
	if err := v.rebuild(r); err != nil {
		v.engine.opts.Log.Warn().Err(err).Str("run", r.ID).Msg("no partial results of interrupted run")
		err = errors.Join(err, export.Abandon(v.engine.opts.Store.Dir(r.ID)))
		r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: "no-partial-results", Detail: err.Error()})
	}
	if err := v.engine.opts.Store.Put(ctx, r); err != nil {
		return fmt.Errorf("store interrupted run %s: %w", r.ID, err)
	}
	v.engine.opts.Log.Warn().Str("run", r.ID).Msg("run was interrupted by the end of the process")
	return nil
}

// rebuild computes the results of an interrupted run from its record file.
func (v *recovery) rebuild(r *run.Run) error {
	d, _, err := config.Load(r.Config, config.LoadOptions{Stored: true, Resolved: true, Choices: plan.Choices()})
	if err != nil {
		return fmt.Errorf("read stored configuration: %w", err)
	}
	d.RandomSeed = &r.Seed
	measure, err := plan.CompileMeasure(d)
	if err != nil {
		return fmt.Errorf("compile stored configuration: %w", err)
	}
	dir := v.engine.opts.Store.Dir(r.ID)
	if err := collect.RecoverOutputs(dir, measure.Files.Layout.Prefix); err != nil {
		r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: outputs: %v", err)})
	}
	rep, phases, err := report.Recover(dir, measure, r)
	if err != nil {
		return err
	}
	if _, err := export.Write(dir, rep, &redact.Set{}, native.Format()); err != nil {
		return err
	}
	r.Summary = report.Summarize(rep)
	snap := &run.Snapshot{Wall: time.Now().UTC(), State: r.State, Phases: phases, Stream: rep.Stream}
	complete(snap, rep)
	return storeSnapshot(dir, snap)
}

// requeue returns a queued run of an earlier process to the queue. A run with secrets
// cannot be performed, because they are never stored.
func (v *recovery) requeue(ctx context.Context, r *run.Run) error {
	load := v.engine.opts.Load
	load.Resolved = true
	d, _, err := config.Load(r.Config, load)
	if r.Credentials.Any() || err != nil {
		r.Error = &run.Error{Code: run.SecretLost, Message: "queued with secrets, which are never stored; submit it again"}
		if err != nil && !r.Credentials.Any() && !problem.Has(err, problem.CodeRedacted) {
			r.Error = &run.Error{Code: run.Internal, Message: err.Error()}
		}
		finishRun(r, bench.StateFailed, r.Error.Message)
		r.Revision++
		return v.engine.opts.Store.Put(ctx, r)
	}
	d.RandomSeed = &r.Seed
	d.Metadata = config.Metadata{Name: r.Name, Labels: r.Labels, Notes: r.Notes, Pinned: r.Pinned}
	j, err := v.engine.newJob(run.Submission{Document: d, Via: r.Via, By: r.SubmittedBy, CLICommand: r.CLICommand, Cell: r.Cell})
	if err != nil {
		return fmt.Errorf("compile queued run %s: %w", r.ID, err)
	}
	j.run = *r
	v.engine.enqueue(j)
	return nil
}
