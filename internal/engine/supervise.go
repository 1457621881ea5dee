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
	"aiperfd/internal/engine/plainjson"
)

// change applies a change to a run, stores it and tells everybody. Changes of
// one run happen one after the other, in the same order in the store.
func (e *Engine) change(j *job, apply func(*Run)) error {
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
	e.emit(j, EventStateChanged, j.exec.latest())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// emit publishes an event of a run.
func (e *Engine) emit(j *job, what EventType, snap *Snapshot) {
	r := j.view()
	ev := Event{Type: what, RunID: r.ID, At: time.Now().UTC(), Run: r, Snapshot: snap, State: r.State}
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
			e.warn(e.change(j, func(r *Run) { failRun(r, &RunError{Code: Internal, Message: "internal error; see the log"}) }))
		}
	}()
	x := j.exec
	defer x.values.close()
	e.warn(e.change(j, func(r *Run) {
		now := time.Now().UTC()
		r.State, r.StartedAt = bench.Starting, &now
	}))
	x.state.Store(bench.Starting)
	x.publish = func(what EventType, snap *Snapshot) { e.emit(j, what, snap) }
	x.logs = e.opts.Log.With().Str("run", j.run.ID).Logger()
	x.say = func(text string) { e.say(j, zerolog.InfoLevel, text) }
	x.alarm = func(text string) { e.say(j, zerolog.WarnLevel, text) }
	x.adopted = func() { e.adopted(j) }

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.onCancel(cancel)
	if err := x.prepare(ctx, e.opts.Store.Dir(j.run.ID)); err != nil {
		e.abandon(j, err)
		return
	}
	x.certify(ctx, "before", e.opts.Reference)
	x.onCancel(nil)
	if !x.cancelled() {
		e.enter(j, bench.Running)
	}
	x.watched(e.opts.Monitor, func() { x.load(context.Background()) })
	x.onCancel(cancel)
	x.certify(ctx, "after", e.opts.Reference)
	x.onCancel(nil)
	e.enter(j, bench.Exporting)
	e.conclude(j, x.export(j.view(), e.opts.Store.Dir(j.run.ID)))
	x.forget()
}

// say tells what a run waits for; empty = nothing any more. The reason of a run
// that is stopping stays.
func (e *Engine) say(j *job, level zerolog.Level, text string) {
	waits := func(r *Run) bool { return r.State == bench.Starting || r.State == bench.Running }
	r := j.view()
	if r.State.Terminal() || r.StateReason == text {
		return
	}
	if text != "" {
		j.exec.logs.WithLevel(level).Msg(text)
	}
	if !waits(r) {
		return
	}
	e.warn(e.change(j, func(r *Run) {
		if waits(r) {
			r.StateReason = text
		}
	}))
}

// adopted shows the model that the server has named.
func (e *Engine) adopted(j *job) {
	shown, err := plainjson.Marshal(config.Compat(j.doc))
	if err != nil {
		e.opts.Log.Error().Err(err).Msg("encode configuration")
	}
	e.warn(e.change(j, func(r *Run) {
		r.Models = j.plan.Models.names
		if err == nil {
			r.Config = shown
		}
	}))
}

// enter moves an active run to its next state.
func (e *Engine) enter(j *job, s bench.State) {
	e.warn(e.change(j, func(r *Run) {
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
	e.warn(e.change(j, func(r *Run) {
		if x.cancelled() {
			finishRun(r, bench.Aborted, cmp.Or(r.StateReason, "cancelled before the first request"))
			return
		}
		cause := &RunError{Code: Internal, Message: x.secrets.String(err.Error())}
		var p *prepareError
		if errors.As(err, &p) {
			cause.Code = p.code
		}
		failRun(r, cause)
	}))
	e.warn(x.finalSnapshot(j.view().State, e.opts.Store.Dir(j.run.ID), nil))
	e.emit(j, EventComplete, x.latest())
}

// conclude makes the outcome durable and announces it.
func (e *Engine) conclude(j *job, o outcome) {
	x := j.exec
	j.mu.Lock()
	j.report = o.report
	j.mu.Unlock()
	e.warn(x.finalSnapshot(o.state, e.opts.Store.Dir(j.run.ID), o.report))
	e.emit(j, EventExported, x.latest())
	e.warn(e.change(j, func(r *Run) {
		r.Summary, r.Warnings = o.summary, append(slices.Clip(r.Warnings), o.warnings...)
		r.Client = NewClientVerdict(o.report.Client)
		if o.err != nil {
			failRun(r, o.err)
			return
		}
		finishRun(r, o.state, o.reason)
	}))
	e.emit(j, EventComplete, x.latest())
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
func finishRun(r *Run, s bench.State, reason string) {
	now := time.Now().UTC()
	r.State, r.StateReason, r.EndedAt = s, reason, &now
}

// failRun makes a run terminal with an error.
func failRun(r *Run, cause *RunError) {
	r.Error = cause
	finishRun(r, bench.Failed, cause.Message)
}
