package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// Submit compiles a document and queues the run. The run is durable when Submit
// returns. It waits until [Engine.Run] knows the runs of an earlier process.
// The error is *config.Invalid if the document is wrong, ErrQueueFull, ErrStopping,
// or ErrStore.
func (e *Engine) Submit(ctx context.Context, s run.Submission) (*run.Run, error) {
	select {
	case <-e.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	j, err := e.newJob(s)
	if err == nil {
		err = e.opts.Caps.Check(j.plan)
	}
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	switch {
	case e.stopping:
		err = run.ErrStopping
	case s.Cell == nil && len(e.queue)+e.storing >= e.opts.MaxQueued:
		err = run.ErrQueueFull
	default:
		e.storing++
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := e.opts.Store.Put(ctx, &j.run); err != nil {
		e.mu.Lock()
		e.storing--
		e.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	created := j.view()
	j.reserved = true
	e.enqueue(j)
	return created, nil
}

// newJob compiles a submission.
func (e *Engine) newJob(s run.Submission) (*job, error) {
	plan, err := plan.Compile(s.Document)
	if err != nil {
		return nil, err
	}
	id, err := e.ids.next()
	if err != nil {
		return nil, err
	}
	j := &job{
		id: id, opts: &e.opts, health: e.health, plan: plan, done: make(chan struct{}),
		secrets: redact.NewSet(s.Document.Secrets()...), time: newStamps(e.opts.Wall, time.Time{}),
	}
	if j.run, err = describe(s, plan, j.secrets); err != nil {
		return nil, err
	}
	j.run.ID, j.run.CreatedAt = id, j.time.now()
	j.run.Version, j.run.Cell = e.opts.Version, s.Cell
	j.exec = newExecution(plan, j.secrets)
	j.exec.system = system{
		allow: e.opts.Allow, dial: e.opts.Dial, memory: e.memory, pacer: e.opts.Pacer, hub: e.opts.Hub, watchdog: e.watchdog,
		reserve: cmp.Or(e.opts.DiskReserve, collect.DefaultReserve),
	}
	return j, nil
}

// Describe returns the run that a submission would make, with an id of its own. It is not
// stored. The error is *config.Invalid if the document is wrong.
func (e *Engine) Describe(s run.Submission) (*run.Run, error) {
	j, err := e.newJob(s)
	if err == nil {
		err = e.opts.Caps.Check(j.plan)
	}
	if err != nil {
		return nil, err
	}
	return j.view(), nil
}

// enqueue appends a stored job to the queue.
func (e *Engine) enqueue(j *job) {
	e.mu.Lock()
	if j.reserved {
		e.storing--
	}
	e.jobs[j.id] = j
	e.place(j)
	e.mu.Unlock()
	j.emit(run.EventQueued, nil)
	e.wakeLoop()
}
