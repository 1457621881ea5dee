package engine_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// fullStore refuses changes of runs that have begun while it is full.
type fullStore struct {
	*memStore
	full atomic.Bool
}

func (s *fullStore) Put(ctx context.Context, r *run.Run) error {
	if s.full.Load() && r.State.Terminal() {
		return errors.New("no space left on device")
	}
	return s.memStore.Put(ctx, r)
}

// TestEndedRunsStayEnded: a run whose end the store refuses does not become active again
// when another one ends, and its end is stored once the store works.
func TestEndedRunsStayEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullStore{memStore: &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}}
		store.full.Store(true)
		e, _ := start(t, engine.Options{Store: store})
		var ids []string
		for range 3 {
			d, _, err := config.Load([]byte(smallRun), config.LoadOptions{Choices: plan.Choices()})
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Submit(t.Context(), d, run.Submission{Via: "api"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		for _, id := range ids {
			if _, err := e.Wait(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		active := []bench.State{bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting}
		if page, err := e.List(t.Context(), run.Query{States: active}); err != nil || len(page.Runs)+page.Total != 0 {
			t.Errorf("active runs: %+v, %v; want none", page, err)
		}
		for _, id := range ids {
			if r, err := e.Get(t.Context(), id); err != nil || r.State != bench.StateFailed {
				t.Errorf("run %s is %+v, %v; want it failed", id, r, err)
			}
			if _, _, err := e.Cancel(t.Context(), id, run.CancelRequest{}); !errors.Is(err, run.ErrAlreadyFinished) {
				t.Errorf("cancel = %v, want %v", err, run.ErrAlreadyFinished)
			}
		}
		store.full.Store(false)
		time.Sleep(time.Minute)
		for _, id := range ids {
			if r, err := store.Get(t.Context(), id); err != nil || r.State != bench.StateFailed {
				t.Errorf("stored run %s is %+v, %v; want it failed", id, r, err)
			}
		}
	})
}

// fillingStore passes its first check and fails the others.
type fillingStore struct {
	*fullStore
	checked atomic.Bool
}

func (s *fillingStore) Ping(context.Context) error {
	if s.checked.Swap(true) {
		return errors.New("no space left on device")
	}
	return nil
}

// TestStoreFaultsLogged: a store that refuses the ends of runs again and again is one error
// in the log.
func TestStoreFaultsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &fillingStore{fullStore: &fullStore{memStore: &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}}}
		full.full.Store(true)
		var log bytes.Buffer
		e, err := engine.New(engine.Options{
			Store: full, MaxRuns: 3, Log: zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel),
			Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
			Dial:    func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = e.Run(ctx) })
		for _, host := range []string{"http://a", "http://b", "http://c"} {
			document := strings.Replace(smallRun, "http://mock", host, 1)
			d, _, err := config.Load([]byte(document), config.LoadOptions{Choices: plan.Choices()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Submit(t.Context(), d, run.Submission{Via: "api"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(50 * time.Second)
		cancel()
		group.Wait()
		if n := strings.Count(log.String(), `"level":"error"`); n != 1 {
			t.Errorf("%d errors in the log, want 1:\n%s", n, &log)
		}
	})
}
