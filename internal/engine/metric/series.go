package metric

import "aiperfd/internal/engine/sketch"

// series is one metric with its values so far.
type series struct {
	row    *row
	sketch *sketch.Sketch // in seconds, bytes, tokens …
	exact  column         // in base units, in order of observation
	order  *order         // what is left of their order; nil = exact has all values
}

// dropped reports whether the values themselves are gone.
func (s *series) dropped() bool { return s.order != nil }

// add takes one value in base units.
func (s *series) add(x float64) {
	s.sketch.Add(x / s.row.unit.sketch)
	if s.order != nil {
		s.order.add(x)
		return
	}
	s.exact.add(x)
}

// addAll takes several values in base units.
func (s *series) addAll(xs []float64) {
	s.sketch.AddAll(xs, s.row.unit.sketch)
	if s.order != nil {
		s.order.addAll(xs)
		return
	}
	s.exact.addAll(xs)
}

// drop forgets the values; what is known of their order is carried on. The
// thresholds whose crossings are counted from here on are the percentiles of the
// values so far.
func (s *series) drop() {
	if s.order != nil {
		return
	}
	var at [len(monitored)]float64
	s.sketch.Quantiles(monitored[:], at[:])
	for i := range at {
		at[i] *= s.row.unit.sketch
	}
	s.order = newOrder(at)
	for run := range s.exact.runs() {
		s.order.addAll(run)
	}
	s.exact = column{}
}

// merge adds the values of o, a series of the same metric, as if they had come
// after ours.
func (s *series) merge(o *series) {
	if s.order == nil && o.order != nil {
		s.drop()
	}
	s.sketch.Merge(o.sketch)
	switch {
	case s.order == nil:
		s.exact.join(&o.exact)
	case o.order == nil:
		for run := range o.exact.runs() {
			s.order.addAll(run)
		}
	default:
		s.order.merge(o.order)
	}
}

// size returns the memory held, in bytes.
func (s *series) size() int64 {
	n := s.sketch.Size() + s.exact.bytes
	if s.order != nil {
		n += orderBytes
	}
	return n
}
