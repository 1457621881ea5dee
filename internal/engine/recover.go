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
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/queue"
	"aiperfd/internal/run"
)

// interruptedReason is the state reason of runs that the end of the process interrupted.
const interruptedReason = "interrupted: the process ended while the run was active; " +
	"the summary covers the requests that were recorded"

// recoveringReason is the state reason of such a run while its results are computed.
const recoveringReason = "recovering: the process ended while the run was active; " +
	"its results are being computed from the record file"

// spaceReason is the state reason of such a run while its results cannot be written.
const spaceReason = "recovering: the process ended while the run was active; " +
	"the disk is full, and its results are computed as soon as it has space"

// progressEvery is how often a recovery updates the state reason of its run.
const progressEvery = 5 * time.Second

// reopen makes a job of a run that an earlier process left behind. An interrupted run is an
// active one whose state is exporting, while its results are computed; it reads no record
// file before.
func (e *Engine) reopen(ctx context.Context, r *run.Run) (*job, queue.Fate, error) {
	if r.State == bench.StateQueued {
		return e.requeue(ctx, r)
	}
	j := e.newJob(r, nil, redact.NewSet(), newStamps(e.opts.Wall, latestOf(r)))
	e.health.count(func(h *run.Health) { h.Recovering++ })
	j.item.Change(ctx, func(r *run.Run) { r.State, r.StateReason = bench.StateExporting, recoveringReason })
	return j, queue.Settled, nil
}

// Recover implements [queue.Task]: it ends an interrupted run with the results from its
// record file, as cancelled if it was being cancelled. A recovery that is cancelled ends
// without results; one that the end of the process stops stays as it is. It returns false
// for a run that stays because the disk is full.
func (j *job) Recover(ctx context.Context) (ended bool) {
	e := j.engine
	defer func() {
		if ended {
			e.health.count(func(h *run.Health) { h.Recovering-- })
		}
	}()
	_, log := j.openLog()
	waits := j.item.View().StateReason == spaceReason
	if !waits {
		log.Warn().Msg("run was interrupted by the end of the process; its results are being computed")
	}
	dir := j.dir()
	working, stop := context.WithCancel(ctx)
	defer stop()
	j.cancels.onCancel(stop)
	defer j.cancels.onCancel(nil)
	r := j.item.View()
	collect.RemoveValues(dir)
	durable.RemoveLeftovers(filepath.Join(dir, samples.File))
	results := "the summary covers the requests that were recorded"
	j.endInterrupted(r, results)
	tries, err := beginTry(dir)
	if err == nil {
		err = j.rebuild(working, r)
	}
	cancelled := j.cancels.cancelled()
	if full := durable.Full(err) && !cancelled; full || ctx.Err() != nil {
		tries.undo()
		if full && !waits {
			log.Warn().Err(err).
				Msg("the disk is full; the results of the interrupted run are computed when it has space")
			j.item.Change(ctx, func(r *run.Run) { r.StateReason = spaceReason })
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
		addWarning(r, "no-partial-results", err.Error())
	}
	j.endInterrupted(r, results)
	j.item.Change(ctx, func(now *run.Run) {
		r.Revision, r.Name, r.Labels, r.Notes, r.Terms = now.Revision, now.Name, now.Labels, now.Notes, now.Terms // updated meanwhile
		*now = *r
	})
	tries.end()
	e.health.count(func(h *run.Health) { h.Recovered++ })
	j.item.Publish(run.EventComplete)
	return true
}

// addWarning adds a warning to a run, whose copies keep theirs.
func addWarning(r *run.Run, code, detail string) {
	r.Warnings = append(slices.Clip(r.Warnings), bench.Warning{Code: code, Detail: detail})
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
func (j *job) rebuild(ctx context.Context, r *run.Run) error {
	d, _, err := config.Load(r.Config, config.LoadOptions{Stored: true, Resolved: true, Choices: plan.Choices()})
	if err != nil {
		return fmt.Errorf("read stored configuration: %w", err)
	}
	d.RandomSeed = &r.Seed
	measure, err := plan.CompileMeasure(d)
	if err != nil {
		return fmt.Errorf("compile stored configuration: %w", err)
	}
	dir := j.dir()
	if err := collect.RecoverOutputs(dir, measure.Files.Layout.Prefix); err != nil {
		addWarning(r, "export", fmt.Sprintf("not written: outputs: %v", err))
	}
	values := collect.NewValues(dir)
	defer values.Close()
	rep, phases, err := report.Recover(ctx, dir, measure, r, report.Recovery{Keep: values.Keep, Progress: j.recovering(ctx)})
	if err != nil {
		return err
	}
	failed, err := export.Write(dir, rep, redact.NewSet())
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(failed, durable.Full); at >= 0 {
		return failed[at]
	}
	if len(failed) > 0 {
		addWarning(r, "export", fmt.Sprintf("not written: %v", failed))
	}
	r.Summary = report.Summarize(rep)
	snap := &run.Snapshot{Wall: time.Now().UTC(), State: r.State, Phases: phases, Stream: rep.Stream}
	complete(snap, rep)
	if err := storeSnapshot(dir, snap); err != nil {
		return err
	}
	j.live.snapshot.Store(snap)
	return nil
}

// recovering returns a function that shows how much of the record file has been read, at
// most once in progressEvery.
func (j *job) recovering(ctx context.Context) func(read, total int64) {
	shown, counted := time.Now(), int64(0)
	return func(read, total int64) {
		j.engine.health.count(func(h *run.Health) { h.RecoveryRead += read - counted })
		counted = read
		if total == 0 || time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		percent := strconv.FormatInt(100*read/total, 10)
		j.item.Change(ctx, func(r *run.Run) { r.StateReason = recoveringReason + ", " + percent + " % of which is read" })
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
func (e *Engine) requeue(ctx context.Context, r *run.Run) (*job, queue.Fate, error) {
	if r.Cell != nil {
		parent, err := e.opts.Store.Get(ctx, r.Cell.ParentID)
		if err == nil && parent.Cancelled != nil {
			return nil, queue.Gone, e.endQueued(ctx, r, bench.StateCancelled, "cancelled while queued")
		}
		if err != nil && !errors.Is(err, run.ErrNotFound) {
			return nil, queue.Gone, fmt.Errorf("read study %s: %w", r.Cell.ParentID, err)
		}
	}
	load := e.opts.Load
	load.Resolved = true
	d, _, err := config.Load(r.Config, load)
	if r.Credentials.Any() || err != nil {
		r.Error = &run.Error{Code: run.SecretLost, Message: "queued with secrets, which are never stored; submit it again"}
		if err != nil && !r.Credentials.Any() && !problem.Has(err, problem.CodeRedacted) {
			r.Error = &run.Error{Code: refusal(err), Message: err.Error()}
		}
		return nil, queue.Gone, e.endQueued(ctx, r, bench.StateFailed, r.Error.Message)
	}
	d.RandomSeed = &r.Seed
	p, err := plan.Compile(d)
	if err != nil {
		r.Error = &run.Error{Code: run.Internal, Message: fmt.Sprintf("compile queued run: %v", err)}
		return nil, queue.Gone, e.endQueued(ctx, r, bench.StateFailed, r.Error.Message)
	}
	at := newStamps(e.opts.Wall, latestOf(r))
	return e.newJob(r, p, redact.NewSet(d.Secrets()...), at), queue.Queued, nil
}

// endQueued makes a queued run terminal that cannot be performed.
func (e *Engine) endQueued(ctx context.Context, r *run.Run, s bench.State, reason string) error {
	now := newStamps(e.opts.Wall, latestOf(r)).now()
	r.State, r.StateReason, r.EndedAt = s, reason, &now
	r.Revision++
	return e.opts.Store.Put(ctx, r)
}
