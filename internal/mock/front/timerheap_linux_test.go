package front

import (
	"math/rand/v2"
	"testing"
)

// TestTimerHeap compares the heap with a linear search.
func TestTimerHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var d timerHeap
	in := map[*conn]int64{}
	conns := make([]*conn, 50)
	for i := range conns {
		conns[i] = &conn{slot: -1}
	}
	for step := range 20_000 {
		c := conns[rng.IntN(len(conns))]
		if rng.IntN(3) == 0 {
			d.remove(c)
			delete(in, c)
		} else {
			in[c] = rng.Int64N(1000)
			d.push(c, in[c])
		}
		first, at, ok := d.first()
		if ok != (len(in) > 0) || len(d.items) != len(in) {
			t.Fatalf("step %d: first ok %v, %d items, want %d", step, ok, len(d.items), len(in))
		}
		if ok && in[first] != at {
			t.Fatalf("step %d: first is due at %d, was put in for %d", step, at, in[first])
		}
		for _, other := range in {
			if other < at {
				t.Fatalf("step %d: first is due at %d, another at %d", step, at, other)
			}
		}
	}
}
