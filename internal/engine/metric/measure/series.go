package measure

import (
	"math"

	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/stat"
)

// series is one metric with its values so far. ADR 16 compares its stores.
type series struct {
	row    *catalogue.Row
	sketch *sketch.Sketch  // in seconds, bytes, tokens …
	exact  timeline.Column // in base units, in order of observation
	// sequence summarizes their order; nil = exact has all values.
	sequence *stat.Sequence
	// least are lower bounds of the values of the requests that the end of the grace
	// period cut: one at most for each that was in flight then.
	least []float64
}

// dropped reports whether the values were dropped.
func (s *series) dropped() bool { return s.sequence != nil }

// add adds one value in base units.
func (s *series) add(x float64) {
	s.sketch.Add(x / s.row.SketchDiv)
	if s.sequence != nil {
		s.sequence.Add(x)
		return
	}
	s.exact.Add(x)
}

// addLeast adds a lower bound in base units; NaN = there is none.
func (s *series) addLeast(x float64) {
	if !math.IsNaN(x) {
		s.least = append(s.least, x)
	}
}

// addAll adds several values in base units.
func (s *series) addAll(xs []float64) {
	s.sketch.AddAll(xs, s.row.SketchDiv)
	if s.sequence != nil {
		s.sequence.AddAll(xs)
		return
	}
	s.exact.AddAll(xs)
}

// drop removes the values; the sequence continues from them. Its thresholds are the
// percentiles of the values so far.
func (s *series) drop() {
	if s.sequence != nil {
		return
	}
	var at [stat.Thresholds]float64
	s.sketch.Quantiles(monitored[:], at[:])
	for i := range at {
		at[i] *= s.row.SketchDiv
	}
	s.sequence = stat.NewSequence(at)
	for run := range s.exact.Runs() {
		s.sequence.AddAll(run)
	}
	s.exact = timeline.Column{}
}

// merge adds the values of o, a series of the same metric, as if they had come after
// those of s.
func (s *series) merge(o *series) {
	if s.sequence == nil && o.sequence != nil {
		s.drop()
	}
	s.sketch.Merge(o.sketch)
	s.least = append(s.least, o.least...)
	switch {
	case s.sequence == nil:
		s.exact.Join(&o.exact)
	case o.sequence == nil:
		for run := range o.exact.Runs() {
			s.sequence.AddAll(run)
		}
	default:
		s.sequence.Merge(o.sequence)
	}
}

// size returns the size of the series in memory and on disk, in bytes.
func (s *series) size() int64 {
	n := s.sketch.Size() + s.exact.Size()
	if s.sequence != nil {
		n += stat.SequenceSize
	}
	return n
}
