package front

// timerHeap is a queue of connections by due time, a binary heap. The zero value is
// empty.
type timerHeap struct{ items []timer }

type timer struct {
	at int64
	c  *conn // c.slot is the item's index
}

// push adds a connection or changes its time.
func (d *timerHeap) push(c *conn, at int64) {
	if c.slot < 0 {
		c.slot = len(d.items)
		d.items = append(d.items, timer{})
		d.up(c.slot, timer{at, c})
		return
	}
	i := c.slot
	if at < d.items[i].at {
		d.up(i, timer{at, c})
	} else {
		d.down(i, timer{at, c})
	}
}

// remove removes a connection if it is in the heap.
func (d *timerHeap) remove(c *conn) {
	i := c.slot
	if i < 0 {
		return
	}
	c.slot = -1
	last := len(d.items) - 1
	moved := d.items[last]
	d.items[last] = timer{}
	d.items = d.items[:last]
	if i == last {
		return
	}
	if i > 0 && moved.at < d.items[(i-1)/2].at {
		d.up(i, moved)
	} else {
		d.down(i, moved)
	}
}

// first returns the earliest item; ok is false if there is none.
func (d *timerHeap) first() (c *conn, at int64, ok bool) {
	if len(d.items) == 0 {
		return nil, 0, false
	}
	return d.items[0].c, d.items[0].at, true
}

// up puts x at i or above.
func (d *timerHeap) up(i int, x timer) {
	for i > 0 {
		parent := (i - 1) / 2
		if d.items[parent].at <= x.at {
			break
		}
		d.set(i, d.items[parent])
		i = parent
	}
	d.set(i, x)
}

// down puts x at i or below.
func (d *timerHeap) down(i int, x timer) {
	for {
		child := 2*i + 1
		if child >= len(d.items) {
			break
		}
		if child+1 < len(d.items) && d.items[child+1].at < d.items[child].at {
			child++
		}
		if x.at <= d.items[child].at {
			break
		}
		d.set(i, d.items[child])
		i = child
	}
	d.set(i, x)
}

func (d *timerHeap) set(i int, x timer) {
	d.items[i] = x
	x.c.slot = i
}
