package study

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/run"
)

// submit queues one trial of a variation and waits for its end. queued is the cell if an
// earlier process has queued it.
func (p *performance) submit(ctx context.Context, v *vary.Variation, trial int, queued *run.Run) (*run.Run, error) {
	child := queued
	if child == nil {
		var err error
		if child, err = p.queue(ctx, v, trial, nil); err != nil || child.ID == "" {
			return child, err
		}
	}
	request := p.begun(child.ID)
	p.item.Change(ctx, func(r *run.Run) { r.Study.Current = v.Label })
	if p.opts.Observer != nil {
		p.opts.Observer.Started(p.item.View(), child)
	}
	if request != nil { // since the pause ended
		if _, _, err := p.opts.Runner.Cancel(ctx, child.ID, *request); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
			return nil, err
		}
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { p.watchStart(watch, child.ID) })
	watching.Go(func() { p.watchProbe(watch, child.ID) })
	ended, err := p.opts.Runner.Wait(ctx, child.ID)
	stop()
	watching.Wait()
	p.ended(child.ID)
	if ctx.Err() != nil {
		return nil, errStop // the runner ends its active runs when the process stops
	}
	if err != nil {
		return nil, fmt.Errorf("wait for cell %s: %w", child.ID, err)
	}
	return ended, nil
}

// begun says that a cell is active, and returns the request to cancel the study; nil = there is none.
func (p *performance) begun(id string) *run.CancelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = append(p.active, id)
	return p.request
}

// ended says that a cell is not active any more.
func (p *performance) ended(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = slices.DeleteFunc(p.active, func(s string) bool { return s == id })
}

// queue submits one trial of a variation; other is the run that is performed beside it, nil = none is. A document that
// is not valid is a failed cell without an id.
func (p *performance) queue(ctx context.Context, v *vary.Variation, trial int, other run.Twin) (*run.Run, error) {
	parent := p.item.View()
	place := &run.Cell{
		ParentID: parent.ID, Variation: *v, Trial: trial, LoadLost: parent.Study.LoadLost,
		Label: fmt.Sprintf("run_%04d", trial+1), Folder: p.folder(v, trial),
	}
	take := p.doc.Take
	if before := parent.Study.Interruptions; before > 0 {
		take = func(v *vary.Variation, trial int) (*config.Loaded, error) { return p.doc.Again(v, trial, before) }
	}
	cell, err := take(v, trial)
	if err != nil {
		return &run.Run{State: bench.StateFailed, StateReason: err.Error(), Cell: place}, nil
	}
	doc := cell.Document
	doc.Metadata.Priority = parent.Priority
	sub := run.Submission{
		Via: parent.Via, By: parent.SubmittedBy, CLICommand: parent.CLICommand, Cell: place, Compiled: cell.Plan,
		Twin: other,
	}
	if _, probes := p.load(); probes {
		sub.Settle = p.settle
	}
	for _, w := range cell.Warnings {
		sub.Warnings = append(sub.Warnings, bench.Warning{Pointer: w.Pointer, Code: w.Code, Detail: w.Detail})
	}
	child, err := p.opts.Runner.Submit(ctx, doc, sub)
	switch {
	case errors.Is(err, run.ErrStopping), err != nil && ctx.Err() != nil:
		return nil, errStop
	case err != nil:
		return nil, fmt.Errorf("submit cell %s: %w", v.Label, err)
	}
	return child, nil
}

// folder returns AIPerf's folder of a cell.
func (p *performance) folder(v *vary.Variation, trial int) string {
	s, n := p.doc.Sweep, p.doc.MultiRun.NumRuns
	runs, number := "profile_runs", fmt.Sprintf("_%04d", trial+1)
	switch {
	case s == nil:
		return path.Join(runs, "run"+number)
	case s.Type == sweep.Adaptive:
		return path.Join(v.Folder, runs, "run"+number)
	case n == 1:
		return v.Folder
	case s.IterationOrder == sweep.Repeated:
		return path.Join(runs, "trial"+number, v.Folder)
	}
	return path.Join(v.Folder, runs, "trial"+number)
}
