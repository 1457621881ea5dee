package engine

import (
	"context"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// Submit queues the run of a document. The run is durable when Submit returns. It waits until
// [Engine.Run] knows the runs of an earlier process.
// The error is *config.Invalid if the document is wrong, ErrQueueFull, ErrStopping,
// or ErrStore.
func (e *Engine) Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error) {
	return e.submit(ctx, doc, s, nil)
}

// submit queues a run, which is a part of a larger one unless part is nil.
func (e *Engine) submit(ctx context.Context, doc *config.Document, s run.Submission, part Part) (*run.Run, error) {
	if err := e.queue.Opened(ctx); err != nil {
		return nil, err
	}
	j, err := e.compile(doc, s)
	if err != nil {
		return nil, err
	}
	j.part = part
	created := j.item.View()
	if err := e.queue.Submit(ctx, j, s.Cell != nil, nil); err != nil {
		return nil, err
	}
	return created, nil
}

// Describe returns the run that a submission would make, with an id of its own. It is not
// stored. The error is *config.Invalid if the document is wrong.
func (e *Engine) Describe(doc *config.Document, s run.Submission) (*run.Run, error) {
	j, err := e.compile(doc, s)
	if err != nil {
		return nil, err
	}
	return j.item.View(), nil
}

// compile makes the job of a submission, which may ask for what the caps allow. The plan is
// the one that the submission carries, if it has been compiled before.
func (e *Engine) compile(doc *config.Document, s run.Submission) (*job, error) {
	p, _ := s.Compiled.(*plan.Plan)
	if p == nil {
		var err error
		if p, err = plan.Compile(doc); err != nil {
			return nil, err
		}
	}
	if err := e.opts.Caps.Check(p); err != nil {
		return nil, err
	}
	secrets := redact.NewSet(doc.Secrets()...)
	r, err := describe(doc, s, p, secrets)
	if err != nil {
		return nil, err
	}
	if r.ID, err = e.ids.next(); err != nil {
		return nil, err
	}
	at := newStamps(e.opts.Wall, time.Time{})
	r.CreatedAt, r.Version, r.Cell = at.now(), e.opts.Version, s.Cell
	j := e.newJob(&r, p, secrets, at)
	j.twin, j.awaitIdle = s.Twin, s.Settle
	return j, nil
}
