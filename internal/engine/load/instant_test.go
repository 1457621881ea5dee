package load

import "testing"

// The numbers are those of AIPerf 0.13.
func TestInstantShare(t *testing.T) {
	tests := []struct {
		seed  int64
		trace string
		lane  int
		want  float64
	}{
		{7, "A", 0, 0.0672521901258023},
		{7, "B", 1, 0.27066874004061425},
		{42, "A", 0, 0.021117318186812728},
	}
	for _, tt := range tests {
		if got := instantShare(tt.seed, tt.trace, tt.lane); got != tt.want {
			t.Errorf("instantShare(%d, %q, %d) = %v, want %v", tt.seed, tt.trace, tt.lane, got, tt.want)
		}
	}
}
