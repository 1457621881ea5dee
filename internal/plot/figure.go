package plot

import (
	"errors"
	"math"
	"slices"
)

// errNoData is the error of a plot for which the results have no data.
var errNoData = errors.New("the results have no data for it")

// preset is a plot that can be asked for.
type preset struct {
	name, about string
	figure      func(*results) (*figure, error)
}

// figure is one picture: panels one above the other, with the same horizontal axis.
type figure struct {
	title  string
	panels []panel
}

// panel is one system of coordinates.
type panel struct {
	x, y   string // labels of the axes, with units
	logX   bool
	series []series
}

// series is one set of points.
type series struct {
	name   string // in the legend; empty = not in it
	colour int    // of the palette
	points []point
	labels []string // beside the points; nil = none
	style  style
	low    []float64 // of the range of each point, vertically; nil = none
	high   []float64
}

// style is how a series is drawn.
type style uint8

const (
	line   style = iota
	dots         // small, for many points
	marks        // large, for a few points
	joined       // marks joined by a line
	hollow       // marks of points that are no result
	bars         // horizontal, each from one point to the next
)

// scale returns the ranges and ticks of the axes of one of several panels.
func (s *panel) scale(panels int) axes {
	a := axes{xMin: math.Inf(1), xMax: math.Inf(-1), yMin: math.Inf(1), yMax: math.Inf(-1)}
	for _, one := range s.series {
		a.include(one)
	}
	a.yMin = min(0, a.yMin)
	if a.yMax <= a.yMin {
		a.yMax = a.yMin + 1
	}
	a.yMax += (a.yMax - a.yMin) * s.headroom()
	a.yTicks = roundTicks(a.yMin, a.yMax, 8/float64(panels))
	if s.logX && a.xMin > 0 && a.xMin <= a.xMax {
		a.logX = true
		a.xMin, a.xMax = a.xMin*0.8, a.xMax*1.25
		a.xTicks = decadeTicks(a.xMin, a.xMax)
		return a
	}
	a.xMin = min(0, a.xMin)
	if a.xMax <= a.xMin {
		a.xMax = a.xMin + 1
	}
	if slices.ContainsFunc(s.series, func(one series) bool { return one.labels != nil }) {
		a.xMax += (a.xMax - a.xMin) * 0.12 // room for the labels
	}
	a.xTicks = roundTicks(a.xMin, a.xMax, 10)
	return a
}

// headroom is the room above the data for the legend, as a share of their height.
func (s *panel) headroom() float64 {
	room := 0.05
	for _, one := range s.series {
		if one.name != "" {
			room += 0.06
		}
	}
	return room
}

// axes is a panel's system of coordinates.
type axes struct {
	left, right, top, bottom float64 // where the data are drawn
	xMin, xMax, yMin, yMax   float64 // of the data
	logX                     bool
	xTicks, yTicks           []tick
}

// include widens the ranges to those of a series.
func (a *axes) include(s series) {
	for i, p := range s.points {
		a.xMin, a.xMax = min(a.xMin, p.X), max(a.xMax, p.X)
		a.yMin, a.yMax = min(a.yMin, p.Y), max(a.yMax, p.Y)
		if s.low != nil {
			a.yMin, a.yMax = min(a.yMin, s.low[i]), max(a.yMax, s.high[i])
		}
	}
}

// at returns where a point of the data is drawn.
func (a *axes) at(p point) point {
	x := (p.X - a.xMin) / (a.xMax - a.xMin)
	if a.logX {
		x = math.Log(p.X/a.xMin) / math.Log(a.xMax/a.xMin)
	}
	y := (p.Y - a.yMin) / (a.yMax - a.yMin)
	return point{a.left + x*(a.right-a.left), a.bottom + y*(a.top-a.bottom)}
}

// tick is a marked value of an axis.
type tick struct {
	value float64
	label string // empty = none
}

// roundTicks marks multiples of 1, 2 or 5 times a power of ten, about n of them.
func roundTicks(low, high, n float64) []tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/n)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= n {
			step *= factor
			break
		}
	}
	var ticks []tick
	for i := math.Ceil(low / step); i*step <= high+step/1e6; i++ {
		v := i * step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		ticks = append(ticks, tick{v, number(math.Round(v/step*1e6) / 1e6 * step)})
	}
	return ticks
}

// decadeTicks marks multiples of the powers of ten, and labels 1, 2 and 5 times them.
func decadeTicks(low, high float64) []tick {
	if low <= 0 || math.IsInf(high, 0) {
		return nil
	}
	var ticks []tick
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, decade)
			if v < low || v > high {
				continue
			}
			label := ""
			if m == 1 || m == 2 || m == 5 {
				label = number(v)
			}
			ticks = append(ticks, tick{v, label})
		}
	}
	return ticks
}
