package stat

import (
	"math"
	"testing"
)

// TestPrecedence compares with simple cases and with counting.
func TestPrecedence(t *testing.T) {
	tests := []struct {
		name    string
		m, k, j int
		want    float64
	}{
		{"one against one", 1, 1, 1, 0.5},
		{"largest against largest", 50, 50, 50, 0.5},
		{"smallest below the second", 2, 1, 2, 5.0 / 6},
		{"median against median", 3, 2, 2, 0.5},
		{"largest below the smallest", 2, 2, 1, 1.0 / 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := precedence(tt.m, tt.k, tt.j); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("precedence(%d, %d, %d) = %v, want %v", tt.m, tt.k, tt.j, got, tt.want)
			}
		})
	}
	t.Run("sum and normal distribution agree where one takes over", func(t *testing.T) {
		for _, j := range []int{49_480, 49_500, 49_520, 49_560} {
			p := precedence(maxSummed, NearestRank(0.99, maxSummed), j)
			q := precedence(maxSummed+1, NearestRank(0.99, maxSummed), j)
			if math.Abs(p-q) > 0.01 {
				t.Errorf("rank %d: %v by the sum, %v by the normal distribution", j, p, q)
			}
		}
	})
}

// TestPredictionRank: few values cannot give a bound of a p99 with full confidence, and the
// result says so.
func TestPredictionRank(t *testing.T) {
	tests := []struct {
		m, least int // smallest rank that may come out
		sure     bool
	}{{1, 1, false}, {50, 50, false}, {300, 300, false}, {800, 793, true}, {20_000, 19_800, true}, {1_000_000, 990_000, true}}
	for _, tt := range tests {
		j, confidence := PredictionRank(0.99, 0.99, tt.m)
		if j < tt.least || j > tt.m {
			t.Errorf("PredictionRank(%d) = %d, want from %d to %d", tt.m, j, tt.least, tt.m)
		}
		if sure := confidence >= 0.99; sure != tt.sure {
			t.Errorf("PredictionRank(%d) has confidence %v", tt.m, confidence)
		}
	}
}
