package queue

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// storeTimeout bounds a change of an item in the store.
const storeTimeout = 10 * time.Second

// Backing is where the changes of items go.
type Backing struct {
	Store     run.Store
	Publisher run.Publisher
	// Fault is told that the store has refused a change of the run with an id.
	Fault func(id string, err error)
}

// Hooks connect an item to its task. A nil hook is not called. A hook runs in the goroutine that
// changes the item.
type Hooks struct {
	// Snapshot returns the newest snapshot of the run, which goes with its events.
	Snapshot func() *run.Snapshot
	// Entered is told that the run has entered a state, before that is stored.
	Entered func(r *run.Run)
	// Redact removes secrets from what a user has changed.
	Redact func(r *run.Run)
}

// Item is the durable state of a run or of a study of this process: what it is, and how it
// changes. Its methods are safe for concurrent use. Every change is stored before it is
// seen or published.
type Item struct {
	id      string
	backing *Backing
	hooks   Hooks
	done    chan struct{} // closed by end

	end  func()     // closes done; idempotent
	save sync.Mutex // orders changes of run and their storing; held across both on purpose
	mu   sync.Mutex
	run  run.Run // guarded by mu
	lost bool    // guarded by mu; the store has refused the last change
}

// NewItem returns an item. It stores nothing.
func NewItem(b *Backing, r *run.Run, h Hooks) *Item {
	it := &Item{id: r.ID, backing: b, hooks: h, run: *r, done: make(chan struct{})}
	it.end = sync.OnceFunc(func() { close(it.done) })
	return it
}

// ID returns the id of the run.
func (it *Item) ID() string { return it.id }

// View returns a copy of the run.
func (it *Item) View() *run.Run {
	it.mu.Lock()
	r := it.run
	it.mu.Unlock()
	if r.Study != nil {
		r.Study = new(*r.Study)
	}
	return &r
}

// Ended reports whether nobody performs the run any more.
func (it *Item) Ended() bool {
	select {
	case <-it.done:
		return true
	default:
		return false
	}
}

// unstored reports whether the run has ended and the store does not have its end.
func (it *Item) unstored() bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.lost && it.run.State.Terminal()
}

// Change applies a change to the run, stores it and publishes it, even if ctx has ended.
// Changes of one run happen one after the other, in the same order in the store. The run
// goes on if the store refuses one.
func (it *Item) Change(ctx context.Context, apply func(*run.Run)) { it.Report(it.change(ctx, apply)) }

// Report reports an error of the store that does not stop the run; nil = there is none.
func (it *Item) Report(err error) {
	if err != nil {
		it.backing.Fault(it.id, err)
	}
}

// change is Change for callers that need to know whether the store has refused it. Readers
// see the change when it is stored, so that what they then read from the store has it, too.
func (it *Item) change(ctx context.Context, apply func(*run.Run)) error {
	it.save.Lock()
	defer it.save.Unlock()
	r := it.View()
	before := r.State
	apply(r)
	r.Revision++
	if r.State != before && it.hooks.Entered != nil {
		it.hooks.Entered(r)
	}
	err := it.put(ctx, r)
	it.mu.Lock()
	it.run, it.lost = *r, err != nil
	it.mu.Unlock()
	it.Publish(run.EventStateChanged)
	return err
}

// put stores the run, even if ctx has ended.
func (it *Item) put(ctx context.Context, r *run.Run) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := it.backing.Store.Put(ctx, r); err != nil {
		return fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	return nil
}

// amend applies an update of a user and publishes it. If the store refuses it, nothing
// changes.
func (it *Item) amend(ctx context.Context, update func(*run.Run) error) (*run.Run, error) {
	it.save.Lock()
	defer it.save.Unlock()
	r := it.View()
	if err := update(r); err != nil {
		return nil, err
	}
	if it.hooks.Redact != nil {
		it.hooks.Redact(r)
	}
	r.Revision++
	if err := it.put(ctx, r); err != nil {
		return nil, err
	}
	it.mu.Lock()
	it.run, it.lost = *r, false
	it.mu.Unlock()
	it.Publish(run.EventUpdated)
	return it.View(), nil
}

// Stop stores that the run is to stop, and publishes it. The request is kept if the next
// process must obey it, too.
func (it *Item) Stop(ctx context.Context, c *run.CancelRequest, kept bool) {
	it.Change(ctx, func(r *run.Run) {
		if kept {
			r.Cancelled = c
		}
		if r.State == bench.StateStarting || r.State == bench.StateRunning {
			r.State, r.StateReason = bench.StateStopping, cmp.Or(c.Reason, "cancelled")
		}
	})
}

// Publish publishes an event with the newest snapshot of the run.
func (it *Item) Publish(what run.EventType) {
	var snap *run.Snapshot
	if it.hooks.Snapshot != nil {
		snap = it.hooks.Snapshot()
	}
	last := 0
	if snap != nil && len(snap.Phases) > 0 {
		last = snap.Phases[len(snap.Phases)-1].Stats.Index
	}
	it.PublishPhase(what, snap, last)
}

// Announce publishes an event of a study with what it says, which does not change any more.
func (it *Item) Announce(what run.EventType, news any) {
	r := it.View()
	ev := run.Event{Type: what, RunID: r.ID, At: time.Now().UTC(), Run: r, State: r.State, News: news}
	it.backing.Publisher.Publish(ev)
}

// PublishPhase publishes an event of a phase with a snapshot; nil = there is none.
func (it *Item) PublishPhase(what run.EventType, snap *run.Snapshot, phase int) {
	r := it.View()
	ev := run.Event{Type: what, RunID: r.ID, At: time.Now().UTC(), Run: r, Snapshot: snap, State: r.State}
	for i := 0; snap != nil && i < len(snap.Phases); i++ {
		if snap.Phases[i].Stats.Index == phase {
			ev.Phase = &snap.Phases[i]
		}
	}
	it.backing.Publisher.Publish(ev)
}

// WatchDeadline cancels the run gracefully when it passes its deadline, which is left away.
// ended ends the watch and waits for that; it may be called more than once.
func (it *Item) WatchDeadline(left time.Duration, cancel func(run.CancelRequest)) (ended func()) {
	limit := it.View().Deadline
	if limit <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(run.CancelRequest{Deadline: true, Reason: fmt.Sprintf("the deadline of %v has passed", limit)})
		case <-done:
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		watch.Wait()
	})
}
