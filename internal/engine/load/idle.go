package load

import (
	"container/heap"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
)

// idleGuard limits how long a phase does nothing: if no session is at work and the earliest one
// is due later than the limit, all that wait are due earlier by the same time, so that their
// distances stay. A session that waits for its time or for its children is not at work. A nil
// guard limits nothing.
type idleGuard struct {
	limit time.Duration
	clock bench.Clock

	mu      sync.Mutex
	working int           // guarded by mu; sessions at work; one more until the phase has started its lanes
	waits   idleWaits     // guarded by mu
	skipped time.Duration // guarded by mu; sum of the time that was left out
	jumps   int           // guarded by mu; how often time was left out
	moved   chan struct{} // guarded by mu; closed when the waits are moved, and replaced
}

// idleWait is a session that waits.
type idleWait struct {
	due time.Duration // if no time had been left out
	at  int           // index in the heap
}

func newIdleGuard(limit time.Duration, clock bench.Clock) *idleGuard {
	if limit <= 0 {
		return nil
	}
	return &idleGuard{limit: limit, clock: clock, working: 1, moved: make(chan struct{})}
}

// enter counts a session, or the phase, as at work.
func (g *idleGuard) enter() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working++
}

// leave counts a session, or the phase, as not at work any more.
func (g *idleGuard) leave() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest()
}

// rest is leave for a caller that holds mu. It moves the waits if nobody is at work.
func (g *idleGuard) rest() {
	g.working--
	if g.working > 0 || len(g.waits) == 0 {
		return
	}
	if idle := g.waits[0].due - g.skipped - g.clock.Now(); idle > g.limit {
		g.skipped += idle - g.limit
		g.jumps++
		close(g.moved)
		g.moved = make(chan struct{})
	}
}

// left returns how much time was left out so far, and how often.
func (g *idleGuard) left() (skipped time.Duration, jumps int) {
	if g == nil {
		return 0, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.skipped, g.jumps
}

// waitUntil waits until a session is due and returns when that was in the end; false = the
// phase was stopped before. The session is at work before and after.
func (g *idleGuard) waitUntil(due time.Duration, stopped <-chan struct{}) (at time.Duration, ok bool) {
	if due <= g.clock.Now() {
		return due, true
	}
	g.mu.Lock()
	w := &idleWait{due: due + g.skipped}
	heap.Push(&g.waits, w)
	g.rest()
	g.mu.Unlock()
	for {
		g.mu.Lock()
		at, moved := w.due-g.skipped, g.moved
		g.mu.Unlock()
		timer := time.NewTimer(at - g.clock.Now())
		select {
		case <-moved:
			timer.Stop()
			continue
		case <-timer.C:
			ok = true
		case <-stopped:
			timer.Stop()
		}
		g.mu.Lock()
		heap.Remove(&g.waits, w.at)
		g.working++
		g.mu.Unlock()
		return at, ok
	}
}

// awaitGroup waits until the children of a group have ended; false = the phase was stopped
// before. Who waits is not at work.
func (g *idleGuard) awaitGroup(children *group, stopped <-chan struct{}) bool {
	if g != nil {
		g.mu.Lock()
		if children.left.Load() > 0 {
			children.idle = true
			g.rest()
		}
		g.mu.Unlock()
	}
	select {
	case <-children.done:
		return true
	case <-stopped:
		g.wake(children)
		return false
	}
}

// wake counts who waits for a group as at work again, before the last child has ended.
func (g *idleGuard) wake(children *group) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if children.idle {
		children.idle = false
		g.working++
	}
}

// idleWaits is a heap of waits, the earliest on top.
type idleWaits []*idleWait

var _ heap.Interface = (*idleWaits)(nil)

func (w idleWaits) Len() int           { return len(w) }
func (w idleWaits) Less(i, j int) bool { return w[i].due < w[j].due }
func (w idleWaits) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *idleWaits) Push(x any) {
	one := x.(*idleWait)
	one.at = len(*w)
	*w = append(*w, one)
}

func (w *idleWaits) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
