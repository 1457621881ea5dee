package search

import "math"

// process is a Gaussian process that was fitted to values. It has a Matérn 5/2 kernel
// with one length per dimension, and independent noise.
type process struct {
	points  [][]float64
	lengths []float64
	noise   float64 // variance, as a share of that of the values
	mean    float64 // of the values
	scale   float64 // standard deviation of the values
	factor  cholesky
	weights []float64
}

// fitProcess returns the process that explains the values best: the lengths and the noise are
// those of a grid with the largest likelihood. Points lie in the unit cube; there must be
// at least one, and as many values.
func fitProcess(points [][]float64, values []float64) *process {
	p := &process{points: points, lengths: make([]float64, len(points[0]))}
	for _, v := range values {
		p.mean += v / float64(len(values))
	}
	for _, v := range values {
		p.scale += (v - p.mean) * (v - p.mean) / float64(len(values))
	}
	if p.scale = math.Sqrt(p.scale); p.scale < 1e-12 {
		p.scale = 1
	}
	y := make([]float64, len(values))
	for i, v := range values {
		y[i] = (v - p.mean) / p.scale
	}
	p.choose(y)
	return p
}

// choose finds the lengths and the noise, one after the other and twice.
func (p *process) choose(y []float64) {
	for i := range p.lengths {
		p.lengths[i] = 0.3
	}
	p.noise = 1e-4
	best := p.condition(y)
	try := func(parameter *float64, grid []float64) {
		chosen := *parameter
		for _, v := range grid {
			*parameter = v
			if l := p.condition(y); l > best {
				best, chosen = l, v
			}
		}
		*parameter = chosen
	}
	for range 2 {
		for i := range p.lengths {
			try(&p.lengths[i], []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 3})
		}
		try(&p.noise, []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2})
	}
	p.condition(y)
}

// condition conditions the process on values and returns their log likelihood without
// its constant.
func (p *process) condition(y []float64) float64 {
	k := make([][]float64, len(p.points))
	for i := range k {
		k[i] = make([]float64, i+1)
		for j := range i {
			k[i][j] = p.kernel(p.points[i], p.points[j])
		}
		k[i][i] = 1 + p.noise + 1e-10
	}
	factor, ok := factorize(k)
	if !ok {
		return math.Inf(-1)
	}
	p.factor = factor
	p.weights = factor.solve(y)
	return -(dot(y, p.weights) + factor.logDet()) / 2
}

// kernel is the correlation of the values at two points.
func (p *process) kernel(a, b []float64) float64 {
	d := 0.0
	for i := range a {
		u := (a[i] - b[i]) / p.lengths[i]
		d += u * u
	}
	r := math.Sqrt(5 * d)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// At returns the mean and the standard deviation of the function at a point.
func (p *process) at(x []float64) (mean, deviation float64) {
	k := make([]float64, len(p.points))
	for i, at := range p.points {
		k[i] = p.kernel(x, at)
	}
	mean = dot(k, p.weights)
	variance := 1 - dot(k, p.factor.solve(k))
	return p.mean + p.scale*mean, p.scale * math.Sqrt(max(variance, 1e-12))
}

// Below returns the probability that the function is below a limit at a point.
func (p *process) below(x []float64, limit float64) float64 {
	mean, deviation := p.at(x)
	return normal((limit - mean) / deviation)
}

// Gain returns by how much the function is expected to exceed best at a point; values
// below best count as 0 (expected improvement).
func (p *process) gain(x []float64, best float64) float64 {
	mean, deviation := p.at(x)
	z := (mean - best) / deviation
	return (mean-best)*normal(z) + deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

// normal is the standard normal distribution function.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
