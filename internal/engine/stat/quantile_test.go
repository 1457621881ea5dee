package stat

import (
	"math"
	"testing"
)

// TestQuantile compares with numpy.quantile.
func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{7}, 0.99, 7}, {[]float64{1, 2}, 0.5, 1.5}, {[]float64{1, 2, 4}, 0.75, 3}, {[]float64{1, 2, 4}, 0, 1},
		{[]float64{1, 2, 4}, 1, 4}, {[]float64{15, 20, 35, 40, 50}, 0.4, 29},
	} {
		if got := Quantile(tt.values, tt.q); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", tt.values, tt.q, got, tt.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile(nil, 0.5) = %v, want NaN", got)
	}
}

func TestNearestRank(t *testing.T) {
	for _, tt := range []struct {
		q       float64
		n, want int
	}{{0.5, 1, 1}, {0.5, 2, 1}, {0.5, 3, 2}, {0.99, 100, 99}, {0.99, 101, 100}, {0.99, 50, 50}, {0, 5, 1}, {1, 5, 5}} {
		if got := NearestRank(tt.q, tt.n); got != tt.want {
			t.Errorf("NearestRank(%v, %d) = %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}

func TestClosestRank(t *testing.T) {
	tests := []struct {
		q    float64
		n    int64
		want int64
	}{
		{0.5, 1, 0}, {0.5, 2, 0}, {0.5, 3, 1}, {0.5, 4, 2}, {0.5, 60, 30}, {0.9, 10, 8}, {0.99, 2, 1},
		{0.25, 3, 0}, {0.75, 3, 2}, {0.95, 1000, 949}, {0.01, 10, 0},
	}
	for _, test := range tests {
		if got := ClosestRank(test.q, test.n); got != test.want {
			t.Errorf("ClosestRank(%v, %d) = %d, want %d", test.q, test.n, got, test.want)
		}
	}
}
