package lane

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
)

// weights draws the weights of some load generators, of which one at least has work.
func weights(t *rapid.T) []float64 {
	w := rapid.SliceOfN(rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(0, 100)), 1, 40).Draw(t, "weights")
	w[0] += 0.5
	return w
}

// Every lane belongs to one load generator, and no generator has a lane more or less than its quota.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := weights(t)
		total := 0.0
		for _, x := range w {
			total += x
		}
		owners := make([]int, Count)
		for i, set := range Divide(w) {
			for lane := range Count {
				if set.Has(uint16(lane)) {
					owners[lane]++
				}
			}
			if quota := Count * w[i] / total; math.Abs(float64(set.Len())-quota) > 1 {
				t.Errorf("weight %v of %v: %d lanes, its quota is %v", w[i], w, set.Len(), quota)
			}
		}
		if n := slices.IndexFunc(owners, func(n int) bool { return n != 1 }); n >= 0 {
			t.Errorf("weights %v: lane %d has %d owners", w, n, owners[n])
		}
	})
}

func TestApportion(t *testing.T) {
	tests := []struct {
		n       int
		weights []float64
		want    []int
	}{
		{10, []float64{1, 1, 1}, []int{4, 3, 3}},
		{2, []float64{1, 1, 1}, []int{1, 1, 0}},
		{7, []float64{1, 2, 4}, []int{1, 2, 4}},
		{5, []float64{0, 1}, []int{0, 5}},
		{10, []float64{0.3, 0.3, 0.4}, []int{3, 3, 4}},
		{100, []float64{5, 3, 2.5}, []int{48, 28, 24}}, // remainders .62, .57, .81
		{0, []float64{1, 2}, []int{0, 0}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Apportion(tt.n, tt.weights)); diff != "" {
			t.Errorf("%d by %v (-want +got):\n%s", tt.n, tt.weights, diff)
		}
	}
}

// Slots are dealt out so that at each moment of a ramp every load generator is within two slots of its part.
func TestDeal(t *testing.T) {
	if got, want := Deal(6, []float64{1, 2}), []int{1, 0, 1, 1, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("6 slots by 1 to 2: %v, want %v", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		w, n := weights(t), rapid.IntRange(0, 500).Draw(t, "slots")
		quota, given := Apportion(n, w), make([]int, len(w))
		for slot, owner := range Deal(n, w) {
			given[owner]++
			for i := range w {
				part := float64(quota[i]) * float64(slot+1) / float64(n)
				if math.Abs(float64(given[i])-part) > 2 {
					t.Errorf("weights %v: after slot %d of %d, generator %d has %d slots, its part is %v", w, slot, n, i, given[i], part)
				}
			}
		}
		if !slices.Equal(given, quota) {
			t.Errorf("weights %v: %v slots, want %v", w, given, quota)
		}
	})
}

// The lanes of sessions are uniform, whatever the seed: chi-squared with 63 degrees of freedom, in 64 classes of lanes
// that follow each other, stays below its quantile of 1 - 1e-6.
func TestLanesAreUniform(t *testing.T) {
	const sessions, classes, limit = 1 << 18, 64, 131.0
	for seed := range bench.Seed(20) {
		lanes := New(seed)
		var seen [classes]float64
		for n := range int64(sessions) {
			seen[lanes.Of(n)/(Count/classes)]++
		}
		chi := 0.0
		for _, n := range seen {
			chi += (n - sessions/classes) * (n - sessions/classes) / (sessions / classes)
		}
		if chi > limit {
			t.Errorf("seed %d: chi-squared is %.1f, want at most %v", seed, chi, limit)
		}
	}
}

// The lanes of the first sessions are the same in every version: a run may be repeated.
func TestLanesGolden(t *testing.T) {
	lanes := New(42)
	var got []uint16
	for n := range int64(6) {
		got = append(got, lanes.Of(n))
	}
	want := []uint16{52274, 22484, 47405, 19995, 60661, 54767}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes of seed 42 (-want +got):\n%s", diff)
	}
}

func BenchmarkOwns(b *testing.B) {
	share := New(1).Share(Divide([]float64{1})[0], nil)
	for n := range b.N {
		_ = share.Owns(int64(n))
	}
}
