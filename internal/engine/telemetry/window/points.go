package window

import (
	"math"
	"time"
)

// Points divide readings for a curve: each is some readings that follow each other.
type Points struct{ bounds []int }

// MostPoints is how many points a curve has at most.
const MostPoints = 400

// Divide divides so many readings into points.
func Divide(readings int) Points {
	each := (readings + MostPoints - 1) / MostPoints
	p := Points{[]int{0}}
	for from := 0; from < readings; from += each {
		p.bounds = append(p.bounds, min(from+each, readings))
	}
	return p
}

// Ends returns the time of the last reading of each point, in seconds from a time on.
func (p Points) Ends(times []time.Duration, from time.Duration) []float64 {
	var out []float64
	for _, end := range p.bounds[1:] {
		out = append(out, rounded((times[end-1] - from).Seconds()))
	}
	return out
}

// Reduce returns a value of each point; nil = none of its readings has one.
func (p Points) Reduce(values []float64, of func([]float64) float64) []*float64 {
	out := make([]*float64, 0, len(p.bounds)-1)
	for i, end := range p.bounds[1:] {
		var known []float64
		for _, v := range values[p.bounds[i]:end] {
			if !math.IsNaN(v) {
				known = append(known, v)
			}
		}
		if len(known) == 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, new(rounded(of(known))))
	}
	return out
}

// rounded returns a number with four decimals: curves are drawn.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }
