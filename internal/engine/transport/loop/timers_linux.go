//go:build amd64 || arm64

package loop

import (
	"container/heap"
	"time"
)

// timers is a heap of connections, ordered by when Expired is called next. A connection
// is in it at most once. Early calls are allowed, so an entry stays where it is when
// its deadline moves to a later time: a request that ends in time does not change the
// heap.
type timers []*Conn

var _ heap.Interface = (*timers)(nil)

// Len implements heap.Interface.
func (t timers) Len() int { return len(t) }

// Less implements heap.Interface.
func (t timers) Less(i, j int) bool { return t[i].due < t[j].due }

// Swap implements heap.Interface.
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = i, j
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	c := x.(*Conn)
	c.slot = len(*t)
	*t = append(*t, c)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := len(*t) - 1
	c := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	c.due = 0
	return c
}

// arm makes the loop call Expired at an offset of its clock, or earlier.
func (l *Loop) arm(c *Conn, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.due == 0:
		c.due = at
		heap.Push(&l.timers, c)
	case c.due <= at:
		return
	default:
		c.due = at
		heap.Fix(&l.timers, c.slot)
	}
	if at < l.sleepsUntil {
		l.wake()
	}
}

// disarm removes a connection from the heap.
func (l *Loop) disarm(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.due != 0 {
		heap.Remove(&l.timers, c.slot)
	}
}

// expire calls Expired of the connections that are due.
func (l *Loop) expire(now time.Duration) {
	for {
		l.mu.Lock()
		if len(l.timers) == 0 || l.timers[0].due > now {
			l.mu.Unlock()
			return
		}
		c := heap.Pop(&l.timers).(*Conn)
		l.mu.Unlock()
		c.expired(now)
	}
}

// expired calls Expired.
func (c *Conn) expired(now time.Duration) {
	c.Lock()
	defer c.Unlock()
	defer c.recoverPanic()
	if c.state != closed {
		c.handler.Expired(now)
	}
}
