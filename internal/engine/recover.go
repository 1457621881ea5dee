package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/export/native"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/run"
)

// interruptedReason is the state reason of runs that the end of the process interrupted.
const interruptedReason = "interrupted: the process ended while the run was active; the summary covers the requests that were recorded"

// recoveringReason is the state reason of such a run while its results are computed.
const recoveringReason = "recovering: the process ended while the run was active; its results are being computed from the record file"

// spaceReason is the state reason of such a run while its results cannot be written.
const spaceReason = "recovering: the process ended while the run was active; the disk is full, and its results are computed as soon as it has space"

// spaceEvery is the time between two attempts to recover a run on a full disk.
const spaceEvery = 10 * time.Second

// progressEvery is how often a recovery updates the state reason of its run.
const progressEvery = 5 * time.Second

// recovery recovers the runs of an earlier process. The engine is open meanwhile: an
// interrupted run is an active run whose state is exporting, so that it takes the place
// of a run and its computations do not disturb a measurement.
type recovery struct {
	engine *Engine
	queued []*job
	left   []*job // interrupted runs, oldest first
}

// begin takes over the runs of an earlier process: queued ones return to the queue
// unless they need secrets, and interrupted ones become active. It reads no record file.
func (v *recovery) begin(ctx context.Context) error {
	e := v.engine
	newest, err := e.opts.Store.List(ctx, run.Query{Limit: 1})
	if err != nil {
		return fmt.Errorf("find the newest run: %w", err)
	}
	for i := range newest.Runs {
		e.ids.follow(newest.Runs[i].ID)
	}
	for _, s := range []bench.State{bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting} {
		if err := v.each(ctx, s, v.interrupted); err != nil {
			return err
		}
	}
	slices.SortFunc(v.left, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	if err := v.each(ctx, bench.StateQueued, v.requeue); err != nil {
		return err
	}
	e.mu.Lock()
	for _, j := range v.left {
		e.jobs[j.id] = j
	}
	e.active = append(e.active, v.left...)
	e.mu.Unlock()
	e.health.count(func(h *run.Health) { h.Recovering = len(v.left) })
	for _, j := range v.left {
		j.warn(j.change(ctx, func(r *run.Run) { r.State, r.StateReason = bench.StateExporting, recoveringReason }))
	}
	for _, j := range v.queued {
		e.enqueue(j)
	}
	return nil
}

// run computes the results of the interrupted runs, one after the other, and those that a
// full disk has stopped again and again. Those that are left when ctx ends stay as they are
// in the store, for the next process.
func (v *recovery) run(ctx context.Context) {
	for len(v.left) > 0 {
		var again []*job
		for _, j := range v.left {
			if ctx.Err() == nil && !v.conclude(ctx, j) {
				again = append(again, j)
				continue
			}
			v.engine.health.count(func(h *run.Health) { h.Recovering-- })
			v.engine.retire(j)
			v.engine.freeIdleMemory()
			v.engine.wakeLoop()
		}
		if v.left = again; len(again) == 0 {
			return
		}
		select {
		case <-time.After(spaceEvery):
		case <-ctx.Done():
		}
	}
}

// each calls f for every run in a state, in the order in which they were submitted.
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

// interrupted makes a job of a run whose process died.
func (v *recovery) interrupted(_ context.Context, r *run.Run) error {
	e := v.engine
	secrets := redact.NewSet()
	j := &job{
		id: r.ID, opts: &e.opts, health: e.health, secrets: secrets, exec: newExecution(nil, secrets), done: make(chan struct{}),
		time: newStamps(e.opts.Wall, latestOf(r)), run: *r,
	}
	j.exec.state.Store(bench.StateExporting)
	v.left = append(v.left, j)
	return nil
}

// conclude ends an interrupted run with the results from its record file, as cancelled if
// it was being cancelled. A recovery that is cancelled ends without results; one that
// the end of the process stops stays as it is. It returns false for a run that stays
// because the disk is full.
func (v *recovery) conclude(ctx context.Context, j *job) (ended bool) {
	_, log := j.openLog()
	waits := j.view().StateReason == spaceReason
	if !waits {
		log.Warn().Msg("run was interrupted by the end of the process; its results are being computed")
	}
	dir := v.engine.opts.Store.Dir(j.id)
	working, stop := context.WithCancel(ctx)
	defer stop()
	j.exec.cancel.onCancel(stop)
	defer j.exec.cancel.onCancel(nil)
	r := j.view()
	collect.RemoveValues(dir)
	durable.RemoveLeftovers(filepath.Join(dir, samples.File))
	results := "the summary covers the requests that were recorded"
	j.endInterrupted(r, results)
	tries, err := beginTry(dir)
	if err == nil {
		err = v.rebuild(working, j, r)
	}
	cancelled := j.exec.cancel.cancelled()
	if full := durable.Full(err) && !cancelled; full || ctx.Err() != nil {
		tries.undo()
		if full && !waits {
			log.Warn().Err(err).Msg("the disk is full; the results of the interrupted run are computed when it has space")
			j.warn(j.change(ctx, func(r *run.Run) { r.StateReason = spaceReason }))
		}
		return ctx.Err() != nil
	}
	if err != nil {
		if cancelled {
			err = errors.New("the recovery was cancelled")
		}
		results = "there are no results"
		log.Warn().Err(err).Msg("no partial results of interrupted run")
		err = errors.Join(err, export.Abandon(dir))
		r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: "no-partial-results", Detail: err.Error()})
	}
	j.endInterrupted(r, results)
	j.warn(j.change(ctx, func(now *run.Run) {
		r.Revision, r.Name, r.Labels, r.Notes, r.Terms = now.Revision, now.Name, now.Labels, now.Notes, now.Terms // updated meanwhile
		*now = *r
	}))
	tries.end()
	v.engine.health.count(func(h *run.Health) { h.Recovered++ })
	j.emit(run.EventComplete, j.exec.latest())
	return true
}

// endInterrupted makes a run terminal that an earlier process has not ended: the way that
// its cancel asked for, if it had one. results says what a cancelled run has of them.
func (j *job) endInterrupted(r *run.Run, results string) {
	switch c := r.Cancelled; {
	case c == nil:
		j.fail(r, &run.Error{Code: run.Interrupted, Message: interruptedReason})
	case c.Deadline:
		j.fail(r, overdue(r))
	default:
		j.finish(r, bench.StateCancelled, cmp.Or(c.Reason, "cancelled")+"; the process ended before the run did, and "+results)
	}
}

// rebuild computes the results of an interrupted run from its record file.
func (v *recovery) rebuild(ctx context.Context, j *job, r *run.Run) error {
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
	values := collect.NewValues(dir)
	defer values.Close()
	rep, phases, err := report.Recover(ctx, dir, measure, r, report.Recovery{Keep: values.Keep, Progress: j.recovering(ctx)})
	if err != nil {
		return err
	}
	failed, err := export.Write(dir, rep, redact.NewSet(), native.Format())
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(failed, durable.Full); at >= 0 {
		return failed[at]
	}
	if len(failed) > 0 {
		r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: %v", failed)})
	}
	r.Summary = report.Summarize(rep)
	snap := &run.Snapshot{Wall: time.Now().UTC(), State: r.State, Phases: phases, Stream: rep.Stream}
	complete(snap, rep)
	if err := storeSnapshot(dir, snap); err != nil {
		return err
	}
	j.exec.snapshot.Store(snap)
	return nil
}

// recovering returns a function that shows how much of the record file has been read, at
// most once in progressEvery.
func (j *job) recovering(ctx context.Context) func(read, total int64) {
	shown, counted := time.Now(), int64(0)
	return func(read, total int64) {
		j.health.count(func(h *run.Health) { h.RecoveryRead += read - counted })
		counted = read
		if total == 0 || time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		percent := strconv.FormatInt(100*read/total, 10)
		j.warn(j.change(ctx, func(r *run.Run) { r.StateReason = recoveringReason + ", " + percent + " % of which is read" }))
	}
}

// refusal returns the code of a queued document that cannot be loaded any more.
func refusal(err error) run.ErrorCode {
	if problem.Has(err, problem.CodeTargetNotAllowed) { // the daemon was started with other targets
		return run.TargetNotAllowed
	}
	return run.Internal
}

// requeue returns a queued run of an earlier process to the queue. A run with secrets
// cannot be performed, because they are never stored, and one of a cancelled study must not
// be: the queue goes on before the study does.
func (v *recovery) requeue(ctx context.Context, r *run.Run) error {
	if r.Cell != nil {
		parent, err := v.engine.opts.Store.Get(ctx, r.Cell.ParentID)
		if err == nil && parent.Cancelled != nil {
			return v.end(ctx, r, bench.StateCancelled, "cancelled while queued")
		}
		if err != nil && !errors.Is(err, run.ErrNotFound) {
			return fmt.Errorf("read study %s: %w", r.Cell.ParentID, err)
		}
	}
	load := v.engine.opts.Load
	load.Resolved = true
	d, _, err := config.Load(r.Config, load)
	if r.Credentials.Any() || err != nil {
		r.Error = &run.Error{Code: run.SecretLost, Message: "queued with secrets, which are never stored; submit it again"}
		if err != nil && !r.Credentials.Any() && !problem.Has(err, problem.CodeRedacted) {
			r.Error = &run.Error{Code: refusal(err), Message: err.Error()}
		}
		return v.refuse(ctx, r)
	}
	d.RandomSeed = &r.Seed
	j, err := v.engine.newJob(run.Submission{Document: d, Via: r.Via, By: r.SubmittedBy, CLICommand: r.CLICommand, Cell: r.Cell})
	if err != nil {
		r.Error = &run.Error{Code: run.Internal, Message: fmt.Sprintf("compile queued run: %v", err)}
		return v.refuse(ctx, r)
	}
	j.id, j.run, j.time = r.ID, *r, newStamps(v.engine.opts.Wall, latestOf(r))
	v.queued = append(v.queued, j)
	return nil
}

// refuse ends a queued run that cannot be performed, for its error.
func (v *recovery) refuse(ctx context.Context, r *run.Run) error {
	return v.end(ctx, r, bench.StateFailed, r.Error.Message)
}

// end makes a queued run terminal.
func (v *recovery) end(ctx context.Context, r *run.Run, s bench.State, reason string) error {
	(&job{time: newStamps(v.engine.opts.Wall, latestOf(r))}).finish(r, s, reason)
	r.Revision++
	return v.engine.opts.Store.Put(ctx, r)
}
