package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name string
		draw func() float64
	}{
		{"uniform", rng.Float64},
		{"signed", func() float64 { return rng.NormFloat64() * 1e9 }},
		{"few", func() float64 { return float64(rng.IntN(5)) }},
		{"constant", func() float64 { return 20e6 }},
		{"extremes", func() float64 {
			return []float64{0, math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.SmallestNonzeroFloat64, 1, -1}[rng.IntN(7)]
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var scratch []float64
			for _, n := range []int{0, 1, 2, fewValues, fewValues + 1, 3000, 1000} {
				v := make([]float64, n)
				for i := range v {
					v[i] = tt.draw()
				}
				want := slices.Clone(v)
				slices.Sort(want)
				scratch = Sort(v, scratch)
				if !slices.Equal(v, want) {
					t.Fatalf("%d values: order differs from that of comparing", n)
				}
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 500_000)
	for i := range values {
		values[i] = 20e6 + rng.NormFloat64()*1e5
	}
	v, scratch := make([]float64, len(values)), []float64(nil)
	b.Run("digits", func(b *testing.B) {
		for b.Loop() {
			copy(v, values)
			scratch = Sort(v, scratch)
		}
	})
	b.Run("comparing", func(b *testing.B) {
		for b.Loop() {
			copy(v, values)
			slices.Sort(v)
		}
	})
}
