package load

import (
	"sync/atomic"
	"time"
)

// group is a number of children that a turn of their parent waits for.
type group struct {
	left atomic.Int64
	last atomic.Int64  // offset; the latest end of a child
	done chan struct{} // closed when all children have ended
	idle *idleTree     // guarded by the guard of the phase: of who waits and is not at work; nil = nobody
}

// join is a group and the turn that waits for it.
type join struct {
	turn  int
	group *group
}

func newGroup(children int) *group {
	g := &group{done: make(chan struct{})}
	if g.left.Store(int64(children)); children == 0 {
		close(g.done)
	}
	return g
}

// countChildEnd counts the end of a child.
func (g *group) countChildEnd(at time.Duration, guard *idleGuard) {
	for {
		last := g.last.Load()
		if int64(at) <= last || g.last.CompareAndSwap(last, int64(at)) {
			break
		}
	}
	if g.left.Add(-1) == 0 {
		guard.wake(g)
		close(g.done)
	}
}
