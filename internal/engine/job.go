package engine

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/queue"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// job is a run of this process.
type job struct {
	item      *queue.Item
	engine    *Engine
	plan      *plan.Plan // as submitted; the prepared one has the resolved model, too; nil = it is being recovered
	secrets   *redact.Set
	time      stamps
	twin      run.Twin                                  // nil = there is none
	awaitIdle func(context.Context, run.Servers) string // that of [run.Submission]
	part      Part                                      // nil = the run is no part of a larger one
	cancels   *cancellation
	live      *live
	log       atomic.Pointer[results.Log]   // nil before the run starts
	report    atomic.Pointer[export.Report] // nil before the results are computed
}

var _ queue.Task = (*job)(nil)

// newJob returns the job of a run. plan is nil for one that is recovered.
func (e *Engine) newJob(r *run.Run, p *plan.Plan, secrets *redact.Set, at stamps) *job {
	j := &job{
		engine: e, plan: p, secrets: secrets, time: at, cancels: newCancellation(), live: newLive(r.State),
	}
	j.item = queue.NewItem(e.queue.Backing(), r, queue.Hooks{
		Snapshot: j.live.snapshot.Load, Entered: j.entered, Redact: j.redact,
	})
	return j
}

// Item implements [queue.Task].
func (j *job) Item() *queue.Item { return j.item }

// dir returns the folder of the run.
func (j *job) dir() string { return j.engine.opts.Store.Dir(j.item.ID()) }

// entered writes the state of the run to its log and its snapshots.
func (j *job) entered(r *run.Run) {
	j.live.state.Store(r.State)
	level, fields := "info", map[string]any{"state": r.State}
	if r.StateReason != "" {
		fields["reason"] = r.StateReason
	}
	if r.Error != nil {
		level, fields["code"] = "error", r.Error.Code
	}
	j.log.Load().Add(level, "the run is "+string(r.State), fields)
}

// redact removes secrets from what a user may change.
func (j *job) redact(r *run.Run) {
	r.Name, r.Notes = j.secrets.String(r.Name), j.secrets.String(r.Notes)
	labels := make(map[string]string, len(r.Labels))
	for name, text := range r.Labels {
		labels[j.secrets.String(name)] = j.secrets.String(text)
	}
	r.Labels = labels
}

// openLog opens the log of the run and returns a logger whose lines are in it too.
func (j *job) openLog() (*results.Log, zerolog.Logger) {
	log := results.NewLog(j.dir(), j.secrets)
	j.log.Store(log)
	return log, log.Tee(j.engine.opts.Log.With().Str("run", j.item.ID()).Logger())
}

// Execute implements [queue.Task]: it performs the run from its start to its end. It owns
// every goroutine of the run. Only a cancel of the run stops it: the end of ctx does not.
func (j *job) Execute(ctx context.Context) {
	lines, log := j.openLog()
	lines.Clear()
	if j.twin != nil {
		defer func() { j.twin.Leave(cmp.Or(j.item.View().StateReason, "it has ended")) }()
	}
	defer func() {
		if fault := recover(); fault != nil {
			log.Error().Interface("panic", fault).Bytes("stack", debug.Stack()).Msg("run crashed")
			j.item.Change(ctx, func(r *run.Run) {
				j.fail(r, &run.Error{Code: run.Internal, Message: "internal error; see the log"})
			})
		}
	}()
	ctx = context.WithoutCancel(ctx)
	j.item.Change(ctx, func(r *run.Run) {
		r.State, r.StartedAt = bench.StateStarting, new(j.time.now())
	})
	ended := j.item.WatchDeadline(j.item.View().Deadline, func(c run.CancelRequest) { j.Cancel(ctx, c) })
	defer ended()
	env := j.environment(ctx, lines, log)
	if j.plan.Document.Benchmark.Cluster != nil {
		j.executeFleet(ctx, env)
		return
	}
	stoppable, cancel := context.WithCancel(ctx)
	defer cancel()
	j.cancels.onCancel(cancel)
	prepared, err := prepare(stoppable, j.plan, env)
	j.cancels.onCancel(nil)
	if err != nil {
		j.abandon(ctx, env, err)
		return
	}
	defer prepared.release()
	x := &execution{env: env, prepared: prepared}
	x.certify(ctx, "before")
	if !j.cancels.cancelled() {
		j.enter(ctx, bench.StateRunning)
	}
	var fault *run.Error
	x.watched(func() { fault = x.perform(ctx) })
	x.certify(ctx, "after")
	ended()
	j.enter(ctx, bench.StateExporting)
	j.conclude(ctx, x, x.export(j.item.View(), fault)) //nolint:contextcheck // results are written even if ctx has ended
}

// environment returns what the run needs besides its plan.
func (j *job) environment(ctx context.Context, lines *results.Log, log zerolog.Logger) *environment {
	return &environment{
		id: j.item.ID(), dir: j.dir(), secrets: j.secrets, opts: &j.engine.opts, cancel: j.cancels, live: j.live,
		twin: j.twin, part: j.part, awaitIdle: j.awaitIdle,
		memory: j.engine.memory, history: j.engine.history, watchdog: j.engine.watchdog,
		notify: notifications{
			log: log, note: lines.Add, publish: j.item.PublishPhase,
			status:        func(text string) { j.setStatus(ctx, log, zerolog.InfoLevel, text) },
			alarm:         func(text string) { j.setStatus(ctx, log, zerolog.WarnLevel, text) },
			modelResolved: func(p *plan.Plan) { j.modelResolved(ctx, p) },
		},
	}
}

// Cancel implements [queue.Task].
func (j *job) Cancel(ctx context.Context, c run.CancelRequest) (changed bool) {
	first := j.cancels.cancel(c)
	if first {
		recovering := j.plan == nil // its cancel ends an interrupted run
		j.item.Stop(ctx, &c, !c.Passing && !recovering)
	}
	return first || c.Force
}

// Dismiss implements [queue.Task].
func (j *job) Dismiss(r *run.Run, c run.CancelRequest) {
	j.finish(r, bench.StateCancelled, cmp.Or(c.Reason, "cancelled while queued"))
}

// setStatus shows what the run is waiting for; empty = it no longer waits. The reason
// of a run that is stopping stays.
func (j *job) setStatus(ctx context.Context, log zerolog.Logger, level zerolog.Level, text string) {
	waits := func(r *run.Run) bool { return r.State == bench.StateStarting || r.State == bench.StateRunning }
	r := j.item.View()
	if r.State.Terminal() || r.StateReason == text {
		return
	}
	if text != "" {
		log.WithLevel(level).Msg(text)
	}
	if !waits(r) {
		return
	}
	j.item.Change(ctx, func(r *run.Run) {
		if waits(r) {
			r.StateReason = text
		}
	})
}

// modelResolved records the model that the server has named.
func (j *job) modelResolved(ctx context.Context, p *plan.Plan) {
	shown, err := plainjson.Marshal(config.Resolved(p.Document))
	if err != nil {
		j.engine.opts.Log.Error().Err(err).Str("run", j.item.ID()).Msg("encode configuration")
	}
	j.item.Change(ctx, func(r *run.Run) {
		r.Models = p.Models.Names
		if err == nil {
			r.Config = shown
		}
	})
}

// enter moves an active run to its next state.
func (j *job) enter(ctx context.Context, s bench.State) {
	j.item.Change(ctx, func(r *run.Run) {
		if s == bench.StateRunning && r.State == bench.StateStopping {
			return // cancelled meanwhile
		}
		r.State = s
	})
}

// abandon ends a run that could not be prepared.
func (j *job) abandon(ctx context.Context, env *environment, err error) {
	j.item.Change(ctx, func(r *run.Run) {
		if j.cancels.overdue() {
			j.fail(r, overdue(r))
			return
		}
		if j.cancels.cancelled() {
			j.finish(r, bench.StateCancelled, cmp.Or(r.StateReason, "cancelled before the first request"))
			return
		}
		cause := &run.Error{Code: run.Internal, Message: j.secrets.String(err.Error())}
		if p, ok := errors.AsType[*prepareError](err); ok {
			cause.Code = p.code
		}
		j.fail(r, cause)
	})
	j.item.Report(env.keepSnapshot(env.shot(), j.item.View().State))
	j.item.Publish(run.EventComplete)
}

// conclude makes the outcome durable and announces it.
func (j *job) conclude(ctx context.Context, x *execution, o report.Outcome) {
	j.settle(ctx, x.env, x.shot(nil), &o)
}

// settle makes the outcome durable, with the last snapshot of the run, and announces it.
func (j *job) settle(ctx context.Context, env *environment, snap *run.Snapshot, o *report.Outcome) {
	if o.State == bench.StateCancelled && j.cancels.overdue() {
		o.State, o.Err = bench.StateFailed, overdue(j.item.View())
	}
	j.report.Store(o.Report)
	complete(snap, o.Report)
	j.item.Report(env.keepSnapshot(snap, o.State))
	j.item.Publish(run.EventExported)
	for _, w := range slices.Concat(j.item.View().Warnings, o.Warnings) {
		env.notify.note("warn", w.Detail, map[string]any{"code": w.Code})
	}
	j.item.Change(ctx, func(r *run.Run) {
		r.Summary, r.Warnings = o.Summary, append(slices.Clip(r.Warnings), o.Warnings...)
		r.Client = run.NewClientVerdict(o.Report.Client)
		if o.Err != nil {
			j.fail(r, o.Err)
			return
		}
		j.finish(r, o.State, o.Reason)
	})
	j.item.Publish(run.EventComplete)
}
