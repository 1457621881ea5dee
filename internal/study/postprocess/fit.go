package postprocess

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

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
	a, b := mat.NewDense(len(pts), degree+1, nil), mat.NewVecDense(len(pts), nil)
	mean := 0.0
	for i, pt := range pts {
		power := 1.0
		for j := degree; j >= 0; j-- {
			a.Set(i, j, power)
			power *= pt.x / scale
		}
		b.SetVec(i, pt.y)
		mean += pt.y / float64(len(pts))
	}
	var solution mat.VecDense
	if err := solution.SolveVec(a, b); err != nil {
		return nil, 0 // fewer distinct values than coefficients
	}
	var predicted mat.VecDense
	predicted.MulVec(a, &solution)
	residual, total := 0.0, 0.0
	for i, pt := range pts {
		residual += (pt.y - predicted.AtVec(i)) * (pt.y - predicted.AtVec(i))
		total += (pt.y - mean) * (pt.y - mean)
	}
	power := 1.0
	for j := range degree + 1 {
		coefficients = append(coefficients, rounded(solution.AtVec(degree-j)/power))
		power *= scale
	}
	slices.Reverse(coefficients)
	if total == 0 {
		return coefficients, 1
	}
	return coefficients, rounded(1 - residual/total)
}

// rounded drops the digits that rounding errors of the solution fill.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 10, 64), 64)
	if err != nil {
		return v
	}
	return short
}
