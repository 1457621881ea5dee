package measure

import (
	"maps"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// fold accumulates the metrics of some of the records of a set. Unlike a [Set], it
// takes memory only for metrics that have values, so that there can be thousands.
type fold struct {
	tally   catalogue.Tally
	samples []sample // one for each series of the set
	server  int      // index + 1 of the target of all its records; 0 = they may have several
}

func newFold(s *Set) *fold {
	f := &fold{samples: make([]sample, len(s.series))}
	f.tally.ByClass = maps.Clone(s.tally.ByClass)
	clear(f.tally.ByClass)
	for _, slo := range s.tally.SLOs {
		f.tally.SLOs = append(f.tally.SLOs, catalogue.SLOCount{Tag: slo.Tag, Threshold: slo.Threshold})
	}
	return f
}

// merge adds the records of o.
func (f *fold) merge(o *fold, s *Set) {
	for i := range f.samples {
		f.samples[i].merge(&o.samples[i], s.series[i].row.SketchDiv)
	}
	f.tally.Merge(&o.tally)
}

// size returns the memory of the samples in bytes.
func (f *fold) size() int64 {
	n := int64(foldBytes + sampleBytes*len(f.samples))
	for i := range f.samples {
		n += f.samples[i].size()
	}
	return n
}

// sketchAll turns all values into sketches.
func (f *fold) sketchAll(s *Set) {
	for i := range f.samples {
		f.samples[i].toSketch(s.series[i].row.SketchDiv)
	}
}

// The memory of a fold besides values, in bytes, and the values of a metric that are
// kept before they become a sketch.
const (
	foldBytes   = 512
	sampleBytes = 32
	sampleMost  = 512
)

// sample holds the values of one metric: all of them while they are few, then a sketch.
// The zero sample is empty.
type sample struct {
	values []float64 // in base units, in order of observation
	sketch *sketch.Sketch
}

// count returns the number of values.
func (s *sample) count() uint64 {
	if s.sketch != nil {
		return s.sketch.Count()
	}
	return uint64(len(s.values))
}

// sum returns the sum in base units.
func (s *sample) sum(div float64) float64 {
	if s.sketch != nil {
		return s.sketch.Sum() * div
	}
	var sum float64
	for _, x := range s.values {
		sum += x
	}
	return sum
}

// add adds values in base units; div makes them those of a sketch.
func (s *sample) add(div float64, values ...float64) {
	if s.sketch == nil && len(s.values)+len(values) > sampleMost {
		s.toSketch(div)
	}
	if s.sketch != nil {
		s.sketch.AddAll(values, div)
		return
	}
	s.values = append(s.values, values...)
}

// toSketch turns the values into a sketch.
func (s *sample) toSketch(div float64) {
	if s.sketch == nil {
		s.sketch = sketch.New()
		s.sketch.AddAll(s.values, div)
		s.values = nil
	}
}

func (s *sample) merge(o *sample, div float64) {
	if o.sketch != nil {
		s.toSketch(div)
		s.sketch.Merge(o.sketch)
		return
	}
	s.add(div, o.values...)
}

func (s *sample) size() int64 {
	n := 8 * int64(cap(s.values))
	if s.sketch != nil {
		n += s.sketch.Size()
	}
	return n
}

// fill computes the statistics.
func (s *sample) fill(res *metric.Result, r *catalogue.Row) {
	switch {
	case s.count() == 0:
	case s.sketch != nil:
		sketched(res, s.sketch, r.SketchDiv/r.Div)
		res.Set(metric.MAD, medianDeviation(s.sketch)*r.SketchDiv/r.Div)
	default:
		exactly(res, slices.Values([][]float64{s.values}), slices.Sorted(slices.Values(s.values)), r.Div)
	}
}

// fillAdjusted computes the error-adjusted twin.
func (s *sample) fillAdjusted(res *metric.Result, r *catalogue.Row, errors int64) {
	n := int64(s.count())
	if errors == 0 || n == 0 {
		return
	}
	if s.sketch != nil {
		res.RelError = sketch.RelativeError
		withErrors(res, n, errors, func(k int64) float64 { return s.sketch.Rank(uint64(k)) * r.SketchDiv / r.Div })
		return
	}
	sorted := slices.Sorted(slices.Values(s.values))
	withErrors(res, n, errors, func(k int64) float64 { return sorted[k] / r.Div })
}

// sums returns the sums of the samples.
func (f *fold) sums(s *Set) sums {
	return sums{
		s,
		func(i int) uint64 { return f.samples[i].count() },
		func(i int) float64 { return f.samples[i].sum(s.series[i].row.SketchDiv) },
	}
}

// results computes the metrics of the records over a window. What is known of the
// phase as a whole only is absent. curves are those of the window.
func (f *fold) results(s *Set, t *catalogue.Totals, curves map[catalogue.CurveKind]metric.Result) metric.Results {
	t.Tally, t.Sums, t.Dropped, t.Opened = &f.tally, f.sums(s), math.NaN(), math.NaN()
	out := s.collect(func(res *metric.Result, r *catalogue.Row) {
		switch {
		case r.Total != nil:
			res.Set(metric.Avg, r.Total(t))
		case r.Curve != catalogue.NoCurve:
			if c, ok := curves[r.Curve]; ok {
				*res = c
			}
		case r.Lag != nil, r.Power != nil, r.Bounded != "":
		case r.Trip:
			if !math.IsNaN(s.network.to(f.server)) {
				s.network.fill(res, r)
			}
		case r.LessTrip != "":
			base := s.byTag[r.LessTrip]
			fillLess(res, s.series[base].row, []lessened{{f.samples[base], s.network.to(f.server)}})
		case r.Base != "":
			base := s.byTag[r.Base]
			f.samples[base].fillAdjusted(res, s.series[base].row, f.tally.Errors)
		default:
			f.samples[s.byTag[r.Tag]].fill(res, r)
		}
	})
	return append(out, attainments(s.slos, &f.tally)...)
}

// attainments returns the share of successes and errors that meet each objective.
func attainments(slos []slo, t *catalogue.Tally) metric.Results {
	var out metric.Results
	for i := range slos {
		res := metric.Result{Def: &slos[i].def}
		res.Set(metric.Avg, float64(t.SLOs[i].Met)/float64(t.Success+t.Errors))
		if !res.Empty() {
			out = append(out, res)
		}
	}
	return out
}
