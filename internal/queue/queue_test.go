package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// length is how long a task takes unless it is cancelled.
const length = 10 * time.Second

// bed has a queue and its store.
type bed struct {
	*Queue[*task]
	began time.Time

	mu    sync.Mutex
	runs  map[string]run.Run // guarded by mu; what is stored
	lines []string           // guarded by mu; what has happened, and when
	full  int                // guarded by mu; changes that the store refuses
}

// newBed returns the bed of a process that finds runs.
func newBed(found map[string]run.Run) *bed {
	b := &bed{began: time.Now(), runs: maps.Clone(found)}
	if b.runs == nil {
		b.runs = map[string]run.Run{}
	}
	var o Options[*task]
	o.Backing = Backing{Store: memory{bed: b}, Publisher: run.Publishers{}}
	o.Backing.Fault = func(id string, _ error) { b.note(id + " is not stored") }
	o.Max, o.MaxQueued = 1, 3
	o.Paused = func(context.Context) (bool, error) { return false, nil }
	o.Reopen = func(_ context.Context, r *run.Run) (*task, Fate, error) {
		if r.Cancelled != nil {
			return b.task(*r), Settled, nil
		}
		r.State = bench.StateQueued
		return b.task(*r), Queued, nil
	}
	b.Queue = New(o)
	return b
}

func (b *bed) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf("%v %s", time.Since(b.began), text))
}

// start runs the queue until its function is called.
func (b *bed) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Run(ctx, nil); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func (b *bed) task(r run.Run) *task {
	return &task{item: NewItem(b.Backing(), &r, Hooks{}), stopped: make(chan struct{}), bed: b}
}

func (b *bed) submit(t *testing.T, r run.Run) {
	t.Helper()
	r.State = bench.StateQueued
	if err := b.Submit(t.Context(), b.task(r), false, nil); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// stored returns the state of a run in the store.
func (b *bed) stored(id string) bench.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[id].State
}

// check compares what has happened.
func (b *bed) check(t *testing.T, want string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.Join(b.lines, "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// memory is a store in memory.
type memory struct {
	run.Store
	bed *bed
}

func (m memory) Put(_ context.Context, r *run.Run) error {
	m.bed.mu.Lock()
	defer m.bed.mu.Unlock()
	if m.bed.full > 0 {
		m.bed.full--
		return errors.New("no space left")
	}
	m.bed.runs[r.ID] = *r
	return nil
}

func (m memory) Get(_ context.Context, id string) (*run.Run, error) {
	m.bed.mu.Lock()
	defer m.bed.mu.Unlock()
	if r, ok := m.bed.runs[id]; ok {
		return &r, nil
	}
	return nil, run.ErrNotFound
}

func (m memory) List(_ context.Context, q run.Query) (page run.Page, err error) {
	m.bed.mu.Lock()
	defer m.bed.mu.Unlock()
	for _, r := range m.bed.runs {
		if slices.Contains(q.States, r.State) {
			page.Runs = append(page.Runs, r)
		}
	}
	return page, nil
}

// task is a task that notes what becomes of it.
type task struct {
	item    *Item
	stopped chan struct{}
	bed     *bed
}

func (k *task) Item() *Item { return k.item }

func (k *task) Execute(ctx context.Context) {
	k.item.Change(ctx, func(r *run.Run) { r.State, r.StartedAt = bench.StateRunning, new(time.Now()) })
	k.bed.note(k.item.ID() + " begins")
	select {
	case <-time.After(length):
		k.end(ctx, bench.StateCompleted)
	case <-k.stopped:
		k.end(ctx, bench.StateCancelled)
	case <-ctx.Done():
	}
}

func (k *task) end(ctx context.Context, s bench.State) {
	k.item.Change(ctx, func(r *run.Run) { r.State = s })
	k.bed.note(k.item.ID() + " is " + string(s))
}

func (k *task) Recover(ctx context.Context) bool {
	k.bed.mu.Lock()
	full := k.bed.full > 0
	k.bed.full = max(0, k.bed.full-1)
	k.bed.mu.Unlock()
	if !full {
		k.end(ctx, bench.StateFailed)
	}
	return !full
}

func (k *task) Cancel(ctx context.Context, c run.CancelRequest) bool {
	close(k.stopped)
	k.item.Stop(ctx, &c, true)
	return true
}

func (k *task) Dismiss(r *run.Run, _ run.CancelRequest) { r.State = bench.StateCancelled }

// Tasks begin by priority and submission; one that waits and has never begun is cancelled at
// once; one that is left waits for the next process, and nobody waits for it.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(nil)
		stop := b.start(t)
		b.submit(t, run.Run{ID: "1"})
		b.submit(t, run.Run{ID: "2"})
		b.submit(t, run.Run{ID: "3", Terms: run.Terms{Priority: 1}})
		b.submit(t, run.Run{ID: "4"})
		if err := b.Submit(t.Context(), b.task(run.Run{ID: "5"}), false, nil); !errors.Is(err, run.ErrQueueFull) {
			t.Errorf("Submit = %v, want %v", err, run.ErrQueueFull)
		}
		r, changed, err := b.Cancel(t.Context(), "2", run.CancelRequest{})
		if err != nil || !changed || r.State != bench.StateCancelled {
			t.Errorf("Cancel = %v, %v, %v", r, changed, err)
		}
		if r, err := b.Wait(t.Context(), "3"); err != nil || r.State != bench.StateCompleted {
			t.Errorf("Wait = %v, %v", r, err)
		}
		synctest.Wait()
		if err := b.Pause(true, nil); err != nil {
			t.Error(err)
		}
		b.submit(t, run.Run{ID: "6"})
		if r, err := b.Wait(t.Context(), "4"); err != nil || r.State != bench.StateCompleted {
			t.Errorf("Wait = %v, %v", r, err)
		}
		stop()
		if r, err := b.Wait(t.Context(), "6"); err != nil || r.State != bench.StateQueued {
			t.Errorf("Wait = %v, %v", r, err)
		}
		if err := b.Submit(t.Context(), b.task(run.Run{ID: "7"}), false, nil); !errors.Is(err, run.ErrStopping) {
			t.Errorf("Submit = %v, want %v", err, run.ErrStopping)
		}
		b.check(t, `
0s 1 begins
10s 1 is completed
10s 3 begins
20s 3 is completed
20s 4 begins
30s 4 is completed`)
	})
}

// What an earlier process left is ended first, in the place of others, as often as it takes.
// What has begun there and is cancelled while it waits is ended at once, also in a pause.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(map[string]run.Run{
			"1": {ID: "1", State: bench.StateStopping, Cancelled: &run.CancelRequest{}},
			"2": {ID: "2", State: bench.StateRunning, StartedAt: new(time.Now())},
			"3": {ID: "3", State: bench.StateQueued},
		})
		b.full = 1
		defer b.start(t)()
		time.Sleep(time.Second)
		if err := b.Pause(true, nil); err != nil {
			t.Error(err)
		}
		if _, changed, err := b.Cancel(t.Context(), "2", run.CancelRequest{}); err != nil || !changed {
			t.Errorf("Cancel = %v, %v", changed, err)
		}
		if r, err := b.Wait(t.Context(), "2"); err != nil || r.State != bench.StateCancelled {
			t.Errorf("Wait = %v, %v", r, err)
		}
		time.Sleep(time.Minute)
		b.check(t, `
1s 2 begins
1s 2 is cancelled
10s 1 is failed`)
	})
}

// An end that the store refuses stays in memory until it is stored.
func TestUnstored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(nil)
		defer b.start(t)()
		time.Sleep(time.Second) // so that the run does not end at the time of a tick
		b.submit(t, run.Run{ID: "1"})
		b.mu.Lock()
		b.full = 2
		b.mu.Unlock()
		time.Sleep(length + time.Second)
		r, err := b.Get(t.Context(), "1")
		if stored := b.stored("1"); err != nil || r.State != bench.StateCompleted || stored != bench.StateRunning {
			t.Errorf("Get = %v, %v; stored is %s", r, err, stored)
		}
		time.Sleep(2 * tickEvery)
		if _, ok := b.Find("1"); ok || b.stored("1") != bench.StateCompleted {
			t.Errorf("in memory: %v; stored is %s", ok, b.stored("1"))
		}
		b.check(t, `
1s 1 begins
11s 1 is not stored
11s 1 is completed
15s 1 is not stored`)
	})
}

// held is a store that takes a change when its gate opens.
type held struct {
	run.Store
	gate chan struct{}
}

func (h held) Put(context.Context, *run.Run) error {
	<-h.gate
	return nil
}

// TestChangeIsStoredBeforeSeen: who sees that a run has ended finds its end in the store.
func TestChangeIsStoredBeforeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := held{gate: make(chan struct{})}
		it := NewItem(&Backing{Store: store, Publisher: run.Publishers{}}, &run.Run{State: bench.StateExporting}, Hooks{})
		var change sync.WaitGroup
		change.Go(func() {
			it.Change(t.Context(), func(r *run.Run) { r.State = bench.StateCompleted })
		})
		synctest.Wait()
		if got := it.View().State; got != bench.StateExporting {
			t.Errorf("while the change is being stored, the state is %s, want %s", got, bench.StateExporting)
		}
		close(store.gate)
		change.Wait()
		if got := it.View().State; got != bench.StateCompleted {
			t.Errorf("after the change, the state is %s, want %s", got, bench.StateCompleted)
		}
	})
}
