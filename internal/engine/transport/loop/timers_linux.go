//go:build amd64 || arm64

package loop

import (
	"container/heap"
	"time"
)

// timers is a heap of connections, by when they are next looked at. A connection
// is in it once at most. Looking too early is cheap and looking too late is
// wrong, so a deadline that moves away leaves its entry where it is: a request
// that ends in time costs the heap nothing.
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

// arm makes the loop look at a connection at an offset of its clock, or earlier.
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

// disarm takes a connection out of the heap.
func (l *Loop) disarm(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.due != 0 {
		heap.Remove(&l.timers, c.slot)
	}
}

// expire looks at the connections whose time has come.
func (l *Loop) expire(now time.Duration) {
	for {
		l.mu.Lock()
		if len(l.timers) == 0 || l.timers[0].due > now {
			l.mu.Unlock()
			return
		}
		c := heap.Pop(&l.timers).(*Conn)
		l.mu.Unlock()
		c.Lock()
		if c.state != closed {
			c.handler.Expired(now)
		}
		c.Unlock()
	}
}
