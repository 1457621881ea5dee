package search

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Without noise the process passes through its values, and between them it is nearly
// right and knows how sure it is.
func TestProcess(t *testing.T) {
	f := func(x float64) float64 { return 100 + 30*math.Sin(5*x) }
	var points [][]float64
	var values []float64
	for i := range 9 {
		x := float64(i) / 8
		points, values = append(points, []float64{x}), append(values, f(x))
	}
	p := fitProcess(points, values)
	for i, x := range points {
		if mean, deviation := p.at(x); math.Abs(mean-values[i]) > 0.1 || deviation > 0.5 {
			t.Errorf("at %v: %v ± %v, want %v", x, mean, deviation, values[i])
		}
	}
	for i := range 100 {
		x := float64(i) / 99
		if mean, _ := p.at([]float64{x}); math.Abs(mean-f(x)) > 1 {
			t.Errorf("at %v: %v, want %v", x, mean, f(x))
		}
	}
	if _, outside := p.at([]float64{3}); outside < 10 {
		t.Errorf("deviation far outside = %v, want about that of the values", outside)
	}
}

// Noise is smoothed: predictions are closer to the function than the values are.
func TestNoiseOfProcess(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := func(x float64) float64 { return 10 * x }
	var points [][]float64
	var values []float64
	raw := 0.0
	for i := range 40 {
		x := float64(i) / 39
		e := rng.NormFloat64()
		raw += math.Abs(e)
		points, values = append(points, []float64{x}), append(values, f(x)+e)
	}
	p, smooth := fitProcess(points, values), 0.0
	for _, x := range points {
		mean, _ := p.at(x)
		smooth += math.Abs(mean - f(x[0]))
	}
	if smooth > raw/2 {
		t.Errorf("predictions are off by %.3f on average, the values by %.3f", smooth/40, raw/40)
	}
}

// The expected gain and the probability agree with their integrals over the normal
// distribution of the prediction.
func TestGain(t *testing.T) {
	p := fitProcess([][]float64{{0}, {0.5}, {1}}, []float64{1, 3, 2})
	x, best := []float64{0.8}, 2.9
	mean, deviation := p.at(x)
	gain, below := 0.0, 0.0
	const steps = 200_000
	for i := range steps {
		z := -8 + 16*(float64(i)+0.5)/steps
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 16 / steps
		v := mean + deviation*z
		gain += max(v-best, 0) * density
		if v < best {
			below += density
		}
	}
	if got := p.gain(x, best); math.Abs(got-gain) > 1e-4 {
		t.Errorf("Gain = %v, want %v", got, gain)
	}
	if got := p.below(x, best); math.Abs(got-below) > 1e-3 {
		t.Errorf("Below = %v, want %v", got, below)
	}
}

// Equal values, one value and two dimensions are no special cases.
func TestDegenerate(t *testing.T) {
	if mean, _ := fitProcess([][]float64{{0.5}}, []float64{7}).at([]float64{0.5}); math.Abs(mean-7) > 1e-6 {
		t.Errorf("one value: %v, want 7", mean)
	}
	flat := fitProcess([][]float64{{0, 0}, {1, 0}, {0, 1}, {0, 0}}, []float64{4, 4, 4, 4})
	if mean, _ := flat.at([]float64{0.3, 0.9}); math.Abs(mean-4) > 1e-6 {
		t.Errorf("equal values: %v, want 4", mean)
	}
}
