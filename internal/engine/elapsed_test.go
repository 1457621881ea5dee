package engine_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// The elapsed time of a run starts with its first phase, not with its second.
func TestElapsedInTheFirstPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
		id := b.submit(document("type: concurrency, concurrency: 1, requests: 100", fileData))
		time.Sleep(3100 * time.Millisecond)
		snap, err := b.engine.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Phases) != 1 || snap.Elapsed < 2800*time.Millisecond || snap.Elapsed > 3100*time.Millisecond {
			t.Errorf("after 3.1 s: %d phases, elapsed %v, want 1 and about 3s", len(snap.Phases), snap.Elapsed)
		}
		b.wait(id)
		b.stop()
	})
}
