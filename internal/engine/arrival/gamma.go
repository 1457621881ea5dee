package arrival

import (
	"math"
	"math/rand/v2"
)

// gamma draws from the gamma distribution of a given shape and scale 1 by the
// method of Marsaglia and Tsang, "A simple method for generating gamma
// variables", ACM TOMS 26 (2000): a cubed normal is accepted with a probability
// above 95 %.
//
// The products are converted explicitly before they are added, which forbids
// the compiler to fuse them into one operation; so platforms with and without
// such an instruction agree.
type gamma struct {
	r     *rand.Rand
	d, c  float64 // constants of the method
	boost float64 // 1/shape if the shape is below 1; 0 = none
}

func newGamma(shape float64, r *rand.Rand) *gamma {
	g := &gamma{r: r}
	if shape < 1 {
		// The method needs a shape of at least 1. Γ(a) = Γ(a+1)·U^(1/a).
		g.boost = 1 / shape
		shape++
	}
	g.d = shape - 1.0/3
	g.c = 1 / math.Sqrt(9*g.d)
	return g
}

// draw returns one value, ≥ 0, with mean and variance equal to the shape.
func (g *gamma) draw() float64 {
	for {
		x := g.r.NormFloat64()
		v := 1 + float64(g.c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - g.r.Float64() // in (0, 1]
		limit := float64(x*x/2) + g.d - float64(g.d*v) + float64(g.d*math.Log(v))
		if math.Log(u) >= limit {
			continue
		}
		if g.boost == 0 {
			return g.d * v
		}
		return g.d * v * math.Pow(1-g.r.Float64(), g.boost)
	}
}
