package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// autoregression returns a stationary first-order autoregression with the
// correlation phi of neighbours, mean 100e6 and standard deviation 10e6.
func autoregression(r *rand.Rand, phi float64, n int) []float64 {
	out := make([]float64, n)
	x := r.NormFloat64()
	for i := range out {
		out[i] = math.Round(100e6 + 10e6*x)
		x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}
	return out
}

// TestSequenceMerge checks that what was observed in parts is known as if it had
// been observed in one: exactly in sums, nearly in batches.
func TestSequenceMerge(t *testing.T) {
	values := autoregression(rand.New(rand.NewPCG(3, 3)), 0.7, 5000)
	at := [Thresholds]float64{100e6, 112e6, 116e6, 123e6}
	whole := NewSequence(at)
	whole.AddAll(values)
	for _, cut := range []int{0, 1, 77, 1234, 2500, 4999, 5000} {
		a, b := NewSequence(at), NewSequence(at)
		for _, x := range values[:cut] {
			a.Add(x)
		}
		b.AddAll(values[cut:])
		a.Merge(b)
		sums := func(o *Sequence) []float64 {
			mean := o.sum/float64(o.n) + o.origin
			return []float64{float64(o.n), mean, float64(o.beyond[0].count), float64(o.beyond[3].pairs), float64(o.beyond[1].last)}
		}
		if diff := cmp.Diff(sums(whole), sums(a), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("cut at %d (-whole +merged):\n%s", cut, diff)
		}
		want, _ := whole.Effective()
		if got, _ := a.Effective(); math.Abs(got-want) > 0.35*want {
			t.Errorf("cut at %d: effective %.0f, whole %.0f", cut, got, want)
		}
	}
}

// TestEffective compares with the known worth of autoregressive samples: that of
// their mean, and, from bursts, that of the share of large values.
func TestEffective(t *testing.T) {
	const n = 40_000
	for _, phi := range []float64{0, 0.5, 0.9} {
		s := NewSequence([Thresholds]float64{100e6, 112e6, 116e6, 123e6})
		values := autoregression(rand.New(rand.NewPCG(1, 1)), phi, n)
		s.AddAll(values)
		want := n * (1 - phi) / (1 + phi)
		if got, _ := s.Effective(); got > 1.1*want || got < 0.5*want {
			t.Errorf("phi = %v: %d values count as %.0f, want about %.0f", phi, n, got, want)
		}
		above, ok := s.EffectiveAbove(0)
		if !ok || phi == 0 && above < n/2 || phi == 0.9 && above > n/4 {
			t.Errorf("phi = %v: %d values count as %.0f for the share above the median", phi, n, above)
		}
		if got := EffectiveAtLeast(values, 116e6); phi == 0 && got < n/2 || phi == 0.9 && got > n/2 {
			t.Errorf("phi = %v: %d values count as %d for the share above 1.6 deviations", phi, n, got)
		}
	}
}
