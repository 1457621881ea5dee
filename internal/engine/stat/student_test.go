package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The quantiles agree with gonum's distribution function.
func TestStudent(t *testing.T) {
	for _, freedom := range []float64{0.5, 1, 1.7, 2, 3, 4, 5, 7.991508, 9, 10, 31, 100, 5000} {
		for _, p := range []float64{0.01, 0.05, 0.5, 0.8, 0.95, 0.975, 0.995, 0.9999} {
			got := Student(p, freedom)
			if back := (distuv.StudentsT{Sigma: 1, Nu: freedom}).CDF(got); math.Abs(back-p) > 1e-9 {
				t.Errorf("Student(%v, %v) = %v, which is the quantile %v", p, freedom, got, back)
			}
		}
	}
	if got := Student(0.975, 2); math.Abs(got-4.302652729911275) > 1e-9 {
		t.Errorf("Student(0.975, 2) = %v", got)
	}
}
