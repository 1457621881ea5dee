package export

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestAppendFloatIsShortest compares the short way to write a number with the
// general one.
func TestAppendFloatIsShortest(t *testing.T) {
	check := func(t interface {
		Helper()
		Errorf(format string, args ...any)
	}, v float64) {
		t.Helper()
		want := strconv.FormatFloat(v, 'f', -1, 64)
		if v == math.Trunc(v) {
			want += ".0"
		}
		if got := string(appendFloat(nil, v)); got != want {
			t.Errorf("appendFloat(%v) = %s, want %s", v, got, want)
		}
	}
	for _, v := range []float64{
		1e-4, 0.00010000000000000002, 0.1, 0.1 + 0.2, 0.3, 1, 10, 999999999.999999, 1e9, 1e9 + 1e-6, 999999999.9999999, 100.000001,
		math.Nextafter(0.5, 1), math.Nextafter(123.456, 0), 0, math.Copysign(0, -1), -1.5,
	} {
		check(t, v)
	}
	rapid.Check(t, func(t *rapid.T) {
		whole := float64(rapid.Int64Range(100, 1<<53).Draw(t, "nanoseconds")) / 1e6
		check(t, whole)
		check(t, math.Nextafter(whole, math.Inf(1)))
		check(t, rapid.Float64Range(1e-4, 1e15).Draw(t, "any"))
	})
}
