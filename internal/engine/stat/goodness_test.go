package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func uniform(x float64) float64 { return min(max(x, 0), 1) }

// The critical values of the fully specified case (Stephens, "EDF statistics for
// goodness of fit and some comparisons", JASA 69, 1974, table 1, case 0).
func TestLimitingDistribution(t *testing.T) {
	tests := []struct{ z, want float64 }{
		{1.933, 0.90}, {2.492, 0.95}, {3.070, 0.975}, {3.857, 0.99},
		{0, 0}, {-1, 0}, {100, 1},
	}
	for _, tt := range tests {
		if got := limiting(tt.z); math.Abs(got-tt.want) > 0.001 {
			t.Errorf("limiting(%v) = %v, want %v", tt.z, got, tt.want)
		}
	}
}

// By hand: one value at the median has -1 - (ln ½ + ln ½); two at the quartiles
// have -2 - ½((ln ¼ + ln ¼) + 3(ln ¾ + ln ¾)).
func TestStatistic(t *testing.T) {
	tests := []struct {
		sample []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{0.5}, 2*math.Ln2 - 1},
		{[]float64{0.75, 0.25}, -2 - math.Log(0.25) - 3*math.Log(0.75)},
	}
	for _, tt := range tests {
		if got, _ := AndersonDarling(tt.sample, uniform); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("A² of %v = %v, want %v", tt.sample, got, tt.want)
		}
	}
}

// Under the hypothesis p is uniform itself: about one of twenty samples has a p
// below 0.05. A sample of another distribution has a tiny one.
func TestPValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const samples = 2000
	below := 0
	for range samples {
		x := make([]float64, 200)
		for i := range x {
			x[i] = r.Float64()
		}
		if _, p := AndersonDarling(x, uniform); p < 0.05 {
			below++
		}
	}
	// Three standard errors of a share of 0.05.
	if share, tol := float64(below)/samples, 3*math.Sqrt(0.05*0.95/samples); math.Abs(share-0.05) > tol {
		t.Errorf("p < 0.05 in a share of %v, want 0.05 ± %.3f", share, tol)
	}
	x := make([]float64, 1000)
	for i := range x {
		x[i] = math.Pow(r.Float64(), 1.2)
	}
	if a2, p := AndersonDarling(x, uniform); p > 1e-4 {
		t.Errorf("A² = %v, p = %v for another distribution, want p below 1e-4", a2, p)
	}
	if _, p := AndersonDarling([]float64{-1, 2, 3}, uniform); math.IsNaN(p) || p > 1e-4 {
		t.Errorf("p = %v for impossible values, want below 1e-4", p)
	}
}
