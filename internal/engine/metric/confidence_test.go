package metric

import "testing"

func TestSupports(t *testing.T) {
	for _, tt := range []struct {
		size, q float64
		want    bool
	}{{10, 0.5, true}, {9.9, 0.5, false}, {500, 0.99, true}, {499, 0.99, false}, {500, 0.01, true}, {50, 0.9, true}} {
		if got := Supports(tt.size, tt.q); got != tt.want {
			t.Errorf("Supports(%v, %v) = %v, want %v", tt.size, tt.q, got, tt.want)
		}
	}
}
