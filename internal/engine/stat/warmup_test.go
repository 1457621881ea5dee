package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSimulateSteadyFrom measures how often a beginning is cut: hardly ever from a process
// that only varies, nearly always from one that starts cold.
func TestSimulateSteadyFrom(t *testing.T) {
	const n = 2000
	runs := 200
	if full() {
		runs = 2000
	}
	processes := []struct {
		name        string
		least, most float64 // share of runs that are cut
		draw        func(r *rand.Rand) []float64
	}{
		{"autoregressive 0.8", 0, 0.05, func(r *rand.Rand) []float64 { return autoregressive(r, n, 0.8) }},
		{"M/M/1 at 0.9, stationary", 0, 0.07, func(r *rand.Rand) []float64 { return sojourns(r, 4*n, 0.9)[3*n:] }},
		{"M/M/1 at 0.9, from empty", 0, 0.05, func(r *rand.Rand) []float64 { return sojourns(r, n, 0.9) }},
		{"cold start", 0.99, 1, func(r *rand.Rand) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = math.Exp(0.3*r.NormFloat64()) * (1 + 1*math.Exp(-float64(i)/100))
			}
			return out
		}},
	}
	for _, p := range processes {
		cut := 0
		for seed := range uint64(runs) {
			if SteadyFrom(p.draw(rand.New(rand.NewPCG(seed, 9)))) > 0 {
				cut++
			}
		}
		share := float64(cut) / float64(runs)
		t.Logf("%s: %.1f %% of runs are cut", p.name, 100*share)
		if share < p.least || share > p.most {
			t.Errorf("%s: %.1f %% of runs are cut, want %v to %v %%", p.name, 100*share, 100*p.least, 100*p.most)
		}
	}
}

// autoregressive returns a stationary sequence around 100.
func autoregressive(r *rand.Rand, n int, correlation float64) []float64 {
	out := make([]float64, n)
	x := r.NormFloat64()
	for i := range out {
		x = correlation*x + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		out[i] = 100 + 10*x
	}
	return out
}

// sojourns returns the times that customers spend in an M/M/1 queue that begins empty, in units
// of the mean service (Lindley's recursion).
func sojourns(r *rand.Rand, n int, utilization float64) []float64 {
	out := make([]float64, n)
	wait := 0.0
	for i := range out {
		service := r.ExpFloat64()
		out[i] = wait + service
		wait = max(0, out[i]-r.ExpFloat64()/utilization)
	}
	return out
}
