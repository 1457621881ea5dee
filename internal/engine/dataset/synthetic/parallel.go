package synthetic

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls do for every i from 0 to n-1, on as many goroutines as there
// are processors, and waits for them. It returns the error of the lowest i that
// was found, or the context's.
func parallel(ctx context.Context, n int, do func(i int) error) error {
	var (
		next    atomic.Int64
		stopped atomic.Bool
		mu      sync.Mutex
		first   error
		at      = n
		wg      sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for !stopped.Load() && ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					stopped.Store(true)
					mu.Lock()
					if i < at {
						first, at = err, i
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}
