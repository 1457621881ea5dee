package search

import (
	"math"
	"slices"
)

// curvePoint is an observation.
type curvePoint struct {
	X, Y   float64
	Weight float64 // > 0: in proportion to the number of observations that Y is the mean of
}

// isotonicRegression returns the values at the points' X that are closest to their Y by weighted
// least squares and never fall, by pooling adjacent violators (Ayer et al., 1955). X must
// ascend strictly.
func isotonicRegression(points []curvePoint) []float64 {
	type block struct {
		mean, weight float64
		size         int
	}
	blocks := make([]block, 0, len(points))
	for _, p := range points {
		b := block{p.Y, p.Weight, 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].mean > b.mean {
			before := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			w := before.weight + b.weight
			b = block{(before.mean*before.weight + b.mean*b.weight) / w, w, before.size + b.size}
		}
		blocks = append(blocks, b)
	}
	out := make([]float64, 0, len(points))
	for _, b := range blocks {
		for range b.size {
			out = append(out, b.mean)
		}
	}
	return out
}

// curve is a smooth curve through points, which does not overshoot them: piecewise cubic
// Hermite interpolation with the slopes of Fritsch and Butland (1984). Outside the points
// it is constant.
type curve struct {
	x, y, slope []float64
}

// fitCurve returns the interpolation of the isotonic regression of points, of which there must
// be at least two; their X must ascend strictly.
func fitCurve(points []curvePoint) *curve {
	c := &curve{x: make([]float64, len(points)), y: isotonicRegression(points), slope: make([]float64, len(points))}
	for i, p := range points {
		c.x[i] = p.X
	}
	n := len(points)
	gap, rise := make([]float64, n-1), make([]float64, n-1)
	for i := range gap {
		gap[i] = c.x[i+1] - c.x[i]
		rise[i] = (c.y[i+1] - c.y[i]) / gap[i]
	}
	c.slope[0], c.slope[n-1] = rise[0], rise[n-2]
	for i := 1; i < n-1; i++ {
		if rise[i-1]*rise[i] <= 0 {
			continue
		}
		before, after := 2*gap[i]+gap[i-1], gap[i]+2*gap[i-1]
		c.slope[i] = (before + after) / (before/rise[i-1] + after/rise[i])
	}
	return c
}

// At returns the value of the curve at x.
func (c *curve) at(x float64) float64 {
	last := len(c.x) - 1
	switch {
	case x <= c.x[0]:
		return c.y[0]
	case x >= c.x[last]:
		return c.y[last]
	}
	i, exact := slices.BinarySearch(c.x, x)
	if exact {
		return c.y[i]
	}
	i--
	h := c.x[i+1] - c.x[i]
	t := (x - c.x[i]) / h
	u := 1 - t
	return c.y[i]*u*u*(1+2*t) + c.y[i+1]*t*t*(1+2*u) + h*t*u*(c.slope[i]*u-c.slope[i+1]*t)
}

// Root returns the smallest x at which the curve reaches 0; false if it is negative
// everywhere or nowhere.
func (c *curve) root() (float64, bool) {
	if c.y[0] >= 0 || c.y[len(c.y)-1] < 0 {
		return 0, false
	}
	i := slices.IndexFunc(c.y, func(y float64) bool { return y >= 0 })
	lo, hi := c.x[i-1], c.x[i]
	for hi-lo > 1e-9*math.Max(1, math.Abs(hi)) {
		if mid := lo + (hi-lo)/2; c.at(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, true
}
