package measure

import (
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// Network is the round trips between the client and the servers of a run, in nanoseconds.
type Network struct {
	Trips []float64 // as they were measured, or the one that was given; empty = only the least are known
	// Least has the least round trip to each target, NaN if it is unknown; a single one is that to all targets.
	Least []float64
}

// Adjust sets the round trips that are subtracted from latencies. Call it before the results are computed.
func (s *Set) Adjust(n *Network) { s.network = n }

// to returns the round trip to a server: index + 1 of a target, or 0 for records of all targets. NaN = it is unknown,
// or differs between the targets.
func (n *Network) to(server int) float64 {
	switch {
	case n == nil || len(n.Least) == 0:
		return math.NaN()
	case len(n.Least) == 1:
		return n.Least[0]
	case server > 0:
		return n.Least[server-1]
	}
	for _, trip := range n.Least {
		if trip != n.Least[0] {
			return math.NaN()
		}
	}
	return n.Least[0]
}

// fill computes the statistics of the round trips.
func (n *Network) fill(res *metric.Result, r *catalogue.Row) {
	if n == nil {
		return
	}
	known := slices.DeleteFunc(slices.Clone(n.Least), math.IsNaN)
	trips := slices.Sorted(slices.Values(n.Trips))
	if len(trips) == 0 {
		trips = slices.Sorted(slices.Values(known))
	}
	if len(trips) == 0 {
		return
	}
	exactly(res, slices.Values([][]float64{trips}), trips, r.Div)
	if len(known) > 0 {
		res.Set(metric.Min, min(trips[0], slices.Min(known))/r.Div)
	}
}

// lessened are values of a metric with the round trip that is subtracted from each; NaN = it is unknown.
type lessened struct {
	sample
	trip float64
}

// fillLessTrip computes a metric without the round trips.
func (f *finisher) fillLessTrip(res *metric.Result, base int) {
	s := f.set
	if f.live || s.network == nil {
		return
	}
	se := &s.series[base]
	trip := s.network.to(0)
	if math.IsNaN(trip) {
		var parts []lessened
		for i, target := range s.targets {
			parts = append(parts, lessened{target.samples[base], s.network.to(i + 1)})
		}
		fillLess(res, se.row, parts)
		return
	}
	all := lessened{sample{sketch: se.sketch}, trip}
	if !se.dropped() {
		if sorted := f.sort(se); len(sorted) == se.exact.Len() { // else the disk has lost some
			all.sample = sample{values: sorted}
		}
	}
	fillLess(res, se.row, []lessened{all})
}

// fillLess computes the statistics of what is left of values; none if the round trip of one is unknown.
func fillLess(res *metric.Result, row *catalogue.Row, parts []lessened) {
	parts = slices.DeleteFunc(parts, func(p lessened) bool { return p.count() == 0 })
	if len(parts) == 0 || slices.ContainsFunc(parts, func(p lessened) bool { return math.IsNaN(p.trip) }) {
		return
	}
	if slices.ContainsFunc(parts, func(p lessened) bool { return p.sketch != nil }) {
		fillLessSketched(res, row, parts)
		return
	}
	var left []float64
	for _, p := range parts {
		for _, v := range p.values {
			left = append(left, max(0, v-p.trip))
		}
	}
	slices.Sort(left)
	exactly(res, slices.Values([][]float64{left}), left, row.Div)
}

// fillLessSketched does the same from sketches. What remains of a value keeps its absolute error, so that its relative
// error is larger.
func fillLessSketched(res *metric.Result, row *catalogue.Row, parts []lessened) {
	scale := row.SketchDiv / row.Div
	if p := &parts[0]; len(parts) == 1 && p.sketch.Min() >= p.trip/row.SketchDiv {
		sketched(res, p.sketch, scale)
		shift(res, p.trip/row.Div)
		return
	}
	left := sketch.New()
	longest := 0.0
	for _, p := range parts {
		p.toSketch(row.SketchDiv)
		trip := p.trip / row.SketchDiv
		longest = max(longest, trip)
		for b := range p.sketch.Buckets() {
			middle := max(p.sketch.Min(), min(p.sketch.Max(), (b.Lower+b.Upper)/2))
			for range b.Count {
				left.Add(max(0, middle-trip))
			}
		}
	}
	sketched(res, left, scale)
	if p1 := left.Quantile(quantiles[0]); p1 > 0 {
		res.RelError = sketch.RelativeError * (1 + (p1+longest)/p1)
	}
}

// shift subtracts a constant, which no value is below, from the statistics of a sketch.
func shift(res *metric.Result, by float64) {
	less := func(s metric.Stat, by float64) {
		if v, ok := res.Get(s); ok {
			res.Set(s, max(0, v-by))
		}
	}
	if p1, ok := res.Get(metric.P1); ok && p1 > by {
		res.RelError = sketch.RelativeError * p1 / (p1 - by)
	}
	for _, s := range []metric.Stat{metric.Avg, metric.Min, metric.Max} {
		less(s, by)
	}
	for _, p := range percentiles {
		less(p.stat, by)
	}
	less(metric.Sum, by*float64(res.Count))
	spread(res)
}
