//go:build amd64 || arm64

package transport

import (
	"testing"
	"testing/synctest"
)

// TestWorkers: functions that block do not hold up others, goroutines are kept for the next
// functions up to a limit, and all end when the workers are closed.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		release, ran := make(chan struct{}), make(chan int, maxIdleWorkers+2)
		for i := range maxIdleWorkers + 1 {
			w.run(func() { <-release; ran <- i })
		}
		w.run(func() { ran <- -1 })
		if first := <-ran; first != -1 {
			t.Errorf("function %d came first, want that which does not block", first)
		}
		close(release)
		synctest.Wait()
		if len(ran) != maxIdleWorkers+1 || len(w.idle) != maxIdleWorkers {
			t.Errorf("%d functions have run, %d workers are idle; want %d, %d",
				len(ran), len(w.idle), maxIdleWorkers+1, maxIdleWorkers)
		}
		w.run(func() {})
		synctest.Wait()
		if len(w.idle) != maxIdleWorkers {
			t.Errorf("%d workers are idle after another function, want %d", len(w.idle), maxIdleWorkers)
		}
		w.close()
		w.run(func() { ran <- 0 }) // runs, and is not kept; the bubble fails if a goroutine is left
		synctest.Wait()
		if len(ran) != maxIdleWorkers+2 {
			t.Error("a function was not run after the end")
		}
	})
}
