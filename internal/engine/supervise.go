package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// change applies a change to a run, stores it and tells everybody. Changes of
// one run happen one after the other, in the same order in the store.
func (e *Engine) change(j *job, apply func(*run.Run)) error {
	j.save.Lock()
	defer j.save.Unlock()
	j.mu.Lock()
	apply(&j.run)
	j.run.Revision++
	r := j.run
	j.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := e.opts.Store.Put(ctx, &r)
	e.emit(j, run.EventStateChanged, j.exec.latest())
	if err != nil {
		return fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	return nil
}

// emit publishes an event of a run.
func (e *Engine) emit(j *job, what run.EventType, snap *run.Snapshot) {
	r := j.view()
	ev := run.Event{Type: what, RunID: r.ID, At: time.Now().UTC(), Run: r, Snapshot: snap, State: r.State}
	if snap != nil && len(snap.Phases) > 0 {
		ev.Phase = &snap.Phases[len(snap.Phases)-1]
	}
	e.opts.Publisher.Publish(ev)
}

// supervise takes one run from its start to its end. It owns every goroutine of
// the run.
func (e *Engine) supervise(j *job) {
	defer e.retire(j)
	defer func() {
		if fault := recover(); fault != nil {
			e.opts.Log.Error().Interface("panic", fault).Bytes("stack", debug.Stack()).Str("run", j.run.ID).Msg("run crashed")
			e.warn(e.change(j, func(r *run.Run) { failRun(r, &run.Error{Code: run.Internal, Message: "internal error; see the log"}) }))
		}
	}()
	x := j.exec
	defer x.release()
	e.warn(e.change(j, func(r *run.Run) {
		now := time.Now().UTC()
		r.State, r.StartedAt = bench.Starting, &now
	}))
	x.state.Store(bench.Starting)
	x.notify.publish = func(what run.EventType, snap *run.Snapshot) { e.emit(j, what, snap) }
	x.notify.log = e.opts.Log.With().Str("run", j.run.ID).Logger()
	x.notify.status = func(text string) { e.say(j, zerolog.InfoLevel, text) }
	x.notify.alarm = func(text string) { e.say(j, zerolog.WarnLevel, text) }
	x.notify.modelResolved = func(p *plan.Plan) { e.modelResolved(j, p) }

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.cancel.onCancel(cancel)
	if err := x.prepare(ctx, e.opts.Store.Dir(j.run.ID)); err != nil {
		e.abandon(j, err)
		return
	}
	x.certify(ctx, "before", e.opts.Reference)
	x.cancel.onCancel(nil)
	if !x.cancel.cancelled() {
		e.enter(j, bench.Running)
	}
	x.watched(e.opts.Monitor, func() { x.perform(context.Background()) })
	x.cancel.onCancel(cancel)
	x.certify(ctx, "after", e.opts.Reference)
	x.cancel.onCancel(nil)
	e.enter(j, bench.Exporting)
	e.conclude(j, x.export(j.view(), e.opts.Store.Dir(j.run.ID)))
	x.forget()
}

// say tells what a run waits for; empty = nothing any more. The reason of a run
// that is stopping stays.
func (e *Engine) say(j *job, level zerolog.Level, text string) {
	waits := func(r *run.Run) bool { return r.State == bench.Starting || r.State == bench.Running }
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
	e.warn(e.change(j, func(r *run.Run) {
		if waits(r) {
			r.StateReason = text
		}
	}))
}

// modelResolved shows the model that the server has named.
func (e *Engine) modelResolved(j *job, p *plan.Plan) {
	shown, err := encode(config.Compat(p.Document))
	if err != nil {
		e.opts.Log.Error().Err(err).Msg("encode configuration")
	}
	e.warn(e.change(j, func(r *run.Run) {
		r.Models = p.Models.Names
		if err == nil {
			r.Config = shown
		}
	}))
}

// enter moves an active run to its next state.
func (e *Engine) enter(j *job, s bench.State) {
	e.warn(e.change(j, func(r *run.Run) {
		if s == bench.Running && r.State == bench.Stopping {
			return // cancelled in between
		}
		r.State = s
		j.exec.state.Store(s)
	}))
}

// abandon ends a run that could not be prepared.
func (e *Engine) abandon(j *job, err error) {
	x := j.exec
	x.close()
	e.warn(e.change(j, func(r *run.Run) {
		if x.cancel.cancelled() {
			finishRun(r, bench.Aborted, cmp.Or(r.StateReason, "cancelled before the first request"))
			return
		}
		cause := &run.Error{Code: run.Internal, Message: x.secrets.String(err.Error())}
		var p *prepareError
		if errors.As(err, &p) {
			cause.Code = p.code
		}
		failRun(r, cause)
	}))
	e.warn(x.finalSnapshot(j.view().State, e.opts.Store.Dir(j.run.ID), nil))
	e.emit(j, run.EventComplete, x.latest())
}

// conclude makes the outcome durable and announces it.
func (e *Engine) conclude(j *job, o report.Outcome) {
	x := j.exec
	j.mu.Lock()
	j.report = o.Report
	j.mu.Unlock()
	e.warn(x.finalSnapshot(o.State, e.opts.Store.Dir(j.run.ID), o.Report))
	e.emit(j, run.EventExported, x.latest())
	e.warn(e.change(j, func(r *run.Run) {
		r.Summary, r.Warnings = o.Summary, append(slices.Clip(r.Warnings), o.Warnings...)
		r.Client = run.NewClientVerdict(o.Report.Client)
		if o.Err != nil {
			failRun(r, o.Err)
			return
		}
		finishRun(r, o.State, o.Reason)
	}))
	e.emit(j, run.EventComplete, x.latest())
}

// retire takes a terminal job off the active ones and keeps only the newest of
// them in memory.
func (e *Engine) retire(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, a := range e.active {
		if a == j {
			e.active = append(e.active[:i:i], e.active[i+1:]...)
			break
		}
	}
	if j.exec.latest() != nil {
		if previous := e.last; previous != "" && previous != j.run.ID {
			delete(e.jobs, previous)
		}
		e.last = j.run.ID
	} else {
		delete(e.jobs, j.run.ID)
	}
	close(j.done)
}

// finishRun makes a run terminal.
func finishRun(r *run.Run, s bench.State, reason string) {
	now := time.Now().UTC()
	r.State, r.StateReason, r.EndedAt = s, reason, &now
}

// failRun makes a run terminal with an error.
func failRun(r *run.Run, cause *run.Error) {
	r.Error = cause
	finishRun(r, bench.Failed, cause.Message)
}
