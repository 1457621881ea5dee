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
	"sync/atomic"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/queue"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/export"
)

// Runner performs runs. Every method is safe for concurrent use. The errors are those of
// package run, wrapped or not.
type Runner interface {
	// Describe returns the run that a submission would make, with an id; it is not stored.
	Describe(doc *config.Document, s run.Submission) (*run.Run, error)
	// Submit queues a run. The run is durable when the method returns.
	Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error)
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

// Service accepts studies and runs, and performs the studies by priority and in the order
// in which they were submitted. Its methods are safe for concurrent use.
type Service struct {
	Runner // runs that are no studies
	opts   Options
	queue  *queue.Queue[*performance]
	edits  sync.Mutex                  // orders updates of studies and their removal; held during both on purpose
	last   atomic.Pointer[performance] // the study that ended last
}

// New returns a service. It performs nothing until [Service.Run].
func New(o Options) (*Service, error) {
	if o.Runner == nil || o.Store == nil || o.Load == nil {
		return nil, errors.New("make study service: Runner, Store or Load is missing")
	}
	o.MaxStudies, o.MaxQueued = cmp.Or(o.MaxStudies, 1), cmp.Or(o.MaxQueued, 100)
	if o.Publisher == nil {
		o.Publisher = run.Publishers{}
	}
	s := &Service{Runner: o.Runner, opts: o}
	s.queue = queue.New(queue.Options[*performance]{
		Backing: queue.Backing{Store: o.Store, Publisher: o.Publisher, Fault: func(id string, err error) {
			o.Log.Error().Err(err).Str("run", id).Msg("store study")
		}},
		Kind: run.KindSweep, Max: o.MaxStudies, MaxQueued: o.MaxQueued, Reopen: s.reopen,
		Paused: func(context.Context) (bool, error) { return s.Queue().Paused, nil },
	})
	return s, nil
}

// Run performs studies until ctx ends, those of an earlier process first. Studies that are
// not complete then go on in the next process. The runner must have recovered its runs.
func (s *Service) Run(ctx context.Context) error {
	err := s.queue.Recover(ctx)
	if ctx.Err() != nil {
		return nil // the next process begins again
	}
	if err != nil {
		return err
	}
	return s.queue.Run(ctx, nil)
}

// Submit queues a run, or a study if the document asks for several runs. It is durable when
// Submit returns.
func (s *Service) Submit(ctx context.Context, doc *config.Document, sub run.Submission) (*run.Run, error) {
	if doc.Study() == nil {
		return s.Runner.Submit(ctx, doc, sub)
	}
	parent, err := s.Describe(doc, sub)
	if err != nil {
		return nil, err
	}
	if err := s.queue.Opened(ctx); err != nil {
		return nil, err
	}
	p := s.newPerformance(parent, doc)
	dir := s.opts.Store.Dir(parent.ID)
	err = s.queue.Submit(ctx, p, false, func() error {
		// The document comes first, so that every study that another process finds can go on.
		err := storePlan(dir, p.doc)
		if err == nil {
			err = s.opts.Store.Put(ctx, p.item.View())
		}
		if err != nil {
			dropPlan(dir)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.item.View(), nil
}

// Report returns the results of the study that ended last; nil for other ids.
func (s *Service) Report(id string) *export.Report {
	p := s.last.Load()
	if p == nil || p.item.ID() != id {
		return nil
	}
	return p.results
}

// Wait returns when a run or a study is terminal and durable, or when ctx ends.
func (s *Service) Wait(ctx context.Context, id string) (*run.Run, error) {
	if err := s.queue.Opened(ctx); err != nil {
		return nil, err
	}
	if _, ok := s.queue.Find(id); ok {
		return s.queue.Wait(ctx, id)
	}
	return s.Runner.Wait(ctx, id)
}

// Get returns a run or a study with its configuration.
func (s *Service) Get(ctx context.Context, id string) (*run.Run, error) {
	if p, ok := s.queue.Find(id); ok {
		return p.item.View(), nil
	}
	return s.Runner.Get(ctx, id)
}

// Cancel stops a run or a study. That of a study stops its active cell and drops the cells
// that follow; the results of those that ended are written.
func (s *Service) Cancel(ctx context.Context, id string, c run.CancelRequest) (*run.Run, bool, error) {
	if r, changed, err := s.queue.Cancel(ctx, id, c); r != nil {
		return r, changed, err
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
	if err := s.queue.Opened(ctx); err != nil {
		return nil, err
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	if _, ok := s.queue.Find(id); ok {
		return s.queue.Update(ctx, id, change)
	}
	return s.Runner.Update(ctx, id, change)
}

// Pause makes the queue start no more runs and studies, or start them again. A study that
// has begun performs no further runs meanwhile. It is durable when Pause returns.
func (s *Service) Pause(ctx context.Context, paused bool) error {
	if err := s.queue.Opened(ctx); err != nil {
		return err
	}
	return s.queue.Pause(paused, func() error { return s.Runner.Pause(ctx, paused) })
}

// Delete removes a run or a study with its cells, and their files. What is pinned needs
// force; with force, an active one is cancelled first. A cell of an active study cannot be
// deleted.
func (s *Service) Delete(ctx context.Context, id string, force bool) error {
	r, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if _, busy := s.queue.Busy(id); busy {
		if !force {
			return run.ErrActive
		}
		if _, _, err := s.queue.Cancel(ctx, id, run.CancelRequest{Force: true, Reason: "deleted"}); err != nil {
			return err
		}
		if _, err := s.queue.Wait(ctx, id); err != nil {
			return err
		}
	}
	if r.Study != nil || !force { // else the run may be active until its end is stored
		s.edits.Lock()
		defer s.edits.Unlock()
	}
	if !force && s.pinned(ctx, id) {
		return run.ErrPinned
	}
	if _, busy := s.queue.Busy(r.ParentID()); busy {
		return fmt.Errorf("%w: its study is active", run.ErrActive)
	}
	if r.Study == nil {
		return s.Runner.Delete(ctx, id, force)
	}
	cells, err := cellsOf(ctx, s.Runner, id)
	if err != nil {
		return err
	}
	for i := range cells {
		if err := s.Runner.Delete(ctx, cells[i].ID, force); err != nil && !errors.Is(err, run.ErrNotFound) {
			return fmt.Errorf("delete cell %s: %w", cells[i].ID, err)
		}
	}
	return s.queue.Delete(ctx, id, force)
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
