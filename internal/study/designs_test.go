package study

import (
	"slices"
	"testing"
	"time"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/paired"
)

// planned is a plan with an arrival each second.
func planned(n int) func(yield func(time.Duration) bool) {
	return func(yield func(time.Duration) bool) {
		for i := range n {
			if !yield(time.Duration(i) * time.Second) {
				return
			}
		}
	}
}

// never is a phase that does not end.
func never() <-chan struct{} { return nil }

// TestSplit: of each four arrivals two go to either side, in all six orders alike, and first says who has the n-th
// pair first.
func TestSplit(t *testing.T) {
	const groups = 6000
	tw := newTwins(3, 0, sweep.Split, paired.Rules{Block: time.Second})
	a := slices.Collect(twin{tw, paired.A}.Arrivals(planned(4*groups), nil, never))
	b := slices.Collect(twin{tw, paired.B}.Arrivals(planned(4*groups), nil, never))
	if len(a) != 2*groups || len(b) != 2*groups {
		t.Fatalf("%d arrivals at A and %d at B, want %d each", len(a), len(b), 2*groups)
	}
	orders := map[[2]time.Duration]int{}
	for n := range a {
		want := paired.A
		if b[n] < a[n] {
			want = paired.B
		}
		if got := tw.design.first(int64(n)); got != want || a[n] == b[n] {
			t.Fatalf("pair %d: A at %v, B at %v, first = %v", n, a[n], b[n], got)
		}
		if group := time.Duration(n/2) * 4 * time.Second; a[n]/(4*time.Second) != b[n]/(4*time.Second) || a[n] < group {
			t.Fatalf("pair %d: A at %v, B at %v", n, a[n], b[n])
		} else if n%2 == 1 {
			orders[[2]time.Duration{a[n-1] - group, a[n] - group}]++
		}
	}
	for order, n := range orders {
		if len(orders) != 6 || n < groups/6*9/10 || n > groups/6*11/10 {
			t.Errorf("the arrivals %v of a group went to A in %d of %d groups; %d orders", order, n, groups, len(orders))
		}
	}
}

// TestMirror: all arrivals go to both sides, a coin says to which first, and their order stays.
func TestMirror(t *testing.T) {
	tw := newTwins(3, 0, sweep.Mirror, paired.Rules{Block: time.Second})
	a := slices.Collect(twin{tw, paired.A}.Arrivals(planned(1000), nil, never))
	b := slices.Collect(twin{tw, paired.B}.Arrivals(planned(1000), nil, never))
	first := 0
	for n := range a {
		switch d := b[n] - a[n]; {
		case d == secondAfter && tw.design.first(int64(n)) == paired.A:
			first++
		case d == -secondAfter && tw.design.first(int64(n)) == paired.B:
		default:
			t.Fatalf("pair %d: A at %v, B at %v", n, a[n], b[n])
		}
	}
	if first < 450 || first > 550 {
		t.Errorf("A was first in %d of 1000 pairs", first)
	}
}
