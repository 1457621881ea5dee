package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The factor solves and has the determinant that gonum's has.
func TestCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 40; n++ {
		points := make([]float64, n)
		y := make([]float64, n)
		for i := range points {
			points[i], y[i] = rng.Float64(), rng.NormFloat64()
		}
		lower := make([][]float64, n)
		dense := mat.NewSymDense(n, nil)
		for i := range lower {
			lower[i] = make([]float64, i+1)
			for j := range lower[i] {
				lower[i][j] = math.Exp(-math.Abs(points[i]-points[j])) + max(0, 1e-3-math.Abs(float64(i-j)))
				dense.SetSym(i, j, lower[i][j])
			}
		}
		var want mat.Cholesky
		solved := mat.NewVecDense(n, nil)
		if !want.Factorize(dense) || want.SolveVecTo(solved, mat.NewVecDense(n, y)) != nil {
			t.Fatal("gonum cannot")
		}
		l, ok := factorize(lower)
		if !ok || math.Abs(l.logDet()-want.LogDet()) > 1e-9 {
			t.Fatalf("n = %d: %v, determinant %v, want %v", n, ok, l.logDet(), want.LogDet())
		}
		for i, x := range l.solve(y) {
			if math.Abs(x-solved.AtVec(i)) > 1e-8*(1+math.Abs(x)) {
				t.Errorf("n = %d: x[%d] = %v, want %v", n, i, x, solved.AtVec(i))
			}
		}
	}
	if _, ok := factorize([][]float64{{1}, {2, 1}}); ok {
		t.Error("a matrix that is not positive definite has a factor")
	}
}
