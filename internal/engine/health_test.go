package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/run"
)

// sickStore is a store whose checks fail or hang.
type sickStore struct {
	*memStore
	fault atomic.Pointer[error]
	hang  chan struct{} // a check waits until it is closed
}

func (s *sickStore) Ping(ctx context.Context) error {
	<-s.hang // whatever ctx says
	if e := s.fault.Load(); e != nil {
		return *e
	}
	return ctx.Err()
}

// sick is a test of an engine on a sick store.
type sick struct {
	*sickStore
	engine *engine.Engine
	at     func(after time.Duration, state, store string) // checks the health after a time
	stop   func()
}

// withSickStore runs a test of an engine on a sick store in virtual time.
func withSickStore(t *testing.T, test func(s *sick)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &sick{sickStore: &sickStore{memStore: &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}, hang: make(chan struct{})}}
		e, err := engine.New(engine.Options{Store: s.sickStore, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Errorf("engine: %v", err)
			}
		})
		s.engine = e
		s.stop = func() {
			cancel()
			running.Wait()
		}
		s.at = func(after time.Duration, state, store string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if h := e.Health(); h.State != state || h.Checks["store"] != store {
				t.Errorf("health = %s, store %q; want %s, store %q", h.State, h.Checks["store"], state, store)
			}
		}
		test(s)
	})
}

// The state follows the store: failed once it has not worked for a minute, and running
// again when it works.
func TestHealthOfStore(t *testing.T) {
	withSickStore(t, func(s *sick) {
		close(s.hang)
		s.at(11*time.Second, run.HealthRunning, "ok")
		full := errors.New("disk full")
		s.fault.Store(&full)
		s.at(10*time.Second, run.HealthRunning, "disk full")
		s.at(50*time.Second, run.HealthRunning, "disk full")
		s.at(10*time.Second, run.HealthFailed, "disk full")
		s.fault.Store(nil)
		s.at(10*time.Second, run.HealthRunning, "ok")
		s.fault.Store(&full)
		s.at(30*time.Second, run.HealthRunning, "disk full") // the minute begins anew
		s.fault.Store(nil)
		s.at(10*time.Second, run.HealthRunning, "ok")
		s.fault.Store(&full)
		s.at(90*time.Second, run.HealthFailed, "disk full")
		s.stop()
		s.at(0, run.HealthStopping, "disk full")
		s.fault.Store(nil)
		s.at(30*time.Second, run.HealthStopping, "disk full")
	})
}

func TestHealthOfHangingStore(t *testing.T) {
	withSickStore(t, func(s *sick) {
		s.at(25*time.Second, run.HealthRunning, "the data directory does not answer")
		s.at(60*time.Second, run.HealthFailed, "the data directory does not answer")
		close(s.hang)
		s.at(10*time.Second, run.HealthRunning, "ok")
		s.stop()
	})
}

// The state of a service for one run that has failed stays, whatever the store does.
func TestHealthOfFailedRun(t *testing.T) {
	withSickStore(t, func(s *sick) {
		close(s.hang)
		full := errors.New("disk full")
		s.fault.Store(&full)
		s.at(11*time.Second, run.HealthRunning, "disk full")
		s.engine.Finish(true)
		s.fault.Store(nil)
		s.at(11*time.Second, run.HealthFailed, "ok")
		s.stop()
		s.at(0, run.HealthFailed, "ok")
	})
}
