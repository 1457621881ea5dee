package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestOrderBounds compares with published ranks (Conover, Practical
// Nonparametric Statistics, table A3) and with the definition.
func TestOrderBounds(t *testing.T) {
	for _, test := range []struct {
		n      int64
		p      float64
		lo, hi int64
		ok     bool
	}{
		{5, 0.5, 0, 6, false}, {6, 0.5, 1, 6, true}, {10, 0.5, 2, 9, true}, {20, 0.5, 6, 15, true}, {100, 0.5, 40, 61, true},
		{367, 0.99, 0, 368, false}, {368, 0.99, 0, 368, true}, {0, 0.5, 0, 1, false},
	} {
		lo, hi := orderBounds(test.n, test.p)
		if ok := lo >= 1 && hi <= test.n; ok != test.ok || hi != test.hi || test.p == 0.5 && lo != test.lo {
			t.Errorf("orderBounds(%d, %v) = %d, %d, %v, want %d, %d, %v", test.n, test.p, lo, hi, lo >= 1 && hi <= test.n, test.lo, test.hi, test.ok)
		}
	}
	for _, n := range []int64{30, 500, 5000} {
		for _, p := range []float64{0.50, 0.90, 0.95, 0.99} {
			lo, hi := orderBounds(n, p)
			if lo < 1 || hi > n {
				continue
			}
			if below, above := binomialCDF(n, p, lo-1), 1-binomialCDF(n, p, hi-1); below > 0.025+1e-9 || above > 0.025+1e-9 {
				t.Errorf("orderBounds(%d, %v) = %d, %d: %.4f below, %.4f above", n, p, lo, hi, below, above)
			}
			if below := binomialCDF(n, p, lo); below <= 0.025 {
				t.Errorf("orderBounds(%d, %v) = %d: one more is still safe, %.4f", n, p, lo, below)
			}
		}
	}
	// The normal approximation takes over without a jump.
	lo, hi := orderBounds(1_000_000, 0.95)
	wantLo, wantHi := orderBounds(1_000_001, 0.95)
	if math.Abs(float64(lo-wantLo)) > 3 || math.Abs(float64(hi-wantHi)) > 3 {
		t.Errorf("at a million: %d, %d, beyond: %d, %d", lo, hi, wantLo, wantHi)
	}
}

// binomialCDF is the probability of at most k successes, term by term.
func binomialCDF(n int64, p float64, k int64) float64 {
	var sum float64
	for i := int64(0); i <= k; i++ {
		sum += math.Exp(logBinomial(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestStudentQuantile compares with gonum: the table is exact to its four digits,
// the expansion to half a thousandth.
func TestStudentQuantile(t *testing.T) {
	for _, v := range []int{1, 2, 5, 10, 11, 12, 20, 30, 63, 1000} {
		want := distuv.StudentsT{Sigma: 1, Nu: float64(v)}.Quantile(0.975)
		if got := studentQuantile(v); math.Abs(got-want) > 5e-4 {
			t.Errorf("studentQuantile(%d) = %v, want %v", v, got, want)
		}
	}
	if got, want := studentQuantile(0), studentQuantile(1); got != want {
		t.Errorf("studentQuantile(0) = %v, want that of 1, %v", got, want)
	}
}

// TestBeyondRange compares with the definition: of a Pareto distribution with index 1, the
// largest of n values times the factor is below the quantile in 2.5 % of all samples.
func TestBeyondRange(t *testing.T) {
	for _, n := range []float64{1, 2, 20, 58} {
		for _, q := range []float64{0.95, 0.99} {
			quantile := 1 / (1 - q) // of F(x) = 1 - 1/x
			below := math.Pow(1-BeyondRange(q, n)/quantile, n)
			if math.Abs(below-0.025) > 1e-9 {
				t.Errorf("BeyondRange(%v, %v) = %v, which is too little in %.2f %% of all samples", q, n, BeyondRange(q, n), 100*below)
			}
		}
	}
	if got := BeyondRange(0.5, 1000); got != 1 {
		t.Errorf("the factor of a quantile within the sample is %v, want 1", got)
	}
}
