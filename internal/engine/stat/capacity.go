package stat

import (
	"math"
	"slices"
)

// Attained is what was measured at one level of load: of N requests, Good met their objectives.
type Attained struct {
	Level float64 // > 0
	N     float64 // ≥ 1
	Good  float64
	Error float64 // standard error of the share within the window, by blocks; see [Share]
	Light bool    // the window was cut short by an overload, so that the share says little
}

func (a *Attained) share() float64 { return a.Good / a.N }

// Capacity is the largest level at which a share Target of the requests is good, as measurements at
// several levels show it.
type Capacity struct {
	Target    float64
	Value     float64 // median of the posterior
	Low, High float64 // its quantiles 2.5 and 97.5 %
	// Slope is by how much the logarithm of the share of bad requests rises, relative to the
	// relative rise of the level.
	Slope      float64
	Dispersion float64 // how many requests are worth one independent one
	// Within is the dispersion of the blocks of the windows; Between is the mean square of the
	// deviations of the levels from the curve, in units of their binomial variance.
	Within, Between float64
	Local           int // measurements near the capacity: they decide
	// Worth is the number of independent requests that the local measurements are worth.
	Worth float64
	// OpenBelow and OpenAbove report that the measurements do not bound the capacity on a side: none
	// is good, or none is bad, or the posterior has not fallen where the grid ends. The interval then
	// ends on that side with the grid, and says nothing.
	OpenBelow, OpenAbove bool

	mode point
}

// point is one of the parameters of the curve.
type point struct{ logLevel, slope float64 }

// The grid of the posterior.
const (
	gridLevels = 121
	gridSlopes = 20
	leastSlope = 2.0
	mostSlope  = 160.0
	margin     = 1.3   // beyond the measured levels
	negligible = 1e-6  // share of the maximum of the posterior
	unbounded  = 0.1   // share of it at an end of the grid from which on that end cuts the posterior; flat: ≥ 0.3
	flattest   = 0.9   // of the exponent: levels far above the capacity do not bend the curve
	lightShare = 0.1   // weight of a level whose requests are mostly bad
	firstGuess = 0.05  // dispersion per request of a window before there is a local level
	priorWorth = 4.0   // degrees of freedom of the prior of the dispersion
	priorRatio = 40.0  // the prior itself
	caution    = 1.6   // by which the dispersion is multiplied, because it is estimated
	normal     = 1.96  // quantile 0.975
	overload   = 0.5   // share of good requests below which a level says little
	faraway    = 25.0  // levels with fewer than 1/25 of the tolerated bad requests are not local
	rounds     = 8     // of the dispersion
	regridded  = 2     // times at most
	lowTail    = 0.025 // of the interval
)

// FitCapacity estimates the capacity from at least one measurement. target is between 0 and 1.
//
// The share of good requests at level x is exp(-exp(η)) with η = ln(-ln target) + s(x/c - 1): the
// share of bad ones of a stable queue falls exponentially with the spare rate, exactly so for
// M/M/1. The likelihood is binomial, with counts divided by the dispersion: misses come in busy
// periods, so that thousands of requests may be worth ten independent ones.
func FitCapacity(measured []Attained, target float64) Capacity {
	out := Capacity{Target: target, Dispersion: firstGuess * meanRequests(measured)}
	lo, hi := math.Inf(1), 0.0
	for i := range measured {
		lo, hi = min(lo, measured[i].Level), max(hi, measured[i].Level)
	}
	lo, hi = math.Log(lo/margin), math.Log(hi*margin)
	first := newGrid(measured, target, lo, hi)
	weights := make([]float64, len(measured))
	for i := range weights {
		weights[i] = 1
	}
	for range rounds {
		first.weigh(weights, out.Dispersion)
		out.mode = first.mode()
		out.disperse(measured, weights)
	}
	g := first
	g.weigh(weights, out.Dispersion)
	for range regridded {
		from, to := g.support()
		if from == 0 && to == gridLevels-1 {
			break
		}
		g = newGrid(measured, target, g.levels[max(from-1, 0)], g.levels[min(to+1, gridLevels-1)])
		g.weigh(weights, out.Dispersion)
	}
	out.Slope = g.mode().slope
	out.Low, out.Value, out.High = g.quantile(lowTail), g.quantile(0.5), g.quantile(1-lowTail)
	first.weigh(weights, out.Dispersion)
	masses := first.masses()
	cut := unbounded * slices.Max(masses)
	pass := func(m Attained) bool { return m.share() >= target }
	fail := func(m Attained) bool { return !pass(m) }
	out.OpenBelow = masses[0] > cut || !slices.ContainsFunc(measured, pass)
	out.OpenAbove = masses[gridLevels-1] > cut || !slices.ContainsFunc(measured, fail)
	return out
}

func meanRequests(measured []Attained) float64 {
	sum := 0.0
	for i := range measured {
		sum += measured[i].N
	}
	return sum / float64(len(measured))
}

// At returns the share of good requests that the curve expects at a level.
func (c *Capacity) At(level float64) float64 {
	return attained(c.Target, point{math.Log(c.Value), c.Slope}, level)
}

// Variance returns that of the share in a window of n requests at a level.
func (c *Capacity) Variance(level, n float64) float64 {
	x := c.At(level)
	return c.Dispersion * x * (1 - x) / n
}

// HalfWidth returns half the width of the interval, relative to the capacity.
func (c *Capacity) HalfWidth() float64 { return math.Log(c.High/c.Low) / 2 }

func attained(target float64, p point, level float64) float64 {
	return math.Exp(-math.Exp(exponent(target, p.slope, level/math.Exp(p.logLevel))))
}

// exponent returns η at a level that is ratio times the capacity.
func exponent(target, slope, ratio float64) float64 {
	return min(math.Log(-math.Log(target))+slope*(ratio-1), flattest)
}

// disperse computes the dispersion by the curve of the mode, and the weights.
func (c *Capacity) disperse(measured []Attained, weights []float64) {
	var errors, variances, squares, requests float64
	c.Local = 0
	for i := range measured {
		m := &measured[i]
		fit := attained(c.Target, c.mode, m.Level)
		weights[i] = 1
		if m.Light || fit < overload {
			weights[i] = lightShare
		}
		if m.Light || fit <= overload || fit >= 1-(1-c.Target)/faraway {
			continue
		}
		v := fit * (1 - fit) / m.N
		c.Local++
		errors += m.Error * m.Error
		variances += v
		squares += (m.share() - fit) * (m.share() - fit) / v
		requests += m.N
	}
	if c.Local == 0 {
		c.Within, c.Between, c.Worth = 0, 0, 0
		c.Dispersion = firstGuess * meanRequests(measured)
		return
	}
	freedom := priorWorth + max(0, float64(c.Local-2))
	c.Within = errors / variances
	c.Between = squares / max(1, float64(c.Local-2))
	between := (priorWorth*max(c.Within, priorRatio) + squares) / freedom
	t := Student(1-lowTail, freedom) / normal
	c.Dispersion = max(1, c.Within, between) * caution * t * t
	c.Worth = requests / c.Dispersion
}

// LeastDispersion returns how many requests are at least worth one independent one, if the blocks
// within windows have a dispersion.
func LeastDispersion(within float64) float64 { return caution * max(within, priorRatio) }

// grid is the posterior of the parameters: flat in the logarithms of both.
type grid struct {
	levels []float64 // logarithms, ascending
	slopes []float64
	// terms are the logarithms of the likelihoods of the measurements, undivided; posterior
	// is their weighted sum. Both by level, then slope.
	terms     [][]float64
	posterior []float64
}

func newGrid(measured []Attained, target, lo, hi float64) *grid {
	g := &grid{
		levels: make([]float64, gridLevels), slopes: make([]float64, gridSlopes),
		posterior: make([]float64, gridLevels*gridSlopes),
	}
	for i := range g.levels {
		g.levels[i] = lo + (hi-lo)*float64(i)/(gridLevels-1)
	}
	for j := range g.slopes {
		g.slopes[j] = leastSlope * math.Pow(mostSlope/leastSlope, float64(j)/(gridSlopes-1))
	}
	for k := range measured {
		m := &measured[k]
		terms := make([]float64, 0, len(g.posterior))
		for _, level := range g.levels {
			ratio := m.Level / math.Exp(level)
			for _, slope := range g.slopes {
				rate := math.Exp(exponent(target, slope, ratio))
				term := -m.Good * rate
				if bad := m.N - m.Good; bad > 0 {
					term += bad * math.Log(-math.Expm1(-rate))
				}
				terms = append(terms, term)
			}
		}
		g.terms = append(g.terms, terms)
	}
	return g
}

func (g *grid) step() float64 { return g.levels[1] - g.levels[0] }

// weigh computes the posterior, relative to its maximum.
func (g *grid) weigh(weights []float64, dispersion float64) {
	clear(g.posterior)
	for k, terms := range g.terms {
		w := weights[k] / dispersion
		for i, term := range terms {
			g.posterior[i] += w * term
		}
	}
	largest := slices.Max(g.posterior)
	for i := range g.posterior {
		g.posterior[i] = math.Exp(g.posterior[i] - largest)
	}
}

// mode returns the likeliest point.
func (g *grid) mode() point {
	at := slices.Index(g.posterior, slices.Max(g.posterior))
	return point{g.levels[at/gridSlopes], g.slopes[at%gridSlopes]}
}

// masses returns the posterior of the levels alone.
func (g *grid) masses() []float64 {
	out := make([]float64, gridLevels)
	for i := range g.posterior {
		out[i/gridSlopes] += g.posterior[i]
	}
	return out
}

// support returns the first and the last level that are not negligible.
func (g *grid) support() (from, to int) {
	masses := g.masses()
	least := negligible * slices.Max(masses)
	from, to = 0, gridLevels-1
	for masses[from] < least {
		from++
	}
	for masses[to] < least {
		to--
	}
	return from, to
}

// quantile returns a quantile of the level. The mass of a point is spread over its cell: a
// quantile at a point itself is too low by up to half a cell.
func (g *grid) quantile(q float64) float64 {
	masses := g.masses()
	total := 0.0
	for _, m := range masses {
		total += m
	}
	sum, half := 0.0, g.step()/2
	for i, m := range masses {
		if sum+m >= q*total && m > 0 {
			return math.Exp(g.levels[i] - half + 2*half*(q*total-sum)/m)
		}
		sum += m
	}
	return math.Exp(g.levels[gridLevels-1] + half)
}
