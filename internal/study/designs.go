package study

import (
	"context"
	"fmt"
	"iter"
	"sort"
	"sync"
	"time"

	"aiperfd/internal/study/paired"
	"aiperfd/internal/view"
)

// secondAfter is by how much later a request is due at the side that comes second in a mirror.
const secondAfter = 250 * time.Microsecond

// mirror sends every arrival to both sides at the same time, first to the one that a coin says.
type mirror struct{ *twins }

var _ design = mirror{}

func (m mirror) first(n int64) paired.Side { return m.coin(n) }

func (mirror) share() float64 { return 1 }

func (m mirror) arrivals(
	side paired.Side, plan iter.Seq[time.Duration], _ canary, _ func() <-chan struct{},
) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var n int64
		var last time.Duration
		for at := range plan {
			if m.first(n) != side {
				at += secondAfter
			}
			last = max(last, at) // arrivals keep their order
			if !yield(last) {
				return
			}
			n++
		}
	}
}

// split sends two of each four arrivals to one side and two to the other. The n-th request of both sides has the same
// prompt, and they are a pair.
type split struct{ *twins }

var _ design = split{}

// splits are the ways to choose two of four arrivals for A, a bit each.
var splits = [...]uint8{0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100}

// ofA returns which of the arrivals of a group of four are for A.
func (s split) ofA(group int64) uint8 { return splits[s.hash(group)%uint64(len(splits))] }

// first returns the side of the earlier one of two arrivals: in each prefix of a group that ends with the (n+1)-th
// arrival of one side, the other one has fewer.
func (s split) first(n int64) paired.Side {
	var count [2]int64
	for bits := s.ofA(n / 2); ; bits >>= 1 {
		side := paired.B
		if bits&1 == 1 {
			side = paired.A
		}
		if count[side]++; count[side] > n%2 {
			return side
		}
	}
}

func (split) share() float64 { return 0.5 }

func (s split) arrivals(
	side paired.Side, plan iter.Seq[time.Duration], _ canary, _ func() <-chan struct{},
) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var n int64
		for at := range plan {
			mine := s.ofA(n/4)>>(n%4)&1 == 1
			if n++; mine == (side == paired.A) && !yield(at) {
				return
			}
		}
	}
}

// The times between two turns of a crossover.
const (
	// turnRest is how long the servers are idle before a turn.
	turnRest = time.Second
	// drainPatience is how long a turn waits for the requests of the one before.
	drainPatience = 2 * time.Minute
)

// crossover sends the arrivals of a block of the plan to one side and then the same ones to the other, which waits
// until the requests of the first one have ended. A coin says which side has the first turn of a block. Turns are
// numbered from 0, two for each block with arrivals.
type crossover struct {
	*twins
	block time.Duration

	firsts  []int64         // guarded by mu; the number of the first pair of each block
	starts  []time.Duration // guarded by mu; of the turns that are known, since the start of the phase
	sent    [2]int64        // guarded by mu; arrivals that a side has been given
	ended   [2]int64        // guarded by mu; requests of a side that have ended
	waits   [2]int64        // guarded by mu; the block in which a side waits for its turn; -1 = it has not begun
	since   [2]time.Time    // guarded by mu; when it began to wait
	hurried int             // guarded by mu; turns that began although requests of the other side had not ended
	busy    int             // guarded by mu; turns that began although the server answered more slowly than an idle one
	idle    [2]idleness     // each used by its side alone
}

var _ design = (*crossover)(nil)

// blockOf returns the block of the n-th pair. Call it with mu held.
func (c *crossover) blockOf(n int64) int64 {
	return int64(sort.Search(len(c.firsts), func(k int) bool { return c.firsts[k] > n })) - 1
}

func (c *crossover) first(n int64) paired.Side { return c.coin(c.blockOf(n)) }

func (*crossover) share() float64 { return 0 }

// taken says that a request of a side has ended. Call it with mu held.
func (c *crossover) taken(side paired.Side) {
	if c.ended[side]++; c.ended[side] == c.sent[side] {
		c.notify()
	}
}

func (c *crossover) arrivals(
	side paired.Side, plan iter.Seq[time.Duration], canary canary, over func() <-chan struct{},
) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		block := int64(-1) // of those with arrivals
		span := int64(-1)  // of the plan
		var begin time.Duration
		for at := range plan {
			if now := int64(at / c.block); now != span {
				span = now
				block++
				ok := false
				if begin, ok = c.await(side, block, canary, over()); !ok {
					return
				}
			}
			c.mu.Lock()
			c.sent[side]++
			c.mu.Unlock()
			if !yield(begin + at - time.Duration(span)*c.block) {
				return
			}
		}
	}
}

// await waits until the turn of a side in a block comes, and returns when it begins; ok is false if over is closed
// before.
func (c *crossover) await(
	side paired.Side, block int64, canary canary, over <-chan struct{},
) (begin time.Duration, ok bool) {
	patience := time.NewTimer(drainPatience)
	defer patience.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(c.firsts)) == block {
		c.firsts = append(c.firsts, c.sent[side])
	}
	c.waits[side], c.since[side] = block, time.Now()
	c.notify()
	turn := 2 * block
	if c.coin(block) != side {
		turn++
	}
	for int64(len(c.starts)) < turn || !c.turnOver() {
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-patience.C:
			patience.Reset(drainPatience)
		case <-over:
			c.mu.Lock()
			return 0, false
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
	settled := settle(&c.idle[side], canary, over)
	c.mu.Lock()
	if !settled {
		c.busy++
	}
	begin = time.Since(c.start) + turnRest
	if turn > 0 {
		begin = max(begin, c.starts[turn-1]+c.block+turnRest)
	}
	c.starts = append(c.starts, begin)
	c.notify()
	return begin, true
}

// settle waits until the server of a side is idle, and reports whether it is. It returns early if over is closed.
func settle(i *idleness, canary canary, over <-chan struct{}) bool {
	ctx, stop := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer stop()
	waiting.Go(func() {
		select {
		case <-over:
			stop()
		case <-ctx.Done():
		}
	})
	return i.settle(ctx, canary, drainPatience)
}

// turnOver reports whether the newest turn is over: the side has been given all of its arrivals, and their requests have
// ended, or are not waited for any more. Call it with mu held.
func (c *crossover) turnOver() bool {
	last := int64(len(c.starts)) - 1
	if last < 0 {
		return true
	}
	block := last / 2
	side := c.coin(block)
	if last%2 == 1 {
		side = side.Other()
	}
	if c.waits[side] <= block {
		return false
	}
	if c.ended[side] < c.sent[side] {
		if time.Since(c.since[side]) < drainPatience {
			return false
		}
		c.hurried++
	}
	return true
}

// notIdle are the doubts about turns whose server was not idle before. Call it with mu held.
func notIdle(c *crossover) (out []paired.Doubt) {
	for _, d := range []struct {
		turns int
		text  string
	}{
		{c.hurried, "%s began although requests of the other side had not ended after %v"},
		{c.busy, "%s began although the server answered a short request more slowly than when it was idle, " +
			"after %v of waiting"},
	} {
		if d.turns > 0 {
			text := fmt.Sprintf(d.text, view.Plural(d.turns, "turn"), drainPatience)
			out = append(out, paired.Doubt{Code: "not-idle", Message: text})
		}
	}
	return out
}
