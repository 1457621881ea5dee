package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// memSwitch is a switch that outlives engines.
type memSwitch struct {
	mu     sync.Mutex
	paused bool
	bad    error
}

func (s *memSwitch) Paused(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused, s.bad
}

func (s *memSwitch) SetPaused(_ context.Context, paused bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == nil {
		s.paused = paused
	}
	return s.bad
}

// termsBed is a server, and an engine that can be started again over the same store.
type termsBed struct {
	*bed
	pause memSwitch
	ln    *memnet.Listener
	max   int
}

// newTermsBed starts a server whose answers take two seconds, and an engine.
func newTermsBed(t *testing.T, maxRuns int) *termsBed {
	t.Helper()
	server, err := mock.New(mock.Options{TTFT: mock.ConstDelay(2 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	ln := memnet.Listen()
	web := &http.Server{Handler: server.Handler()}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(ln) })
	b := &termsBed{ln: ln, max: maxRuns, bed: &bed{t: t, store: &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}}}
	b.start()
	t.Cleanup(func() {
		b.stop()
		web.Close()
		serving.Wait()
		server.Close()
	})
	return b
}

// start starts an engine.
func (b *termsBed) start() {
	b.t.Helper()
	e, err := engine.New(engine.Options{
		Store: b.store, Switch: &b.pause, MaxRuns: b.max, Version: "test", Reference: reference, Dial: b.ln.DialContext,
		Load: config.LoadOptions{Choices: plan.Choices()}, Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}}, Log: zerolog.Nop(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := e.Run(ctx); err != nil {
			b.t.Errorf("engine: %v", err)
		}
	})
	b.engine = e
	b.stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	synctest.Wait()
}

// restart ends the engine, and starts another one.
func (b *termsBed) restart() {
	b.stop()
	b.start()
}

// terms returns a document with metadata whose run takes two seconds per request.
func terms(metadata, host string, requests int) string {
	return fmt.Sprintf("metadata: {%s}\n%s", metadata, strings.NewReplacer("http://mock", "http://"+host,
		"concurrency: 2, requests: 7", fmt.Sprintf("concurrency: 1, requests: %d", requests)).Replace(smallRun))
}

func (b *termsBed) update(id string, change func(*run.Run)) *run.Run {
	b.t.Helper()
	r, err := b.engine.Update(b.t.Context(), id, func(r *run.Run) error {
		change(r)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// Whatever is submitted, cancelled and changed, and whenever the process is restarted: the
// queue has the order of priority and submission, and the run that starts is its first.
func TestOrderOfStarts(t *testing.T) {
	seeds := uint64(12)
	if raceEnabled {
		seeds = 2 // the others run the same code
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			b, rng := newTermsBed(t, 1), rand.New(rand.NewPCG(seed, 1))
			queued := map[string]int{} // priority by id
			active, paused := "", false
			expected := func() []string {
				return slices.SortedFunc(func(yield func(string) bool) {
					for id := range queued {
						if !yield(id) {
							return
						}
					}
				}, func(x, y string) int { return cmp.Or(queued[y]-queued[x], cmp.Compare(x, y)) })
			}
			any := func() string {
				all := expected()
				return all[rng.IntN(len(all))]
			}
			for step := range 60 {
				switch op := rng.IntN(10); {
				case op < 4:
					priority := rng.IntN(5) - 2
					queued[b.submit(terms(fmt.Sprintf("priority: %d", priority), "mock", 1))] = priority
				case op == 4 && len(queued) > 0:
					id := any()
					if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{}); err != nil {
						t.Fatal(err)
					}
					delete(queued, id)
				case op == 5 && len(queued) > 0:
					id := any()
					queued[id] = rng.IntN(5) - 2
					b.update(id, func(r *run.Run) { r.Priority = queued[id] })
				case op == 6:
					paused = !paused
					if err := b.engine.Pause(t.Context(), paused); err != nil {
						t.Fatal(err)
					}
				case op == 7:
					b.restart()
					active = ""
				case active != "":
					b.wait(active)
					active = ""
				}
				synctest.Wait()
				if active == "" && !paused && len(queued) > 0 {
					active = expected()[0]
					delete(queued, active)
				}
				var running []string
				if active != "" {
					running = []string{active}
				}
				q := b.engine.Queue()
				if !slices.Equal(q.IDs, expected()) || !slices.Equal(q.Running, running) || q.Paused != paused {
					t.Fatalf("seed %d, step %d: queue %v, running %v, paused %v; want %v, %v, %v", seed, step, q.IDs, q.Running, q.Paused, expected(), running, paused)
				}
			}
		})
	}
}

// A run waits for its time, also over a restart and a step of the clock, and does not delay
// those behind it.
func TestStartAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTermsBed(t, 1)
		at := time.Now().Add(3 * time.Hour)
		later := b.submit(terms("priority: 9, startAfter: '"+at.Format(time.RFC3339)+"'", "mock", 1))
		if r := b.run(terms("", "mock", 1)); r.State != bench.StateCompleted {
			t.Errorf("the run behind it: %s", r.State)
		}
		r, err := b.engine.Get(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		q := b.engine.Queue()
		if got, want := q.Reason(r, time.Now()), "starts after "+at.UTC().Format(time.RFC3339); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		b.restart()
		r = b.wait(later)
		if late := r.StartedAt.Sub(at.Truncate(time.Second)); late < 0 || late > time.Second {
			t.Errorf("started %v after its time", late)
		}
	})
}

// A run that takes too long is stopped gracefully and fails, with its results.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTermsBed(t, 1)
		first := b.submit(terms("deadline: 9", "mock", 100))
		second := b.submit(terms("deadline: 30s", "mock", 2)) // it waits longer than that
		r := b.wait(first)
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.DeadlinePassed || r.Summary == nil || r.Summary.Requests < 3 || r.Summary.Requests > 5 {
			t.Errorf("too long: %s, %+v, %+v", r.State, r.Error, r.Summary)
		}
		if took := r.EndedAt.Sub(*r.StartedAt); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("it took %v", took)
		}
		if r := b.wait(second); r.State != bench.StateCompleted {
			t.Errorf("in time: %s %v", r.State, r.Error)
		}
		// Of a run that is cancelled, the deadline says nothing any more.
		third := b.submit(terms("deadline: 5", "mock", 100))
		synctest.Wait()
		if _, _, err := b.engine.Cancel(t.Context(), third, run.CancelRequest{}); err != nil {
			t.Fatal(err)
		}
		if r := b.wait(third); r.State != bench.StateCancelled {
			t.Errorf("cancelled: %s %v", r.State, r.Error)
		}
		// A deadline in the preparation, and a cancel by force after it.
		fourth := b.run(strings.Replace(terms("deadline: 3", "mock", 1), "{url: http://mock}", "{url: http://mock, waitForModelTimeout: 600, waitForModelMode: inference, path: /none}", 1))
		if fourth.State != bench.StateFailed || fourth.Error.Code != run.DeadlinePassed {
			t.Errorf("in its preparation: %s %+v", fourth.State, fourth.Error)
		}
		fifth := b.submit(terms("deadline: 9", "mock", 100))
		time.Sleep(9500 * time.Millisecond)
		if _, _, err := b.engine.Cancel(t.Context(), fifth, run.CancelRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		if r := b.wait(fifth); r.State != bench.StateFailed || r.Error.Code != run.DeadlinePassed {
			t.Errorf("by force after the deadline: %s %+v", r.State, r.Error)
		}
	})
}

// Runs against one server wait for each other, unless both allow the other; the others do
// not wait.
func TestSharedTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTermsBed(t, 3)
		const shared = "allowSharedTarget: true"
		first := b.submit(terms(shared, "a", 5))
		second := b.submit(terms("", "a", 1))
		third := b.submit(terms("", "b", 1))
		fourth := b.submit(terms(shared, "a", 5))
		synctest.Wait()
		q := b.engine.Queue()
		if !slices.Equal(q.Running, []string{first, third, fourth}) || !slices.Equal(q.IDs, []string{second}) {
			t.Fatalf("running %v, queued %v; of %v", q.Running, q.IDs, []string{first, second, third, fourth})
		}
		b.wait(third)
		synctest.Wait()
		q = b.engine.Queue()
		r, err := b.engine.Get(t.Context(), second)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := q.Reason(r, time.Now()), "waits for run "+first+", which uses the same server"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		one, two, last := b.wait(first), b.wait(fourth), b.wait(second)
		if last.StartedAt.Before(*one.EndedAt) || last.StartedAt.Before(*two.EndedAt) {
			t.Errorf("started at %v, before the others ended at %v and %v", last.StartedAt, one.EndedAt, two.EndedAt)
		}
	})
}

// An update reaches runs in every state, is durable, and changes nothing if it fails.
func TestUpdateRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTermsBed(t, 1)
		ids := []string{b.submit(terms("name: a", "mock", 3)), b.submit(terms("name: b", "mock", 1)), b.submit(terms("name: c", "mock", 1))}
		synctest.Wait()
		check := func(id, name string) {
			t.Helper()
			stored, err := b.store.Get(t.Context(), id)
			if err != nil || stored.Name != name {
				t.Errorf("the store has the name %q, %v; want %q", stored.Name, err, name)
			}
			shown, err := b.engine.Get(t.Context(), id)
			if err != nil || shown.Name != name || shown.Revision != stored.Revision {
				t.Errorf("the engine has the name %q and revision %d, %v; want %q and %d", shown.Name, shown.Revision, err, name, stored.Revision)
			}
		}
		for _, id := range ids[:2] { // active, queued
			r := b.update(id, func(r *run.Run) { r.Name, r.Pinned, r.TTL = "new", true, time.Hour })
			if r.ExpiresAt() != nil {
				t.Error("a run that has not ended has a time of expiry")
			}
			check(id, "new")
		}
		refused := errors.New("refused")
		if _, err := b.engine.Update(t.Context(), ids[0], func(r *run.Run) error { r.Name = "x"; return refused }); !errors.Is(err, refused) {
			t.Errorf("Update = %v, want %v", err, refused)
		}
		check(ids[0], "new")
		for _, id := range ids[:2] {
			r := b.wait(id)
			if r.Name != "new" || !r.Pinned || r.ExpiresAt().Sub(*r.EndedAt) != time.Hour {
				t.Errorf("at the end: %q, %+v", r.Name, r.Terms)
			}
		}
		b.wait(ids[2])
		b.restart()
		b.update(ids[0], func(r *run.Run) { r.Name = "later" }) // stored long ago
		check(ids[0], "later")
		if err := b.engine.Delete(t.Context(), ids[0], false); err != nil {
			t.Fatal(err)
		}
		if _, err := b.engine.Update(t.Context(), ids[0], func(*run.Run) error { return nil }); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Update of a deleted run = %v", err)
		}
	})
}

// A pause that cannot be stored does not happen.
func TestPauseUnstored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTermsBed(t, 1)
		b.pause.mu.Lock()
		b.pause.bad = errors.New("disk on fire")
		b.pause.mu.Unlock()
		if err := b.engine.Pause(t.Context(), true); !errors.Is(err, run.ErrStore) || b.engine.Queue().Paused {
			t.Errorf("Pause = %v, paused %v", err, b.engine.Queue().Paused)
		}
	})
}
