package engine_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// The end of the process ends active runs with their own grace period, which it bounds, and
// their results are written.
func TestStop(t *testing.T) {
	const never = "type: concurrency, concurrency: 1, requests: 100, duration: 3600"
	for _, tt := range []struct {
		name   string
		phases string
		before func(b *bed, id string)
		want   time.Duration
	}{
		{"the grace period of the phase", never + ", gracePeriod: 2", nil, 2 * time.Second},
		{"a long one is bounded", never + ", gracePeriod: 600", nil, 30 * time.Second},
		{"so is none", never, nil, 30 * time.Second},
		{"and that of an earlier cancel", never, func(b *bed, id string) {
			if _, changed, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{Grace: new(time.Hour)}); err != nil || !changed {
				t.Fatalf("Cancel = %v, %v; want a change", changed, err)
			}
			time.Sleep(time.Second) // its grace period has begun
		}, 35 * time.Second},
		{"a second signal aborts the requests", never, func(b *bed, _ string) {
			time.AfterFunc(3*time.Second, func() {
				if n := b.engine.CancelAll(); n != 1 {
					t.Errorf("CancelAll = %d, want 1", n)
				}
			})
		}, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, mock.Options{TTFT: mock.ConstDelay(20 * time.Minute)}, nil)
				id := b.submit(document(tt.phases, fileData))
				time.Sleep(5 * time.Second)
				if tt.before != nil {
					tt.before(b, id)
				}
				began := time.Now()
				b.end()
				if took := time.Since(began); took != tt.want {
					t.Errorf("the engine stopped after %v, want %v", took, tt.want)
				}
				r, err := b.store.Get(t.Context(), id)
				if err != nil || r.State != bench.StateCancelled || r.Summary == nil {
					t.Errorf("run %+v, %v; want a cancelled one with a summary", r, err)
				}
				if _, err := os.Stat(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON)); err != nil {
					t.Errorf("results: %v", err)
				}
				if h := b.engine.Health(); h.State != run.HealthStopping {
					t.Errorf("health %s, want stopping", h.State)
				}
			})
		})
	}
}

// While active runs end, the probes report it and no run is accepted.
func TestStopRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Hour)}, nil)
		doc := document("type: concurrency, concurrency: 1, requests: 1", fileData)
		b.submit(doc)
		waiting := b.submit(doc)
		time.Sleep(time.Second)
		ended := make(chan struct{})
		go func() {
			b.end()
			close(ended)
		}()
		time.Sleep(time.Second)
		if h := b.engine.Health(); h.State != run.HealthStopping {
			t.Errorf("health %s, want stopping", h.State)
		}
		if _, err := b.engine.Submit(t.Context(), parsed(t, doc), run.Submission{Via: "api"}); !errors.Is(err, run.ErrStopping) {
			t.Errorf("Submit = %v, want ErrStopping", err)
		}
		<-ended
		if r, err := b.store.Get(t.Context(), waiting); err != nil || r.State != bench.StateQueued {
			t.Errorf("the run in the queue is %v, %v; want queued", r, err)
		}
	})
}

// heldPut is a store whose Put does not return for runs that hold accepts.
type heldPut struct {
	*memStore
	hold    func(*run.Run) error // waits, or fails
	release chan struct{}
}

func (s *heldPut) Put(ctx context.Context, r *run.Run) error {
	if err := s.hold(r); err != nil {
		return err
	}
	return s.memStore.Put(ctx, r)
}

// held runs a test of an engine on a store that holds some changes.
func held(t *testing.T, change func(*engine.Options), hold func(s *heldPut, r *run.Run) error, test func(t *testing.T, s *heldPut, e *engine.Engine, stop func() error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := mock.New(mock.Options{TTFT: mock.ConstDelay(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		ln := memnet.Listen()
		web := &http.Server{Handler: server.Handler()}
		var all sync.WaitGroup
		all.Go(func() { web.Serve(ln) })
		s := &heldPut{memStore: &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}, release: make(chan struct{})}
		s.hold = func(r *run.Run) error { return hold(s, r) }
		o := engine.Options{Store: s, Version: "test", Dial: ln.DialContext, Log: zerolog.Nop(), Reference: reference,
			Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
		}
		change(&o)
		e, err := engine.New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		test(t, s, e, func() error {
			cancel()
			return <-ended
		})
		close(s.release)
		cancel()
		web.Close()
		all.Wait()
		server.Close()
		time.Sleep(time.Minute) // the run that was held writes its last files, which are then removed
	})
}

// A run that cannot end does not keep the process for ever.
func TestStopTimeout(t *testing.T) {
	held(t, func(o *engine.Options) { o.StopTimeout = 50 * time.Second }, func(s *heldPut, r *run.Run) error {
		if r.State == bench.StateExporting {
			<-s.release
		}
		return nil
	}, func(t *testing.T, _ *heldPut, e *engine.Engine, stop func() error) {
		r, err := e.Submit(t.Context(), parsed(t, document("type: concurrency, concurrency: 1, requests: 3", fileData)), run.Submission{Via: "api"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		began := time.Now()
		if err := stop(); err == nil || !strings.Contains(err.Error(), r.ID) || !strings.Contains(err.Error(), "after 50s") {
			t.Errorf("Run = %v, want an error that names the run", err)
		}
		if took := time.Since(began); took != 50*time.Second {
			t.Errorf("stopped after %v, want 50s", took)
		}
	})
}

// The scheduler has failed when its loop has not run for 30 s, and runs again when it does.
func TestWatchdogScheduler(t *testing.T) {
	failed := false
	held(t, func(*engine.Options) {}, func(s *heldPut, r *run.Run) error {
		if !r.State.Terminal() {
			return nil
		}
		if !failed { // the loop tries again
			failed = true
			return errors.New("disk full")
		}
		<-s.release
		return nil
	}, func(t *testing.T, s *heldPut, e *engine.Engine, stop func() error) {
		if _, err := e.Submit(t.Context(), parsed(t, document("type: concurrency, concurrency: 1, requests: 1", fileData)), run.Submission{Via: "api"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // it has hung for less
		if h := e.Health(); h.State != run.HealthRunning || h.Checks["scheduler"] != "ok" {
			t.Errorf("health %+v, want running", h)
		}
		time.Sleep(10 * time.Second)
		h := e.Health()
		if h.State != run.HealthFailed || !strings.HasPrefix(h.Checks["scheduler"], "the scheduler has not run for 3") {
			t.Errorf("health %+v, want failed", h)
		}
		s.release <- struct{}{}
		synctest.Wait()
		if h := e.Health(); h.State != run.HealthRunning || h.Checks["scheduler"] != "ok" {
			t.Errorf("health %+v, want running again", h)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// stuckWaiter does not return before it is released, whatever the time.
type stuckWaiter struct{ release chan struct{} }

func (w stuckWaiter) Until(_ time.Time, done <-chan struct{}) bool {
	select {
	case <-w.release:
		return true
	case <-done:
		return false
	}
}

func (stuckWaiter) Close() {}

// A phase whose arrivals are not taken has failed after a minute; one that waits for a slow
// server has not.
func TestWatchdogPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBedWith(t, mock.Options{TTFT: mock.ConstDelay(10 * time.Minute)}, nil, func(o *engine.Options) {
			o.Pacer = func() pace.Waiter { return stuckWaiter{release} }
		})
		id := b.submit(document("type: constant, rate: 1, requests: 2", fileData))
		time.Sleep(55 * time.Second)
		if h := b.engine.Health(); h.State != run.HealthRunning {
			t.Errorf("health %+v, want running", h)
		}
		time.Sleep(70 * time.Second)
		if h, want := b.engine.Health(), "phase profiling of run "+id+" has not run for "; h.State != run.HealthFailed || !strings.HasPrefix(h.Checks["scheduler"], want) {
			t.Errorf("health %+v, want failed with %q", h, want)
		}
		close(release)
		time.Sleep(5 * time.Minute) // the server is slow
		if h := b.engine.Health(); h.State != run.HealthRunning {
			t.Errorf("health %+v, want running again", h)
		}
		b.wait(id)
		b.stop()
	})
}
