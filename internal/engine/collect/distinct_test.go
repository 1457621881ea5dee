package collect

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"aiperfd/internal/engine/bench"
)

// TestDistinctExact: up to three quarters of the largest table, the count is exact.
func TestDistinctExact(t *testing.T) {
	const values = distinctSlots / 4 * 3
	var d distinct
	for round := range 2 {
		for i := range uint64(values) {
			d.add(bench.Mix(i+1), uint32(i%7))
		}
		want := 0.0
		for i := range values {
			want += float64(i % 7)
		}
		if d.count() != values || d.sum() != want || d.zeros != 0 {
			t.Errorf("round %d: %v values with a weight of %v, %d zeros; want %d, %v, 0", round, d.count(), d.sum(), d.zeros, values, want)
		}
	}
}

// TestDistinctEstimate: of four million values, half of them twice, count and weight are
// within four standard errors, and the table takes no more memory.
func TestDistinctEstimate(t *testing.T) {
	const values = 4_000_000
	const standardError = 0.0023
	rng := rand.New(rand.NewPCG(1, 2))
	var d distinct
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range uint64(values) {
		d.add(bench.Mix(i+1), 100)
		if i%2 == 0 {
			d.add(bench.Mix(rng.Uint64N(i+1)+1), 100)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for what, ratio := range map[string]float64{"count": d.count() / values, "weight": d.sum() / (100 * values)} {
		if math.Abs(ratio-1) > 4*standardError {
			t.Errorf("estimated %s is %.4f of the true one, want within %.4f", what, ratio, 4*standardError)
		}
	}
	if d.used < distinctSlots/4*3/2*99/100 || len(d.hashes) != distinctSlots {
		t.Errorf("the sample has %d values in %d slots", d.used, len(d.hashes))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 7<<20 {
		t.Errorf("the table takes %d bytes", grown)
	}
}
