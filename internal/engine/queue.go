package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// clockEvery is how often a queue that waits for a time reads the system clock again,
// which may be set meanwhile.
const clockEvery = time.Minute

// schedule is which runs wait, and which are active. Its methods are safe for concurrent
// use and perform no I/O.
type schedule struct {
	max int // active runs

	mu       sync.Mutex
	jobs     map[string]*job // guarded by mu; queued and active ones, and the last that finished
	queue    []*job          // guarded by mu; in the order of [run.Run.Before]
	storing  int             // guarded by mu; submissions that take a place in the queue once they are stored
	active   []*job          // guarded by mu; in order of start
	last     string          // guarded by mu; id of the run that finished last
	stopping bool            // guarded by mu
	paused   bool            // guarded by mu
}

func (s *schedule) job(id string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[id]
}

// place puts a job into the queue. Call it with mu held.
func (s *schedule) place(j *job) {
	at, _ := slices.BinarySearchFunc(s.queue, j, func(a, b *job) int {
		if a.view().Before(b.view()) {
			return -1
		}
		return 1
	})
	s.queue = slices.Insert(s.queue, at, j)
}

// replace puts a queued job where its priority belongs now.
func (s *schedule) replace(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.queue, j); at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
		s.place(j)
	}
}

// next takes the first queued job that may start now: there is room, its time has come,
// no active run loads the same server, and its results can be stored, unless the store
// fails. If there is none, wait is when to try again even if the queue does not change;
// 0 = not.
func (s *schedule) next(now time.Time, storeFails bool) (j *job, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || s.paused || storeFails || len(s.active) >= s.max {
		return nil, 0
	}
	for i, j := range s.queue {
		r := j.view()
		left := r.Ready(now)
		switch {
		case left > 0:
			wait = min(cmp.Or(wait, clockEvery), left)
		case s.rival(j, r) == nil:
			s.queue = slices.Delete(s.queue, i, i+1)
			s.active = append(s.active, j)
			return j, 0
		}
	}
	return nil, wait
}

// rival returns an active job that a queued one must not disturb, or nil. Call it with mu
// held.
func (s *schedule) rival(j *job, r *run.Run) *job {
	for _, a := range s.active {
		if a.plan != nil && a.plan.Shares(j.plan) && !(r.SharesTarget && a.view().SharesTarget) {
			return a
		}
	}
	return nil
}

// forgetDeleted removes a job whose run does not exist any more.
func (s *schedule) forgetDeleted(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, id)
	if s.last == id {
		s.last = ""
	}
}

// Queue returns the state of the queue.
func (e *Engine) Queue() run.Queue {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := run.Queue{
		IDs: []string{}, Running: []string{}, Max: e.opts.MaxQueued, MaxRuns: e.opts.MaxRuns,
		Paused: e.paused, StoreFails: e.health.storeFails(),
	}
	for _, j := range e.queue {
		q.IDs = append(q.IDs, j.id)
		if rival := e.rival(j, j.view()); rival != nil && len(e.active) < e.opts.MaxRuns {
			if q.Rivals == nil {
				q.Rivals = map[string]string{}
			}
			q.Rivals[j.id] = rival.id
		}
	}
	for _, j := range e.active {
		q.Running = append(q.Running, j.id)
	}
	return q
}

// Pause makes the queue start no more runs, or start them again. It is durable when Pause
// returns. Active runs are not affected.
func (e *Engine) Pause(ctx context.Context, paused bool) error {
	e.edits.Lock()
	defer e.edits.Unlock()
	if e.opts.Switch != nil {
		if err := e.opts.Switch.SetPaused(ctx, paused); err != nil {
			return fmt.Errorf("%w: %w", run.ErrStore, err)
		}
	}
	e.mu.Lock()
	e.paused = paused
	e.mu.Unlock()
	e.wakeLoop()
	return nil
}

// recallPause pauses the queue if it was paused when the earlier process ended.
func (e *Engine) recallPause(ctx context.Context) error {
	if e.opts.Switch == nil {
		return nil
	}
	paused, err := e.opts.Switch.Paused(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paused = paused
	return err
}

// Update changes what users may change of a run: name, labels, notes and terms. change is
// called once, with a copy; its error ends the update. The change is durable when Update
// returns. It waits until [Engine.Run] knows the runs of an earlier process.
func (e *Engine) Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	select {
	case <-e.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.edits.Lock()
	defer e.edits.Unlock()
	if j := e.job(id); j != nil {
		r, err := j.amend(ctx, change)
		if err != nil {
			return nil, err
		}
		e.replace(j)
		e.wakeLoop()
		return r, nil
	}
	r, err := e.opts.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := change(r); err != nil {
		return nil, err
	}
	r.Revision++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := e.opts.Store.Put(ctx, r); err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	e.opts.Publisher.Publish(run.Event{Type: run.EventUpdated, RunID: id, At: time.Now().UTC(), Run: r, State: r.State})
	return r, nil
}
