//go:build amd64 || arm64

package transport

import "sync"

// maxIdleWorkers is how many goroutines are kept. More are rarely needed at a time, because
// each works for some microseconds.
const maxIdleWorkers = 256

// workers run functions in goroutines that are kept for the next ones: the stack of a new
// goroutine would have to grow for each of them. The one that became idle last works first.
type workers struct {
	mu     sync.Mutex
	idle   []chan func() // guarded by mu; each has room for one function
	closed bool          // guarded by mu
}

// run runs f in another goroutine. It does not block.
func (w *workers) run(f func()) {
	w.mu.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mu.Unlock()
		go w.work(f)
		return
	}
	next := w.idle[last]
	w.idle = w.idle[:last]
	w.mu.Unlock()
	next <- f
}

// work runs f, and what comes after it until the workers are closed or enough others are idle.
func (w *workers) work(f func()) {
	next := make(chan func(), 1)
	for ; f != nil; f = <-next {
		f()
		if !w.rest(next) {
			return
		}
	}
}

// rest makes a worker idle; false = it is not needed.
func (w *workers) rest(next chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) == maxIdleWorkers {
		return false
	}
	w.idle = append(w.idle, next)
	return true
}

// close ends the idle workers; those that work end after that.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, next := range w.idle {
		close(next)
	}
	w.idle = nil
}
