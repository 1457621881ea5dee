package search

import "slices"

// bracket is what is known of a boundary: the largest value that passes and the smallest
// above it that fails.
type bracket struct {
	pass, fail       float64
	hasPass, hasFail bool
	contrary         []float64 // values that pass above a fail, or fail below a pass
}

// observe takes a verdict. One that contradicts earlier ones does not move the bracket.
func (b *bracket) observe(x float64, pass bool) {
	switch {
	case pass && b.hasFail && x >= b.fail, !pass && b.hasPass && x <= b.pass:
		b.contrary = append(b.contrary, x)
	case pass:
		if !b.hasPass || x > b.pass {
			b.pass, b.hasPass = x, true
		}
	case !b.hasFail || x < b.fail:
		b.fail, b.hasFail = x, true
	}
}

// double returns the next value on the way up to the first fail. It returns false, and
// why the search is over, if there is none.
func (b *bracket) double(lo, hi float64) (x float64, reason stop) {
	switch {
	case !b.hasPass && !b.hasFail:
		return lo, ""
	case !b.hasPass:
		return 0, noPass
	case b.pass >= hi:
		return 0, noFailure
	}
	return min(max(2*b.pass, b.pass+1), hi), ""
}

// middle returns the whole number in the middle of the bracket.
func (b *bracket) middle() float64 { return b.pass + float64(int64(b.fail-b.pass)/2) }

// inside reports whether x lies between the ends.
func (b *bracket) inside(x float64) bool { return x > b.pass && x < b.fail }

// stop is why a search ended; empty = it goes on. Names follow AIPerf, with the name of
// the algorithm in front.
type stop string

const (
	noPass    stop = "no_pass_in_range"
	noFailure stop = "no_failure_in_range"
	precise   stop = "precision_reached"
	exhausted stop = "max_iterations"
	impatient stop = "improvement_patience"
	plateau   stop = "plateau"
	complete  stop = "space_exhausted"
)

// named returns the stop as history files have it.
func (s stop) named(prefix string) string {
	if slices.Contains([]stop{noPass, noFailure, precise}, s) {
		return prefix + "_" + string(s)
	}
	return string(s)
}
