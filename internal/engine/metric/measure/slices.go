package measure

import (
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
)

// Slice is an interval of a phase with the metrics of the requests that started in it.
// Rates are divided by its length; curves and the counts of what happened in it are
// those of the interval. Intervals of confidence are absent.
type Slice struct {
	From, To time.Duration
	Complete bool // as long as the others: the phase did not end in it
	Results  metric.Results
}

// mostSlices bounds the number of slices. When there are more, or when they take more
// memory than the budget of the set, neighbours are joined.
const mostSlices = 16384

// slicer divides the records of a set by the time at which they started.
type slicer struct {
	width   time.Duration
	origin  time.Duration
	folds   []*fold // nil = no record
	pending int     // values since the size was determined
	tight   bool    // values become sketches at once
}

// at returns the slice of an instant. A request that started before the phase, because
// the clock of the run is finer than that of its phases, belongs to the first one.
func (l *slicer) at(start time.Duration, s *Set) *fold {
	i := int(max(0, start-l.origin) / l.width)
	for i >= mostSlices {
		l.join(s)
		i /= 2
	}
	for len(l.folds) <= i {
		l.folds = append(l.folds, nil)
	}
	if l.folds[i] == nil {
		l.folds[i] = newFold(s)
	}
	return l.folds[i]
}

// join doubles the width of the slices.
func (l *slicer) join(s *Set) {
	l.width *= 2
	joined := make([]*fold, (len(l.folds)+1)/2)
	for i, f := range l.folds {
		switch {
		case f == nil:
		case joined[i/2] == nil:
			joined[i/2] = f
		default:
			joined[i/2].merge(f, s)
		}
	}
	l.folds = joined
}

// enforce keeps the slices within the budget: first their values become sketches, then
// they are joined. The size is determined when there may be a kilobyte more per slice.
func (l *slicer) enforce(s *Set, values int) {
	if l.pending += values; l.pending < max(1<<13, len(l.folds)<<7) {
		return
	}
	l.pending = 0
	for l.size() > s.opts.Budget && len(l.folds) > 1 {
		if l.tight {
			l.join(s)
		}
		l.tight = true
		for _, f := range l.folds {
			if f != nil {
				f.sketchAll(s)
			}
		}
	}
}

func (l *slicer) size() int64 {
	var n int64
	for _, f := range l.folds {
		if f != nil {
			n += f.size()
		}
	}
	return n
}

// slices computes the slices of the only part.
func (f *finisher) slices() []Slice {
	l, s := f.set.slicer, f.set
	if l == nil || len(l.folds) == 0 {
		return nil
	}
	end := l.origin + f.parts[0].Window
	bounds := []time.Duration{l.origin}
	for at := l.origin + l.width; at < end; at += l.width {
		bounds = append(bounds, at)
	}
	bounds = append(bounds, end)
	out := make([]Slice, len(bounds)-1)
	flows := s.timeline.Flows(bounds)
	curves := f.cut(bounds)
	for i := range out {
		from, to := bounds[i], bounds[i+1]
		part := newFold(s)
		if i < len(l.folds) && l.folds[i] != nil {
			part = l.folds[i]
		}
		t := &catalogue.Totals{Window: seconds(to - from), Flow: &flows[i]}
		out[i] = Slice{From: from, To: to, Complete: to-from == l.width, Results: part.results(s, t, curves[i])}
	}
	return out
}

// cut computes the curves between bounds, as results by curve.
func (f *finisher) cut(bounds []time.Duration) []map[catalogue.CurveKind]metric.Result {
	out := make([]map[catalogue.CurveKind]metric.Result, len(bounds)-1)
	f.begin()
	rows, run := catalogue.Rows(), f.set.opts.run()
	for i := range rows {
		r := &rows[i]
		if r.Curve == catalogue.NoCurve || !run.Measures(r) {
			continue
		}
		f.sweep.Cut(r.Curve, bounds, func(i int, ws []timeline.Weight) {
			res := metric.Result{Def: &r.Def, Bin: f.sweep.Bin()}
			weighted(&res, ws)
			if out[i] == nil {
				out[i] = make(map[catalogue.CurveKind]metric.Result)
			}
			out[i][r.Curve] = res
		})
	}
	return out
}
