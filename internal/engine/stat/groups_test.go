package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSimulateLowerGroup: how often first tokens that are three times as fast are found, and how often two groups are
// seen in values of one.
func TestSimulateLowerGroup(t *testing.T) {
	const n = 500
	draws := 100
	if full() {
		draws = 2000
	}
	r := rand.New(rand.NewPCG(1, 2))
	student := func() float64 { // with 4 degrees of freedom
		chi := 0.0
		for range 4 {
			z := r.NormFloat64()
			chi += z * z
		}
		return r.NormFloat64() / math.Sqrt(chi/4)
	}
	for _, tt := range []struct {
		name        string
		least, most float64 // share of the draws in which groups are found
		draw        func(i int) float64
	}{
		{"normal", 0, 0.005, func(int) float64 { return 0.3 * r.NormFloat64() }},
		{"Student", 0, 0.02, func(int) float64 { return 0.3 * student() }},
		{"exponential", 0, 0.08, func(int) float64 { return r.ExpFloat64() }},
		{"5 % are hits", 0.91, 1, hits(r, 0.05)},
		{"30 % are hits", 0.99, 1, hits(r, 0.3)},
		{"95 % are hits", 0.91, 1, hits(r, 0.95)},
	} {
		found := 0
		for range draws {
			values := make([]float64, n)
			for i := range values {
				values[i] = tt.draw(i)
			}
			if _, ok := LowerGroup(values, math.Log(1.5)); ok {
				found++
			}
		}
		share := float64(found) / float64(draws)
		t.Logf("%s: groups in %.1f %%", tt.name, 100*share)
		if share < tt.least || share > tt.most {
			t.Errorf("%s: groups in %.1f %% of draws, want %.1f to %.1f %%", tt.name, 100*share, 100*tt.least, 100*tt.most)
		}
	}
}

// hits returns a draw of logarithms, of which a share are those of a third.
func hits(r *rand.Rand, share float64) func(int) float64 {
	return func(i int) float64 {
		v := 0.2 * r.NormFloat64()
		if float64(i) < 500*share {
			v -= math.Log(3)
		}
		return v
	}
}

func TestLowerGroup(t *testing.T) {
	two := func(n, low int, apart float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 0.01 * float64(i%7)
			if i < low {
				out[i] -= apart
			}
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		values []float64
		share  float64
		ok     bool
	}{
		{"a quarter", two(400, 100, 1), 0.25, true},
		{"without deviation", append(make([]float64, 90), func() []float64 {
			out := make([]float64, 10)
			for i := range out {
				out[i] = -1
			}
			return out
		}()...), 0.1, true},
		{"too near", two(400, 100, 0.3), 0, false},
		{"too small a group", two(400, 4, 1), 0, false},
		{"too few values", two(99, 30, 1), 0, false},
		{"one value", make([]float64, 200), 0, false},
		{"nothing", nil, 0, false},
	} {
		share, ok := LowerGroup(tt.values, math.Log(1.5))
		if ok != tt.ok || ok && math.Abs(share-tt.share) > 1e-12 {
			t.Errorf("%s: %v %v, want %v %v", tt.name, share, ok, tt.share, tt.ok)
		}
	}
	got := Residuals([]float64{1, 2, 3}, []float64{2, 4, 6})
	for i, v := range got {
		if math.Abs(v) > 1e-12 {
			t.Errorf("residual %d of a line = %v", i, v)
		}
	}
	if got := Residuals([]float64{5, 5}, []float64{1, 3}); got[0] != -1 || got[1] != 1 {
		t.Errorf("residuals over equal values = %v", got)
	}
}
