package search

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Violators are replaced by their weighted mean; the rest stays as it is.
func TestIsotonic(t *testing.T) {
	points := []curvePoint{{1, 1, 1}, {2, 3, 1}, {3, 2, 3}, {4, 2, 1}, {5, 6, 1}, {6, 5, 1}}
	want := []float64{1, 2.2, 2.2, 2.2, 5.5, 5.5}
	for i, got := range isotonicRegression(points) {
		if math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("value %d = %v, want %v", i, got, want[i])
		}
	}
}

// The curve passes through points that ascend, bends smoothly, and its root lies where
// the function that the points are of has its own.
func TestCurve(t *testing.T) {
	var points []curvePoint
	for _, x := range []float64{1, 2, 4, 8, 16, 32, 64} {
		points = append(points, curvePoint{x, x*x - 1000, 1})
	}
	c := fitCurve(points)
	for _, p := range points {
		if got := c.at(p.X); got != p.Y {
			t.Errorf("at %v: %v, want %v", p.X, got, p.Y)
		}
	}
	if root, ok := c.root(); !ok || math.Abs(root-math.Sqrt(1000)) > 0.2 {
		t.Errorf("root = %v, %v; want about %v", root, ok, math.Sqrt(1000))
	}
	if got := c.at(0); got != points[0].Y {
		t.Errorf("before the first point: %v, want its value", got)
	}
	if _, ok := fitCurve([]curvePoint{{1, -2, 1}, {2, -1, 1}}).root(); ok {
		t.Error("a negative curve has a root")
	}
	if _, ok := fitCurve([]curvePoint{{1, 1, 1}, {2, 2, 1}}).root(); ok {
		t.Error("a positive curve has a root")
	}
}

// Whatever the points are, the curve never falls and stays between them.
func TestCurveNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ys := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2, 12).Draw(t, "y")
		var points []curvePoint
		x := 0.0
		for _, y := range ys {
			x += rapid.Float64Range(0.1, 50).Draw(t, "gap")
			points = append(points, curvePoint{x, y, rapid.Float64Range(0.5, 5).Draw(t, "weight")})
		}
		c := fitCurve(points)
		before := math.Inf(-1)
		for i := range 200 {
			y := c.at(points[0].X + float64(i)/199*(x-points[0].X))
			if y < before-1e-9 {
				t.Fatalf("falls from %v to %v", before, y)
			}
			before = y
		}
		if root, ok := c.root(); ok && math.Abs(c.at(root)) > 1e-3 {
			t.Fatalf("value at the root %v is %v", root, c.at(root))
		}
	})
}
