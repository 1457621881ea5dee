package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/compat"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/runlog"
	"aiperfd/internal/run"
)

// job is a run of this process.
type job struct {
	id      string
	opts    *Options   // of the engine
	health  *health    // of the engine
	plan    *plan.Plan // as submitted; the plan of exec has the resolved model, too; nil = it is being recovered
	secrets *redact.Set
	exec    *execution
	time    stamps
	done    chan struct{} // closed when the run is terminal and durable

	reserved bool // it takes the place of a submission that was being stored

	save sync.Mutex // orders changes of run and their storing; held across both on purpose
	mu   sync.Mutex
	run  run.Run     // guarded by mu
	log  *runlog.Log // guarded by mu; nil before the run starts
	lost bool        // guarded by mu; the store has refused the last change

	report *export.Report // guarded by mu; nil before the results are computed
}

// view returns a copy of the run.
func (j *job) view() *run.Run {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.run
	return &r
}

// unstored reports whether the run has ended and the store does not have its end.
func (j *job) unstored() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost && j.run.State.Terminal()
}

// warn logs an error of the store that does not stop the run. While the store fails, only
// the first one is an error of the log: what could not be stored is tried again and again.
func (j *job) warn(err error) {
	if err == nil {
		return
	}
	level := zerolog.DebugLevel
	if j.health.store(err) {
		level = zerolog.ErrorLevel
	}
	j.opts.Log.WithLevel(level).Err(err).Str("run", j.id).Msg("store run")
}

// change applies a change to a run, stores it and publishes it, even if ctx has ended.
// Changes of one run happen one after the other, in the same order in the store.
func (j *job) change(ctx context.Context, apply func(*run.Run)) error {
	j.save.Lock()
	defer j.save.Unlock()
	j.mu.Lock()
	before, log := j.run.State, j.log
	apply(&j.run)
	j.run.Revision++
	r := j.run
	j.mu.Unlock()
	if r.State != before {
		logState(log, &r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := j.opts.Store.Put(ctx, &r)
	j.mu.Lock()
	j.lost = err != nil
	j.mu.Unlock()
	j.emit(run.EventStateChanged, j.exec.latest())
	if err != nil {
		return fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	return nil
}

// logState writes the state of a run to its log.
func logState(log *runlog.Log, r *run.Run) {
	level, fields := "info", map[string]any{"state": r.State}
	if r.StateReason != "" {
		fields["reason"] = r.StateReason
	}
	if r.Error != nil {
		level, fields["code"] = "error", r.Error.Code
	}
	log.Add(level, "the run is "+string(r.State), fields)
}

// openLog opens the log of the run and returns a logger whose lines are in it too.
func (j *job) openLog() (*runlog.Log, zerolog.Logger) {
	log := runlog.New(j.opts.Store.Dir(j.id), j.secrets)
	j.mu.Lock()
	j.log = log
	j.mu.Unlock()
	return log, log.Tee(j.opts.Log.With().Str("run", j.id).Logger())
}

// emit publishes an event of a run.
func (j *job) emit(what run.EventType, snap *run.Snapshot) {
	last := 0
	if snap != nil && len(snap.Phases) > 0 {
		last = snap.Phases[len(snap.Phases)-1].Stats.Index
	}
	j.emitPhase(what, snap, last)
}

// emitPhase publishes an event of a phase.
func (j *job) emitPhase(what run.EventType, snap *run.Snapshot, phase int) {
	r := j.view()
	ev := run.Event{Type: what, RunID: r.ID, At: time.Now().UTC(), Run: r, Snapshot: snap, State: r.State}
	for i := 0; snap != nil && i < len(snap.Phases); i++ {
		if snap.Phases[i].Stats.Index == phase {
			ev.Phase = &snap.Phases[i]
		}
	}
	j.opts.Publisher.Publish(ev)
}

// supervise performs one run from its start to its end. It owns every goroutine of
// the run. Only a cancel of the run stops it: the end of ctx does not.
func (j *job) supervise(ctx context.Context) {
	lines, log := j.openLog()
	lines.Clear()
	defer func() {
		if fault := recover(); fault != nil {
			log.Error().Interface("panic", fault).Bytes("stack", debug.Stack()).Msg("run crashed")
			j.warn(j.change(ctx, func(r *run.Run) { j.fail(r, &run.Error{Code: run.Internal, Message: "internal error; see the log"}) }))
		}
	}()
	ctx = context.WithoutCancel(ctx)
	x := j.exec
	defer x.release()
	j.warn(j.change(ctx, func(r *run.Run) {
		r.State, r.StartedAt = bench.StateStarting, new(j.time.now())
	}))
	ended := watchDeadline(ctx, j)
	defer ended()
	x.state.Store(bench.StateStarting)
	x.id = j.id
	x.notify.publish = j.emitPhase
	x.notify.log, x.notify.note = log, lines.Add
	x.notify.status = func(text string) { j.setStatus(ctx, zerolog.InfoLevel, text) }
	x.notify.alarm = func(text string) { j.setStatus(ctx, zerolog.WarnLevel, text) }
	x.notify.modelResolved = func(p *plan.Plan) { j.modelResolved(ctx, p) }

	stoppable, cancel := context.WithCancel(ctx)
	defer cancel()
	x.cancel.onCancel(cancel)
	if err := (&preparation{x}).run(stoppable, j.opts.Store.Dir(j.id)); err != nil {
		j.abandon(ctx, err)
		return
	}
	(&certification{x}).run(stoppable, "before", j.opts.Reference)
	x.cancel.onCancel(nil)
	if !x.cancel.cancelled() {
		j.enter(ctx, bench.StateRunning)
	}
	var fault *run.Error
	x.watched(j.opts.Monitor, func() { fault = performance{x}.perform(ctx) })
	x.cancel.onCancel(cancel)
	(&certification{x}).run(stoppable, "after", j.opts.Reference)
	x.cancel.onCancel(nil)
	ended()
	j.enter(ctx, bench.StateExporting)
	j.conclude(ctx, x.export(j.view(), j.opts.Store.Dir(j.id), fault))
	x.releaseInputs()
}

// amend applies an update to the run and publishes it. If the store refuses it, nothing
// changes.
func (j *job) amend(ctx context.Context, change func(*run.Run) error) (*run.Run, error) {
	j.save.Lock()
	defer j.save.Unlock()
	r := j.view()
	if err := change(r); err != nil {
		return nil, err
	}
	r.Name, r.Notes = j.secrets.String(r.Name), j.secrets.String(r.Notes)
	labels := make(map[string]string, len(r.Labels))
	for name, text := range r.Labels {
		labels[j.secrets.String(name)] = j.secrets.String(text)
	}
	r.Labels = labels
	r.Revision++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := j.opts.Store.Put(ctx, r); err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	j.mu.Lock()
	j.run, j.lost = *r, false
	j.mu.Unlock()
	j.emit(run.EventUpdated, j.exec.latest())
	return r, nil
}

// cancel stops an active run; first reports whether it had not been cancelled before.
func (j *job) cancel(ctx context.Context, c run.CancelRequest) (first bool) {
	first = j.exec.cancel.cancel(c)
	if first {
		j.warn(j.change(ctx, func(r *run.Run) {
			if !c.Passing && j.plan != nil { // a recovery that is cancelled ends an interrupted run
				r.Cancelled = &c
			}
			if r.State == bench.StateStarting || r.State == bench.StateRunning {
				r.State, r.StateReason = bench.StateStopping, cmp.Or(c.Reason, "cancelled")
				j.exec.state.Store(bench.StateStopping)
			}
		}))
	}
	return first
}

// setStatus shows what the run is waiting for; empty = it no longer waits. The reason
// of a run that is stopping stays.
func (j *job) setStatus(ctx context.Context, level zerolog.Level, text string) {
	waits := func(r *run.Run) bool { return r.State == bench.StateStarting || r.State == bench.StateRunning }
	r := j.view()
	if r.State.Terminal() || r.StateReason == text {
		return
	}
	if text != "" {
		j.exec.notify.log.WithLevel(level).Msg(text)
	}
	if !waits(r) {
		return
	}
	j.warn(j.change(ctx, func(r *run.Run) {
		if waits(r) {
			r.StateReason = text
		}
	}))
}

// modelResolved records the model that the server has named.
func (j *job) modelResolved(ctx context.Context, p *plan.Plan) {
	shown, err := plainjson.Marshal(compat.Resolved(p.Document))
	if err != nil {
		j.opts.Log.Error().Err(err).Str("run", j.id).Msg("encode configuration")
	}
	j.warn(j.change(ctx, func(r *run.Run) {
		r.Models = p.Models.Names
		if err == nil {
			r.Config = shown
		}
	}))
}

// enter moves an active run to its next state.
func (j *job) enter(ctx context.Context, s bench.State) {
	j.warn(j.change(ctx, func(r *run.Run) {
		if s == bench.StateRunning && r.State == bench.StateStopping {
			return // cancelled meanwhile
		}
		r.State = s
		j.exec.state.Store(s)
	}))
}

// abandon ends a run that could not be prepared.
func (j *job) abandon(ctx context.Context, err error) {
	x := j.exec
	x.close()
	j.warn(j.change(ctx, func(r *run.Run) {
		if x.cancel.overdue() {
			j.fail(r, overdue(r))
			return
		}
		if x.cancel.cancelled() {
			j.finish(r, bench.StateCancelled, cmp.Or(r.StateReason, "cancelled before the first request"))
			return
		}
		cause := &run.Error{Code: run.Internal, Message: x.secrets.String(err.Error())}
		if p, ok := errors.AsType[*prepareError](err); ok {
			cause.Code = p.code
		}
		j.fail(r, cause)
	}))
	j.warn(x.finalSnapshot(j.view().State, j.opts.Store.Dir(j.id), nil))
	j.emit(run.EventComplete, x.latest())
}

// conclude makes the outcome durable and announces it.
func (j *job) conclude(ctx context.Context, o report.Outcome) {
	x := j.exec
	if o.State == bench.StateCancelled && x.cancel.overdue() {
		o.State, o.Err = bench.StateFailed, overdue(j.view())
	}
	j.mu.Lock()
	j.report = o.Report
	j.mu.Unlock()
	j.warn(x.finalSnapshot(o.State, j.opts.Store.Dir(j.id), o.Report))
	j.emit(run.EventExported, x.latest())
	for _, w := range slices.Concat(j.view().Warnings, o.Warnings) {
		x.notify.note("warn", w.Detail, map[string]any{"code": w.Code})
	}
	j.warn(j.change(ctx, func(r *run.Run) {
		r.Summary, r.Warnings = o.Summary, append(slices.Clip(r.Warnings), o.Warnings...)
		r.Client = run.NewClientVerdict(o.Report.Client)
		if o.Err != nil {
			j.fail(r, o.Err)
			return
		}
		j.finish(r, o.State, o.Reason)
	}))
	j.emit(run.EventComplete, x.latest())
}
