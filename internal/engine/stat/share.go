package stat

import "math"

// Share is a share of successes, with a standard error that allows for successes that come in
// bursts.
type Share struct {
	N, Good float64
	X       float64 // Good/N
	Error   float64 // standard error of X, by the blocks
}

// BlockShare returns the share of good among all, which are counts in the blocks of a window. Without
// any requests X is NaN.
func BlockShare(good, all [Blocks]float64) Share {
	var s Share
	for k := range all {
		s.N += all[k]
		s.Good += good[k]
	}
	s.X, s.Error = RatioError(good, all)
	return s
}

// Margin returns half the width of the interval of a share over the blocks.
func (s Share) Margin() float64 { return studentQuantile(Blocks-1) * s.Error }

// Line is a straight line through the values of the blocks of a window, in their order.
type Line struct {
	Mean float64 // of the values
	Rise float64 // of the line over the whole window
	P    float64 // of no trend: probability of a slope that is farther from 0
}

// BlockLine returns the line of least squares.
func BlockLine(values [Blocks]float64) Line {
	var t Line
	for _, v := range values {
		t.Mean += v / Blocks
	}
	const middle = (Blocks - 1) / 2.0
	var xx, xy, yy float64
	for k, v := range values {
		x, y := float64(k)-middle, v-t.Mean
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	slope := xy / xx
	t.Rise = slope * Blocks
	residual := max(0, yy-slope*xy) / (Blocks - 2)
	switch {
	case slope == 0:
		t.P = 1
	case residual == 0:
		t.P = 0
	default:
		t.P = StudentTail(math.Abs(slope)/math.Sqrt(residual/xx), Blocks-2)
	}
	return t
}

// rare is the level at which a trend is not chance.
const rare = 0.01

// Growing reports whether a number of requests in flight grows over the window: by more than 5
// and 30 % of its mean. It is true for 82 to 89 % of windows at 1.05 times the saturation, and
// for 3 to 5 % at 0.9 times.
func (t Line) Growing() bool {
	return t.Rise > 0 && t.P < rare && t.Rise > max(5, 0.3*t.Mean)
}

// Drifting reports whether a latency changes over the window by more than 5 % of its mean.
func (t Line) Drifting() bool { return t.P < rare && math.Abs(t.Rise) > 0.05*math.Abs(t.Mean) }
