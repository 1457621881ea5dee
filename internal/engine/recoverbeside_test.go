package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// attempts is the file that counts the recoveries of a run.
const attempts = ".recovery"

const smallRun = `
benchmark:
  model: m
  endpoint: {url: http://mock}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 2, requests: 7}]
`

// heldStore does not answer where the folder of one run is before it is released.
type heldStore struct {
	*memStore
	id   string
	held chan struct{}
}

func (s *heldStore) Dir(id string) string {
	if id == s.id {
		<-s.held
	}
	return s.memStore.Dir(id)
}

// crashed returns a store with a run of seven requests whose process died while it ran.
func crashed(t *testing.T) (*memStore, *run.Run) {
	t.Helper()
	b := newBed(t, mock.Options{}, nil)
	r := b.run(smallRun)
	b.stop()
	left := *r
	left.State, left.StateReason, left.Summary, left.EndedAt, left.Error = bench.StateRunning, "", nil, nil, nil
	if err := b.store.Put(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").JSON)); err != nil {
		t.Fatal(err)
	}
	return b.store, &left
}

// start runs an engine on a store. The returned function ends it.
func start(t *testing.T, o engine.Options) (*engine.Engine, func()) {
	t.Helper()
	o.Log, o.Version = zerolog.New(zerolog.NewTestWriter(t)), "test"
	o.Load = config.LoadOptions{Choices: plan.Choices()}
	o.Monitor = monitor.Options{Ticker: monitor.NewTimer, Host: still{}}
	o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	end := sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	t.Cleanup(end)
	return e, end
}

// TestRecoverBeside: the engine is ready, accepts runs and answers while the results of
// an interrupted run are computed; the next run starts after that.
func TestRecoverBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		store := &heldStore{memStore: mem, id: left.ID, held: make(chan struct{})}
		e, _ := start(t, engine.Options{Store: store})
		synctest.Wait()
		if h := e.Health(); h.State != run.HealthRunning || h.Recovering != 1 || h.Recovered != 0 || h.RecoveryRead != 0 {
			t.Errorf("health during the recovery is %+v, want %s and 1 run to recover", h, run.HealthRunning)
		}
		d, _, err := config.Load([]byte(smallRun), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		next, err := e.Submit(t.Context(), d, run.Submission{Via: "api"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for from, get := range map[string]func(context.Context, string) (*run.Run, error){"engine": e.Get, "store": mem.Get} {
			r, err := get(t.Context(), left.ID)
			if err != nil {
				t.Fatal(err)
			}
			if r.State != bench.StateExporting || !strings.HasPrefix(r.StateReason, "recovering: ") {
				t.Errorf("%s: the run is %s, %q; want it exporting with a reason", from, r.State, r.StateReason)
			}
		}
		if q := e.Queue(); !slices.Equal(q.Running, []string{left.ID}) || !slices.Equal(q.IDs, []string{next.ID}) {
			t.Errorf("queue during the recovery: running %v, queued %v", q.Running, q.IDs)
		}
		close(store.held)
		r, err := e.Wait(t.Context(), left.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != bench.StateFailed || r.Summary == nil || r.Summary.Requests != 7 {
			t.Errorf("the run is %s, summary %+v; want it failed, with 7 requests", r.State, r.Summary)
		}
		if r.EndedAt == nil || r.EndedAt.Before(*r.StartedAt) {
			t.Errorf("ended at %v, started at %v", r.EndedAt, r.StartedAt)
		}
		if r, err := e.Wait(t.Context(), next.ID); err != nil || r.StartedAt == nil {
			t.Errorf("the queued run after the recovery: %+v, %v; want it started", r, err)
		}
		records, err := os.Stat(filepath.Join(mem.Dir(left.ID), export.NamesFor("").Records))
		if err != nil {
			t.Fatal(err)
		}
		if h := e.Health(); h.Recovering != 0 || h.Recovered != 1 || h.RecoveryRead != records.Size() {
			t.Errorf("health after the recovery is %+v, want 1 run recovered from %d bytes", h, records.Size())
		}
		snap, err := e.Snapshot(t.Context(), left.ID)
		if err != nil {
			t.Fatal(err)
		}
		if h := snap.Phases[0].Counters.Histograms["request_latency"]; h == nil || h.Count() != 7 {
			t.Errorf("request_latency after the recovery is %v, want 7 values", h)
		}
	})
}

// TestRecoverStopped: the end of the process during a recovery is no failure, and the
// next process recovers the run.
func TestRecoverStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		store := &heldStore{memStore: mem, id: left.ID, held: make(chan struct{})}
		_, end := start(t, engine.Options{Store: store})
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			close(store.held)
		}()
		end()
		if r, err := mem.Get(t.Context(), left.ID); err != nil || r.State != bench.StateExporting {
			t.Fatalf("the run after a stop is %+v, %v; want it exporting", r, err)
		}
		if text, err := os.ReadFile(filepath.Join(mem.Dir(left.ID), attempts)); err == nil && string(text) != "0\n" {
			t.Errorf("a stop counts as an attempt: %q", text)
		}
		if r := restarted(t, mem, left.ID); r.State != bench.StateFailed || r.Summary == nil || r.Summary.Requests != 7 {
			t.Errorf("the run is %s, summary %+v; want it failed, with 7 requests", r.State, r.Summary)
		}
		if _, err := os.Stat(filepath.Join(mem.Dir(left.ID), attempts)); err == nil {
			t.Error("the count of attempts is still there")
		}
	})
}

// TestRecoverGivenUp: a run whose recovery has ended the process three times is given up.
func TestRecoverGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		if err := os.WriteFile(filepath.Join(mem.Dir(left.ID), attempts), []byte("3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := restarted(t, mem, left.ID)
		if r.State != bench.StateFailed || r.Summary != nil {
			t.Errorf("the run is %s, summary %+v; want it failed, without results", r.State, r.Summary)
		}
		if !slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool {
			return w.Code == "no-partial-results" && strings.Contains(w.Detail, "3 attempts")
		}) {
			t.Errorf("warnings %+v; want no-partial-results after 3 attempts", r.Warnings)
		}
	})
}

// TestRecoverCancelled: a recovery can be cancelled; the run ends without results.
func TestRecoverCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		store := &heldStore{memStore: mem, id: left.ID, held: make(chan struct{})}
		e, _ := start(t, engine.Options{Store: store})
		synctest.Wait()
		if _, changed, err := e.Cancel(t.Context(), left.ID, run.CancelRequest{}); !changed || err != nil {
			t.Fatalf("cancel: changed %v, %v", changed, err)
		}
		close(store.held)
		r, err := e.Wait(t.Context(), left.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != bench.StateFailed || r.Summary != nil || r.Error == nil || r.Error.Code != run.Interrupted {
			t.Errorf("the run is %s, %+v, summary %+v; want it failed without results", r.State, r.Error, r.Summary)
		}
	})
}

// TestClockSetBack: a system clock that is set back during a run and between processes
// changes neither the order of the runs nor the sign of their durations.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		back := time.Duration(0)
		wall := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(-back)
		}
		step := func() {
			mu.Lock()
			defer mu.Unlock()
			back += time.Hour
		}
		b := newBedWith(t, mock.Options{TTFT: mock.ConstDelay(time.Second)}, nil, func(o *engine.Options) { o.Wall = wall })
		first := b.submit(smallRun)
		second := b.submit(smallRun)
		time.Sleep(2500 * time.Millisecond)
		step()
		r := b.wait(first)
		if took := r.EndedAt.Sub(*r.StartedAt); took < time.Second || took > time.Minute {
			t.Errorf("a run of some seconds took %v", took)
		}
		third := b.submit(smallRun)
		if first >= second || second >= third {
			t.Errorf("ids are not in order: %s, %s, %s", first, second, third)
		}
		b.stop()

		// In the next process the clock is an hour back again.
		for _, id := range []string{second, third} {
			r, err := b.store.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r.State, r.StartedAt, r.EndedAt, r.Error = bench.StateQueued, nil, nil, nil
			if err := b.store.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		step()
		e, end := start(t, engine.Options{Store: b.store, Wall: wall})
		d, _, err := config.Load([]byte(smallRun), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		fourth, err := e.Submit(t.Context(), d, run.Submission{Via: "api"})
		if err != nil {
			t.Fatal(err)
		}
		if fourth.ID <= third {
			t.Errorf("the id after a restart, %s, is not greater than %s", fourth.ID, third)
		}
		q := e.Queue()
		if got := slices.Concat(q.Running, q.IDs); !slices.Equal(got, []string{second, third, fourth.ID}) {
			t.Errorf("order of the runs is %v, want %v", got, []string{second, third, fourth.ID})
		}
		r, err = e.Wait(t.Context(), second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(b.store.Dir(second), export.NamesFor("").JSON)); err != nil || r.Error == nil || r.Error.Code != run.NoSuccess {
			t.Errorf("the run of the earlier process ended with %+v; its files: %v", r.Error, err)
		}
		if r.StartedAt.Before(r.CreatedAt) || r.EndedAt.Before(*r.StartedAt) {
			t.Errorf("created at %v, started at %v, ended at %v", r.CreatedAt, r.StartedAt, r.EndedAt)
		}
		end()
	})
}

// TestRecoverCancelledRun: a run that was being cancelled when the process died ends as its
// cancel asked for, with the results that it has.
func TestRecoverCancelledRun(t *testing.T) {
	for name, c := range map[string]struct {
		request run.CancelRequest
		want    string
		lost    bool // the record file
	}{
		"by a user": {request: run.CancelRequest{Reason: "enough"}, want: "cancelled, no error: enough; the process ended before the run did, and the summary covers the requests that were recorded"},
		"without records": {
			request: run.CancelRequest{Reason: "enough"}, lost: true,
			want: "cancelled, no error: enough; the process ended before the run did, and there are no results",
		},
		"without a cause": {request: run.CancelRequest{Force: true}, want: "cancelled, no error: cancelled; the process ended before the run did, and the summary covers the requests that were recorded"},
		"by its deadline": {request: run.CancelRequest{Deadline: true}, want: "failed, deadline: the run had not ended 1m0s after its start (metadata.deadline)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem, left := crashed(t)
				left.Cancelled, left.State, left.Deadline = &c.request, bench.StateStopping, time.Minute
				if err := mem.Put(t.Context(), left); err != nil {
					t.Fatal(err)
				}
				if c.lost {
					if err := os.Remove(filepath.Join(mem.Dir(left.ID), export.NamesFor("").Records)); err != nil {
						t.Fatal(err)
					}
				}
				r := restarted(t, mem, left.ID)
				fault := "no error"
				if r.Error != nil {
					fault = string(r.Error.Code)
				}
				if got := fmt.Sprintf("%s, %s: %s", r.State, fault, r.StateReason); got != c.want {
					t.Errorf("the run is %s; want %s", got, c.want)
				}
				if recorded := r.Summary != nil && r.Summary.Requests > 0; recorded == c.lost {
					t.Errorf("summary %+v; the record file is lost: %v", r.Summary, c.lost)
				}
			})
		})
	}
}

// TestRecoverCellOfCancelled: a queued cell of a study that was cancelled does not start.
func TestRecoverCellOfCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		parent, child := *left, *left
		parent.ID, parent.State, parent.Study = strings.Repeat("a", 32), bench.StateStopping, &run.Study{Type: "grid"}
		parent.Cancelled = new(run.CancelRequest)
		child.State, child.StartedAt, child.Cell = bench.StateQueued, nil, &run.Cell{ParentID: parent.ID}
		for _, r := range []*run.Run{&parent, &child} {
			if err := mem.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		r := restarted(t, mem, child.ID)
		if r.State != bench.StateCancelled || r.StartedAt != nil {
			t.Errorf("the cell is %s, started %v; want it cancelled, and never started", r.State, r.StartedAt)
		}
	})
}

// TestCancelStored: the store has the request of a cancel when the cancel is answered, but
// not that of a process which ends.
func TestCancelStored(t *testing.T) {
	const long = `
benchmark:
  model: m
  endpoint: {url: http://mock}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 1, duration: 3600}]
`
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{}, nil)
		for _, by := range []string{"user", "process"} {
			id := b.submit(long)
			time.Sleep(5 * time.Second)
			if by == "user" {
				if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{Reason: "enough"}); err != nil {
					t.Fatal(err)
				}
			}
			if by == "process" {
				b.stop()
			}
			stored, err := b.store.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := stored.Cancelled != nil, by == "user"; got != want {
				t.Errorf("by the %s: stored request %+v", by, stored.Cancelled)
			}
			if by == "user" {
				b.wait(id)
			}
		}
	})
}

// failingStore fails its checks until it is mended.
type failingStore struct {
	*memStore
	fails atomic.Bool
}

func (s *failingStore) Ping(context.Context) error {
	if s.fails.Load() {
		return syscall.ENOSPC
	}
	return nil
}

// TestStoreFailsQueue: no run starts while the check of the store fails, also not at the
// start of the process.
func TestStoreFailsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		left.State, left.StartedAt = bench.StateQueued, nil
		if err := mem.Put(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		store := &failingStore{memStore: mem}
		store.fails.Store(true)
		e, _ := start(t, engine.Options{Store: store})
		time.Sleep(time.Hour)
		queue := e.Queue()
		if r, err := e.Get(t.Context(), left.ID); err != nil || r.State != bench.StateQueued {
			t.Errorf("the run is %s, %v; want it queued", r.State, err)
		}
		if got, want := queue.Reason(left, time.Now()), "waits until the data directory can be used"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		store.fails.Store(false)
		time.Sleep(11 * time.Second)
		if r, err := e.Get(t.Context(), left.ID); err != nil || r.StartedAt == nil {
			t.Errorf("the run is %s, %v; want it started", r.State, err)
		}
	})
}
