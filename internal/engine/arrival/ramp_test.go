package arrival

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/stat"
)

func TestSteps(t *testing.T) {
	const s = time.Second
	tests := []struct {
		ramp   Ramp
		target int
		want   []time.Duration
	}{
		{Ramp{}, 3, []time.Duration{0, 0, 0}},
		{Ramp{Duration: 8 * s}, 1, []time.Duration{0}},
		{Ramp{Duration: 8 * s}, 5, []time.Duration{0, 2 * s, 4 * s, 6 * s, 8 * s}},
		{Ramp{Duration: 3 * s, Strategy: ExponentialRamp}, 8, []time.Duration{
			0, s, 1_584962501, 2 * s, 2_321928095, 2_584962501, 2_807354922, 3 * s,
		}},
		{Ramp{Duration: 10 * s, Strategy: PoissonRamp, Seed: 1}, 1, []time.Duration{0}},
		{Ramp{Duration: 10 * s, Strategy: PoissonRamp, Seed: 1}, 2, []time.Duration{0, 10 * s}},
		{Ramp{Duration: s}, 0, nil},
	}
	for _, tt := range tests {
		got := slices.Collect(tt.ramp.Steps(tt.target))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v to %d (-want +got):\n%s", tt.ramp, tt.target, diff)
		}
	}
}

// Every ramp begins at 0, never goes back and ends at its duration.
func TestStepsAreOrdered(t *testing.T) {
	for i, name := range RampStrategies() {
		for _, target := range []int{2, 3, 100, 10_000} {
			r := Ramp{Duration: 30 * time.Second, Strategy: RampStrategy(i), Seed: 7}
			got := slices.Collect(r.Steps(target))
			if len(got) != target || got[0] != 0 || got[target-1] != r.Duration || !slices.IsSorted(got) {
				t.Errorf("%s to %d: %d steps from %v to %v, sorted %t", name, target, len(got), got[0], got[len(got)-1], slices.IsSorted(got))
			}
			if again := slices.Collect(r.Steps(target)); !slices.Equal(got, again) {
				t.Errorf("%s to %d: the second iteration differs", name, target)
			}
		}
	}
}

// All times of a Poisson ramp but the last are uniform over the duration, as those of a
// Poisson process with a known number of events.
func TestPoissonTimesAreUniform(t *testing.T) {
	const seeds, n = 100, 500
	rejected := 0
	for seed := range bench.Seed(seeds) {
		times := Ramp{Seed: seed}.Times(n)
		all := make([]float64, 0, n-1)
		for range n - 1 {
			all = append(all, times())
		}
		if last := times(); last != 1 {
			t.Fatalf("seed %d: the last time is %v, want 1", seed, last)
		}
		if _, p := stat.AndersonDarling(all, func(x float64) float64 { return x }); p < 0.05 {
			rejected++
		}
	}
	// 5 of 100 are expected; more than 12 have a probability below 0.2 %.
	if rejected > 12 {
		t.Errorf("%d of %d seeds are rejected at 5 %%", rejected, seeds)
	}
}

// The area below a limit that rises is the mean number of slots times the duration.
func TestArea(t *testing.T) {
	const target, d = 1000, 60.0
	for i, want := range []float64{(1 + target) / 2.0, (target - 1) / math.Log(target), (1 + target) / 2.0} {
		r := Ramp{Duration: 60 * time.Second, Strategy: RampStrategy(i), Seed: 3}
		area := 0.0
		for at := range r.Steps(target) {
			area += d - at.Seconds()
		}
		if got := area / d; math.Abs(got-want) > 0.01*want && RampStrategy(i) != PoissonRamp || math.Abs(got-want) > 0.05*want {
			t.Errorf("%s: %v slots on average, want %v", RampStrategies()[i], got, want)
		}
	}
}

func ExampleRamp_Steps() {
	for at := range (Ramp{Duration: 30 * time.Second}).Steps(4) {
		fmt.Println(at)
	}
	// Output:
	// 0s
	// 10s
	// 20s
	// 30s
}
