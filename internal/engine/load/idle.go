package load

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// idleGuard limits how long a phase, and each tree of sessions, does nothing. If no session of a tree
// is at work and the earliest of them is due later than the limit of trees, all that wait in this tree
// are due earlier by the same time, so that their distances stay; then the same is done for the
// sessions of all trees with the limit of the phase. A session that waits for its time or for its
// children is not at work. A nil guard limits nothing.
type idleGuard struct {
	limit, treeLimit time.Duration // 0 = without limit
	clock            bench.Clock

	mu      sync.Mutex
	working int           // guarded by mu; sessions at work; one more until the phase has started its lanes
	waits   idleWaits     // guarded by mu
	all     leftOut       // guarded by mu; of all sessions at once
	trees   leftOut       // guarded by mu; of single trees, summed
	moved   chan struct{} // guarded by mu; closed when waits are moved, and replaced
}

// leftOut is time that was left out.
type leftOut struct {
	sum   time.Duration
	times int
}

func (l *leftOut) add(d time.Duration) {
	l.sum += d
	l.times++
}

// idleTree is a root session and its descendants. Its fields are guarded by the mutex of the guard.
type idleTree struct {
	working int         // sessions at work
	waits   []*idleWait // sessions that wait
	left    time.Duration
}

// idleWait is a session that waits.
type idleWait struct {
	tree *idleTree
	due  time.Duration // if no time of all sessions had been left out
	at   int           // index in the heap
}

func newIdleGuard(l *spec.Lanes, clock bench.Clock) *idleGuard {
	if l.Idle <= 0 && l.TreeIdle <= 0 {
		return nil
	}
	return &idleGuard{limit: l.Idle, treeLimit: l.TreeIdle, clock: clock, working: 1, moved: make(chan struct{})}
}

// newTree returns what is known of the sessions of a new tree.
func (g *idleGuard) newTree() *idleTree {
	if g == nil {
		return nil
	}
	return new(idleTree)
}

// enter counts a session of a tree as at work.
func (g *idleGuard) enter(t *idleTree) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working++
	t.working++
}

// leave counts a session of a tree as not at work any more.
func (g *idleGuard) leave(t *idleTree) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest(t)
}

// begun says that the phase has started its lanes.
func (g *idleGuard) begun() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working--
	g.moveAll()
}

// rest is leave for a caller that holds mu. It moves the waits if nobody is at work.
func (g *idleGuard) rest(t *idleTree) {
	g.working--
	t.working--
	if g.treeLimit > 0 && t.working == 0 {
		g.moveTree(t)
	}
	g.moveAll()
}

// moveTree moves the waits of a tree in which nobody is at work. Call with mu held.
func (g *idleGuard) moveTree(t *idleTree) {
	if len(t.waits) == 0 {
		return
	}
	first := slices.MinFunc(t.waits, func(a, b *idleWait) int { return cmp.Compare(a.due, b.due) })
	over := first.due - g.all.sum - g.clock.Now() - g.treeLimit
	if over <= 0 {
		return
	}
	for _, w := range t.waits {
		w.due -= over
		heap.Fix(&g.waits, w.at)
	}
	t.left += over
	g.trees.add(over)
	g.wakeWaits()
}

// moveAll moves all waits if nobody is at work. Call with mu held.
func (g *idleGuard) moveAll() {
	if g.limit <= 0 || g.working > 0 || len(g.waits) == 0 {
		return
	}
	if idle := g.waits[0].due - g.all.sum - g.clock.Now(); idle > g.limit {
		g.all.add(idle - g.limit)
		g.wakeWaits()
	}
}

// wakeWaits lets the sessions that wait look when they are due. Call with mu held.
func (g *idleGuard) wakeWaits() {
	close(g.moved)
	g.moved = make(chan struct{})
}

// left returns how much time was left out for a tree so far; nil = what was left out for all.
func (g *idleGuard) left(t *idleTree) time.Duration {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t == nil {
		return g.all.sum
	}
	return g.all.sum + t.left
}

// waitUntil waits until a session of a tree is due and returns when that was in the end; false = the
// phase was stopped before. The session is at work before and after.
func (g *idleGuard) waitUntil(t *idleTree, due time.Duration, stopped <-chan struct{}) (at time.Duration, ok bool) {
	if due <= g.clock.Now() {
		return due, true
	}
	g.mu.Lock()
	w := &idleWait{tree: t, due: due + g.all.sum}
	heap.Push(&g.waits, w)
	t.waits = append(t.waits, w)
	g.rest(t)
	g.mu.Unlock()
	for {
		g.mu.Lock()
		at, moved := w.due-g.all.sum, g.moved
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
		g.endWait(w)
		return at, ok
	}
}

// endWait counts a session that has waited as at work again.
func (g *idleGuard) endWait(w *idleWait) {
	g.mu.Lock()
	defer g.mu.Unlock()
	heap.Remove(&g.waits, w.at)
	t := w.tree
	t.waits = slices.DeleteFunc(t.waits, func(other *idleWait) bool { return other == w })
	g.working++
	t.working++
}

// awaitGroup waits until the children of a group have ended; false = the phase was stopped
// before. Who waits is not at work.
func (g *idleGuard) awaitGroup(t *idleTree, children *group, stopped <-chan struct{}) bool {
	if g != nil {
		g.mu.Lock()
		if children.left.Load() > 0 {
			children.idle = t
			g.rest(t)
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
	if t := children.idle; t != nil {
		children.idle = nil
		g.working++
		t.working++
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
