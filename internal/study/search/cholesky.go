package search

import (
	"math"
	"slices"
)

// cholesky is the lower triangle L of a symmetric, positive definite matrix L·Lᵀ, by rows.
type cholesky [][]float64

// factorize returns the factor of a matrix, whose lower triangle it is given and uses up;
// false = rounding errors leave it not positive definite.
func factorize(lower [][]float64) (cholesky, bool) {
	for i, row := range lower {
		for j, above := range lower[:i] {
			row[j] = (row[j] - dot(row[:j], above[:j])) / above[j]
		}
		rest := row[i] - dot(row[:i], row[:i])
		if !(rest > 0) {
			return nil, false
		}
		row[i] = math.Sqrt(rest)
	}
	return lower, true
}

// solve returns the x of L·Lᵀ·x = y.
func (l cholesky) solve(y []float64) []float64 {
	x := slices.Clone(y)
	for i, row := range l {
		x[i] = (x[i] - dot(row[:i], x[:i])) / row[i]
	}
	for i := len(l) - 1; i >= 0; i-- {
		x[i] /= l[i][i]
		for j := range i {
			x[j] -= l[i][j] * x[i]
		}
	}
	return x
}

// logDet returns the logarithm of the determinant of the matrix.
func (l cholesky) logDet() float64 {
	sum := 0.0
	for i, row := range l {
		sum += 2 * math.Log(row[i])
	}
	return sum
}

// dot returns the scalar product of two vectors of the same length.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
