// Package study performs studies: the variations and repeats of one document, each as a
// run of its own. It chooses what runs next, by a planner that is a pure function of the
// results so far, so that a study that was interrupted goes on where it was. It sees runs
// only through its [Runner].
package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/export"
)

// Runner performs runs. Every method is safe for concurrent use. The errors are those of
// package run, wrapped or not.
type Runner interface {
	// Describe returns the run that a submission would make, with an id; it is not stored.
	Describe(s run.Submission) (*run.Run, error)
	// Submit queues a run. The run is durable when the method returns.
	Submit(ctx context.Context, s run.Submission) (*run.Run, error)
	// Wait returns when a run is terminal and durable.
	Wait(ctx context.Context, id string) (*run.Run, error)
	// Cancel stops a run. changed is false if the request had no effect.
	Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error)
	// Delete deletes a run and its files; with force, an active run is stopped first.
	Delete(ctx context.Context, id string, force bool) error
	// Get returns a run with its configuration.
	Get(ctx context.Context, id string) (*run.Run, error)
	// List returns runs without their configurations.
	List(ctx context.Context, q run.Query) (run.Page, error)
	// Update applies a change of a user to a run, see [Service.Update].
	Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error)
	// Queue returns the state of the queue.
	Queue() run.Queue
	// Pause makes the queue start no more runs, or start them again.
	Pause(ctx context.Context, paused bool) error
	// Snapshot returns the newest snapshot of a run.
	Snapshot(ctx context.Context, id string) (*run.Snapshot, error)
}

// Observer sees the cells of studies. Its methods are called one at a time for each study,
// and must not block.
type Observer interface {
	// Started is called when a cell is in the queue.
	Started(parent, child *run.Run)
	// Ended is called when a cell has ended, or was found ended by an earlier process.
	Ended(parent, child *run.Run, t *cell.Trial)
}

// Options are the parameters of a [Service]. Those of the first group are required.
type Options struct {
	Runner Runner
	Store  run.Store // that of the runner
	// Load reads the stored text of a study back. The error is *problem.Invalid with the
	// code redacted-placeholder if the text had secrets.
	Load func(text []byte) (*config.Document, error)

	Publisher  run.Publisher // nil = events are discarded
	Observer   Observer      // nil = nobody
	Log        zerolog.Logger
	MaxStudies int // at a time; 0 = 1
	MaxQueued  int // 0 = 100
}

// storeTimeout bounds a change of a study in the store.
const storeTimeout = 10 * time.Second

// Service accepts studies and runs, and performs the studies by priority and in the order
// in which they were submitted. Its methods are safe for concurrent use.
type Service struct {
	Runner // runs that are no studies
	opts   Options
	turns  *turns        // of the studies that are queued
	edits  sync.Mutex    // orders updates of studies and their removal; held during both on purpose
	ready  chan struct{} // closed when the studies of an earlier process are recovered

	mu      sync.Mutex
	studies map[string]*performance // guarded by mu; not terminal
	storing int                     // guarded by mu; submissions that become studies once they are stored
	ctx     context.Context         //nolint:containedctx // of Run: studies outlive the requests that submit them; guarded by mu
	last    *performance            // guarded by mu; that ended last
	all     sync.WaitGroup          // of performances; Add under mu
}

// New returns a service. It performs nothing until [Service.Run].
func New(o Options) (*Service, error) {
	if o.Runner == nil || o.Store == nil || o.Load == nil {
		return nil, errors.New("make study service: Runner, Store or Load is missing")
	}
	o.MaxStudies, o.MaxQueued = cmp.Or(o.MaxStudies, 1), cmp.Or(o.MaxQueued, 100)
	return &Service{
		Runner: o.Runner, opts: o, turns: newTurns(o.MaxStudies), ready: make(chan struct{}),
		studies: make(map[string]*performance),
	}, nil
}

// Run performs studies until ctx ends, those of an earlier process first. Studies that are
// not complete then go on in the next process. The runner must have recovered its runs.
func (s *Service) Run(ctx context.Context) error {
	defer s.all.Wait()
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	if err := s.recover(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	s.turns.hold(s.Queue().Paused)
	close(s.ready)
	<-ctx.Done()
	return nil
}

// Submit queues a run, or a study if the document asks for several runs. It is durable when
// Submit returns.
func (s *Service) Submit(ctx context.Context, sub run.Submission) (*run.Run, error) {
	if sub.Document.Study() == nil {
		return s.Runner.Submit(ctx, sub)
	}
	parent, err := s.Describe(sub)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := s.newPerformance(parent, sub.Document)
	if err := s.reserve(); err != nil {
		return nil, err
	}
	defer s.release()
	// The document comes first, so that every study that another process finds can go on.
	dir := s.opts.Store.Dir(parent.ID)
	err = storePlan(dir, p.doc)
	if err == nil {
		err = s.opts.Store.Put(ctx, parent)
	}
	if err != nil {
		dropPlan(dir)
		return nil, fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	s.start(p) //nolint:contextcheck // it lives as long as the service
	return p.view(), nil
}

// reserve takes a place in the queue for a submission that is being stored.
func (s *Service) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return run.ErrStopping
	case len(s.studies)+s.storing >= s.opts.MaxQueued:
		return run.ErrQueueFull
	}
	s.storing++
	return nil
}

// release gives the place back, to the study or to others.
func (s *Service) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storing--
}

// start performs a study when it is its turn.
func (s *Service) start(p *performance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.studies[p.run.ID] = p
	recalled := p.stopped() // an earlier process has cancelled it
	if !recalled {
		s.turns.enter(p)
	}
	p.emit(run.EventQueued)
	ctx := s.ctx
	s.all.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.studies, p.run.ID)
			s.last = p
			s.mu.Unlock()
			close(p.done)
		}()
		switch {
		case !recalled && s.turns.take(ctx, p):
			defer s.turns.release()
			p.perform(ctx)
		case p.stopped() && p.view().StartedAt != nil:
			p.perform(ctx) // writes the results of the cells that have ended, and begins none
		case p.stopped():
			p.finish(ctx, bench.StateCancelled, "cancelled while queued", nil)
		}
	})
}

// Report returns the results of the study that ended last; nil for other ids.
func (s *Service) Report(id string) *export.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.run.ID != id {
		return nil
	}
	return s.last.results
}

// find returns a study that is not terminal, or nil.
func (s *Service) find(id string) *performance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.studies[id]
}

// Wait returns when a run or a study is terminal and durable, or when ctx ends.
func (s *Service) Wait(ctx context.Context, id string) (*run.Run, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := s.find(id)
	if p == nil {
		return s.Runner.Wait(ctx, id)
	}
	select {
	case <-p.done:
		return s.Get(ctx, id)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Get returns a run or a study with its configuration.
func (s *Service) Get(ctx context.Context, id string) (*run.Run, error) {
	if p := s.find(id); p != nil {
		return p.view(), nil
	}
	return s.Runner.Get(ctx, id)
}

// Cancel stops a run or a study. That of a study stops its active cell and drops the cells
// that follow; the results of those that ended are written.
func (s *Service) Cancel(ctx context.Context, id string, c run.CancelRequest) (*run.Run, bool, error) {
	if p := s.find(id); p != nil {
		changed := p.cancel(ctx, c)
		return p.view(), changed, nil
	}
	r, err := s.Get(ctx, id)
	if err != nil || r.Study == nil {
		return s.Runner.Cancel(ctx, id, c)
	}
	if r.State != bench.StateCancelled {
		return r, false, run.ErrAlreadyFinished
	}
	return r, false, nil
}

// Update changes what users may change of a run or a study: name, labels, notes and terms.
// change is called once, with a copy; its error ends the update. The change is durable when
// Update returns.
func (s *Service) Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	p := s.find(id)
	if p == nil {
		return s.Runner.Update(ctx, id, change)
	}
	r, err := p.amend(ctx, change)
	s.turns.change(func() {}) // the priority may be another one
	return r, err
}

// Pause makes the queue start no more runs and studies, or start them again. A study that
// has begun performs no further runs meanwhile. It is durable when Pause returns.
func (s *Service) Pause(ctx context.Context, paused bool) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	if err := s.Runner.Pause(ctx, paused); err != nil {
		return err
	}
	s.turns.hold(paused)
	return nil
}

// Delete removes a run or a study with its cells, and their files. What is pinned needs
// force; with force, an active one is cancelled first. A cell of an active study cannot be
// deleted.
func (s *Service) Delete(ctx context.Context, id string, force bool) error {
	r, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if p := s.find(id); p != nil {
		if !force {
			return run.ErrActive
		}
		p.cancel(ctx, run.CancelRequest{Force: true, Reason: "deleted"})
		select {
		case <-p.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if r.Study != nil || !force { // else the run may be active until its end is stored
		s.edits.Lock()
		defer s.edits.Unlock()
	}
	switch {
	case !force && s.pinned(ctx, id):
		return run.ErrPinned
	case r.Cell != nil && s.find(r.Cell.ParentID) != nil:
		return fmt.Errorf("%w: its study is active", run.ErrActive)
	case r.Study != nil:
		cells, err := cellsOf(ctx, s.Runner, id)
		if err != nil {
			return err
		}
		for i := range cells {
			if err := s.Runner.Delete(ctx, cells[i].ID, force); err != nil && !errors.Is(err, run.ErrNotFound) {
				return fmt.Errorf("delete cell %s: %w", cells[i].ID, err)
			}
		}
	}
	return s.Runner.Delete(ctx, id, force)
}

// pinned reports whether a run or the study that it belongs to is pinned.
func (s *Service) pinned(ctx context.Context, id string) bool {
	r, err := s.Get(ctx, id)
	if err == nil && r.Cell != nil && !r.Pinned {
		r, err = s.Get(ctx, r.Cell.ParentID)
	}
	return err == nil && r.Pinned
}

// cellsOf returns the cells of a study, oldest first.
func cellsOf(ctx context.Context, r Runner, id string) ([]run.Run, error) {
	var all []run.Run
	for q := (run.Query{Parent: id, Sort: run.SortCreated, Limit: 500}); ; {
		page, err := r.List(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list cells of study %s: %w", id, err)
		}
		all = append(all, page.Runs...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return slices.Clip(all), nil
		}
	}
}
