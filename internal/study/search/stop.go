package search

import (
	"reflect"
	"slices"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// Stop are conditions that end a sweep over the load: more load than that of a variation
// that meets one of them is not measured.
type Stop []Filter

// Skips returns why a variation need not be measured, in words; skip = false if it must
// be. It need not if a variation that is done met a condition or failed, and has less load
// and otherwise the same values.
func (s Stop) Skips(v *vary.Variation, done []cell.Outcome) (why string, skip bool) {
	if len(s) == 0 {
		return "", false
	}
	for i := range done {
		o := &done[i]
		if !lighter(&o.Variation, v) {
			continue
		}
		if why, stopped := s.stopped(o); stopped {
			return why, true
		}
	}
	return "", false
}

// stopped returns why no more load than that of an outcome is measured.
func (s Stop) stopped(o *cell.Outcome) (why string, stopped bool) {
	if len(o.Trials) == 0 {
		return "", false
	}
	if len(o.Successful()) == 0 {
		return sweep.Short(o.Values) + " failed", true
	}
	for _, f := range s { // what the load generator measured of itself does not count
		if r := read(f, cell.Sound(o.Trials, f.MetricTag)); r.Observed != nil && f.Holds(*r.Observed) {
			return sweep.Short(o.Values) + " has " + r.sentence(), true
		}
	}
	return "", false
}

// lighter reports whether a has less load than b, and otherwise the same values.
func lighter(a, b *vary.Variation) bool {
	if len(a.Values) != len(b.Values) {
		return false
	}
	less := false
	for _, value := range a.Values {
		at := slices.IndexFunc(b.Values, func(other vary.Assignment) bool { return other.Path == value.Path })
		if at < 0 {
			return false
		}
		if reflect.DeepEqual(value.Value, b.Values[at].Value) {
			continue
		}
		x, isNumber := a.Number(value.Path)
		y, both := b.Number(value.Path)
		if !sweep.IsLoad(value.Path) || !isNumber || !both || x > y {
			return false
		}
		less = less || x < y
	}
	return less
}
