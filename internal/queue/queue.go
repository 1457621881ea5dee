// Package queue decides which run or study starts next, stores their states, and passes cancels to
// them. Each is an item with one goroutine that performs it; its state is stored before it is
// published. A queue also updates items, and settles those that an earlier process left behind.
// What an item does is its [Task].
package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// Task is what an item does. Execute and Recover are called at most once at a time, by the
// goroutine that owns the item; the other methods are safe for concurrent use.
type Task interface {
	// Item returns the durable state of the task, always the same.
	Item() *Item
	// Execute performs the task and makes its item terminal, unless ctx ends and the next
	// process is to go on with it.
	Execute(ctx context.Context)
	// Recover ends an item that an earlier process had begun. It returns false if that has
	// to be tried again later.
	Recover(ctx context.Context) (ended bool)
	// Cancel stops the task while it is active. changed is false if the request has no
	// effect. The request is stored when Cancel returns.
	Cancel(ctx context.Context, c run.CancelRequest) (changed bool)
	// Dismiss makes r, the run of an item that has never begun, terminal because of a cancel.
	Dismiss(r *run.Run, c run.CancelRequest)
}

// Fate is what becomes of a run that an earlier process left behind.
type Fate int

// The fates.
const (
	Gone    Fate = iota // it is terminal, and no item
	Queued              // it waits for its turn
	Settled             // it only has to be ended, by [Task.Recover]
)

// Options configure a [Queue]. Those of the first group are required.
type Options[T Task] struct {
	Backing   Backing
	Kind      run.Kind
	Max       int // active items
	MaxQueued int
	// Reopen makes a task of a run that an earlier process left behind.
	Reopen func(ctx context.Context, r *run.Run) (T, Fate, error)
	// Paused reports whether the queue was paused when the earlier process ended.
	Paused func(ctx context.Context) (bool, error)

	// Rivals reports whether two tasks must not be active at the same time; nil = all may be.
	Rivals func(waiting, active T) bool
	// Beside reports whether a task is performed together with an active one, so that it takes no place of its own;
	// nil = none is.
	Beside func(waiting, active T) bool
	// Blocked reports whether no item may start now; nil = it never is so.
	Blocked func() bool
	// Idle is called when an item has ended and no other one is active or waits.
	Idle func()
	// Stop ends the active items when the queue stops. It returns when ended is closed, or
	// gives up with an error. nil = they end by themselves.
	Stop func(ctx context.Context, ended <-chan struct{}) error
}

// The times of a queue.
const (
	tickEvery  = 5 * time.Second  // between two looks at ends that the store has refused
	retryEvery = 10 * time.Second // between two attempts to recover an item
)

// Queue performs tasks by priority and in the order in which they were submitted. Its methods
// are safe for concurrent use.
type Queue[T Task] struct {
	schedule[T]
	opts Options[T]
	wake chan struct{} // buffered 1: the schedule has changed
	open chan struct{} // closed when the items of an earlier process are known

	settled []T // by Recover, for Run: they only have to be ended

	edits sync.Mutex // orders the updates of runs and their removal; held during both on purpose
}

// New returns a queue. It does nothing until [Queue.Recover] and [Queue.Run].
func New[T Task](o Options[T]) *Queue[T] {
	return &Queue[T]{
		opts: o, schedule: newSchedule(o.Max, o.Rivals, o.Beside), wake: make(chan struct{}, 1), open: make(chan struct{}),
	}
}

// Backing returns where the changes of the items of the queue go.
func (q *Queue[T]) Backing() *Backing { return &q.opts.Backing }

// Wake makes the loop look at the schedule.
func (q *Queue[T]) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Opened waits until the items of an earlier process are known.
func (q *Queue[T]) Opened(ctx context.Context) error {
	select {
	case <-q.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run performs the items until ctx ends. Then it refuses new ones and returns when those
// that are active have ended. Waiting items stay queued in the store. beat is called whenever
// the loop turns, every few seconds at least; nil = nobody is told. The error is that of
// [Options.Stop]; goroutines go on then, and the process must end.
func (q *Queue[T]) Run(ctx context.Context, beat func()) error {
	close(q.open)
	var supervisors sync.WaitGroup
	supervisors.Go(func() { q.settleAll(ctx) })
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		if beat != nil {
			beat()
		}
		t, ok, wait := q.next(time.Now(), q.opts.Blocked != nil && q.opts.Blocked())
		if ok {
			supervisors.Go(func() {
				t.Execute(ctx)
				q.retire(t)
			})
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-q.wake:
		case <-due:
		case <-tick.C:
			q.storeEnds(ctx)
		case <-ctx.Done():
			return q.stop(ctx, &supervisors)
		}
	}
}

// stop refuses new items and waits for the active ones.
func (q *Queue[T]) stop(ctx context.Context, supervisors *sync.WaitGroup) error {
	q.refuse()
	if q.opts.Stop == nil {
		supervisors.Wait()
		return nil
	}
	ended := make(chan struct{})
	go func() {
		supervisors.Wait()
		close(ended)
	}()
	return q.opts.Stop(ctx, ended)
}

// retire takes an item that has ended out of the schedule.
func (q *Queue[T]) retire(t T) {
	if q.remove(t) && q.opts.Idle != nil {
		q.opts.Idle()
	}
	q.Wake()
}

// storeEnds stores ends that the store has refused, and forgets the items that it accepts.
func (q *Queue[T]) storeEnds(ctx context.Context) {
	for _, t := range q.Unstored() {
		it := t.Item()
		if it.Change(ctx, func(*run.Run) {}); it.unstored() {
			return // the store still fails
		}
		q.forget(it.id)
	}
}

// Submit puts a task into the queue once save has stored it; nil = only the run is stored.
// forced = the queue may be longer than [Options.MaxQueued]. The error is ErrStopping,
// ErrQueueFull, or ErrStore.
func (q *Queue[T]) Submit(ctx context.Context, t T, forced bool, save func() error) error {
	most := q.opts.MaxQueued
	if forced {
		most = 0
	}
	if err := q.reserve(most); err != nil {
		return err
	}
	if save == nil {
		save = func() error { return q.opts.Backing.Store.Put(ctx, t.Item().View()) }
	}
	if err := save(); err != nil {
		q.unreserve()
		return fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	q.add(t, true)
	q.enqueued(t)
	return nil
}

// enqueued announces a task that waits now.
func (q *Queue[T]) enqueued(t T) {
	t.Item().Publish(run.EventQueued)
	q.Wake()
}

// Cancel stops an item that has not ended; one that waits and has never begun is cancelled at
// once. r is nil if the queue has no such item. changed is false if the request has no effect.
func (q *Queue[T]) Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error) {
	t, found, waited := q.withdraw(id)
	if !found {
		return nil, false, nil
	}
	it := t.Item()
	if waited {
		err := it.change(ctx, func(r *run.Run) { t.Dismiss(r, c) })
		q.retire(t)
		it.Publish(run.EventComplete)
		return it.View(), true, err
	}
	changed = t.Cancel(ctx, c)
	q.hurry(t)
	q.Wake()
	return it.View(), changed, nil
}

// Update changes what users may change of a run: name, labels, notes and terms. change is
// called once, with a copy; its error ends the update. The change is durable when Update
// returns. It waits until the items of an earlier process are known.
func (q *Queue[T]) Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	if err := q.Opened(ctx); err != nil {
		return nil, err
	}
	q.edits.Lock()
	defer q.edits.Unlock()
	if t, ok := q.Find(id); ok {
		r, err := t.Item().amend(ctx, change)
		if err != nil {
			return nil, err
		}
		q.replace(t)
		q.Wake()
		return r, nil
	}
	r, err := q.opts.Backing.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	it := NewItem(&q.opts.Backing, r, Hooks{})
	return it.amend(ctx, change)
}

// Pause makes the queue start no more items, or start them again, once save has stored that;
// nil = only this process remembers it.
func (q *Queue[T]) Pause(paused bool, save func() error) error {
	q.edits.Lock()
	defer q.edits.Unlock()
	if save != nil {
		if err := save(); err != nil {
			return err
		}
	}
	q.hold(paused)
	q.Wake()
	return nil
}

// Delete removes a terminal run and its files. With force, an active one is cancelled first.
func (q *Queue[T]) Delete(ctx context.Context, id string, force bool) error {
	if t, ok := q.Find(id); ok && !t.Item().View().State.Terminal() {
		if !force {
			return run.ErrActive
		}
		c := run.CancelRequest{Force: true, Reason: "deleted"}
		if _, _, err := q.Cancel(ctx, id, c); err != nil {
			return err
		}
		if err := t.Item().wait(ctx); err != nil {
			return err
		}
	}
	q.edits.Lock()
	defer q.edits.Unlock()
	if err := q.opts.Backing.Store.Delete(ctx, id); err != nil {
		return err
	}
	q.forgetDeleted(id)
	q.opts.Backing.Publisher.Publish(run.Event{Type: run.EventDeleted, RunID: id, At: time.Now().UTC()})
	return nil
}

// Get returns a run with its configuration.
func (q *Queue[T]) Get(ctx context.Context, id string) (*run.Run, error) {
	if t, ok := q.Find(id); ok {
		return t.Item().View(), nil
	}
	return q.opts.Backing.Store.Get(ctx, id)
}

// Wait returns when a run is terminal and durable, when the queue stops before it has begun,
// or when ctx ends.
func (q *Queue[T]) Wait(ctx context.Context, id string) (*run.Run, error) {
	if t, ok := q.Find(id); ok {
		if err := t.Item().wait(ctx); err != nil {
			return nil, err
		}
	}
	return q.Get(ctx, id)
}

// wait waits until nobody performs the item.
func (it *Item) wait(ctx context.Context) error {
	select {
	case <-it.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unstored returns the tasks that have ended but whose end the store has refused. They stay
// in memory, because what the store has of them is out of date.
func (q *Queue[T]) Unstored() []T {
	return slices.DeleteFunc(q.known(), func(t T) bool { return !t.Item().unstored() })
}
