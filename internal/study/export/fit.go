package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// defaultFloor is the coefficient of determination below which a line does not do.
const defaultFloor = 0.85

// fitted fits a line to a statistic by a swept value, or a parabola if the line does not
// explain it well.
func fitted(p sweep.PostParams, done []cell.Outcome) (any, error) {
	pts := points(done, p.SweptParam, p.MetricTag, p.Stat)
	if len(pts) < 2 || pts[0].x == pts[len(pts)-1].x {
		return nil, fmt.Errorf("%s (%s) was not measured at two values of %s", p.MetricTag, p.Stat, p.SweptParam)
	}
	floor := cmp.Or(p.RSquaredFloor, defaultFloor)
	form := "linear"
	coefficients, explained := polynomial(pts, 1)
	if explained < floor && len(pts) >= 3 {
		if c, e := polynomial(pts, 2); e > explained {
			form, coefficients, explained = "quadratic", c, e
		}
	}
	raw := []object{}
	for _, pt := range pts {
		raw = append(raw, object{"isl": pt.x, "ttft_ms": pt.y})
	}
	return object{
		"fit_form": form, "coefficients": coefficients, "r_squared": explained, "below_floor": explained < floor, "r_squared_floor": floor,
		"raw_points": raw, "swept_metric": p.MetricTag, "stat": p.Stat, "swept_param": p.SweptParam,
	}, nil
}

// polynomial fits a polynomial by least squares. It returns the coefficients, that of the
// highest power first, and which share of the variance they explain.
func polynomial(pts []point, degree int) (coefficients []float64, explained float64) {
	scale := pts[len(pts)-1].x // keeps the powers near 1
	powers := make([][]float64, degree+1)
	values := make([]float64, len(pts))
	distinct := map[float64]bool{}
	mean := 0.0
	for i, pt := range pts {
		power := 1.0
		for j := range powers {
			powers[j] = append(powers[j], power)
			power *= pt.x / scale
		}
		values[i] = pt.y
		distinct[pt.x] = true
		mean += pt.y / float64(len(pts))
	}
	if len(distinct) <= degree {
		return nil, 0
	}
	total := 0.0
	for _, v := range values {
		total += (v - mean) * (v - mean)
	}
	solution, residual := leastSquares(powers, values)
	power := 1.0
	for _, c := range solution {
		coefficients = append(coefficients, rounded(c/power))
		power *= scale
	}
	slices.Reverse(coefficients)
	if total == 0 {
		return coefficients, 1
	}
	return coefficients, rounded(1 - residual/total)
}

// leastSquares returns the multiples of linearly independent columns whose sum is nearest
// to some values, and the sum of the squares of what remains of them. It makes the columns
// orthogonal one after the other (modified Gram-Schmidt), and uses up both arguments.
func leastSquares(columns [][]float64, values []float64) (multiples []float64, rest float64) {
	multiples = make([]float64, len(columns))
	shares := make([][]float64, len(columns)) // of column i in the columns behind it
	for i, column := range columns {
		length := math.Sqrt(product(column, column))
		for k := range column {
			column[k] /= length
		}
		shares[i] = make([]float64, len(columns))
		shares[i][i] = length
		for j := i + 1; j < len(columns); j++ {
			shares[i][j] = subtract(columns[j], column)
		}
		multiples[i] = subtract(values, column)
	}
	for i := len(columns) - 1; i >= 0; i-- {
		for j := i + 1; j < len(columns); j++ {
			multiples[i] -= shares[i][j] * multiples[j]
		}
		multiples[i] /= shares[i][i]
	}
	return multiples, product(values, values)
}

// subtract takes from a vector its share in the direction of another, of length 1, and
// returns the share.
func subtract(from, direction []float64) float64 {
	share := product(from, direction)
	for k, v := range direction {
		from[k] -= share * v
	}
	return share
}

// product returns the scalar product of two vectors.
func product(a, b []float64) float64 {
	sum := 0.0
	for k, v := range a {
		sum += v * b[k]
	}
	return sum
}

// rounded drops the digits that rounding errors of the solution fill.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 10, 64), 64)
	if err != nil {
		return v
	}
	return short
}
