package timeline

import (
	"cmp"
	"slices"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// Sweep computes curves over one or several phases.
type Sweep struct {
	parts   []Part
	facts   facts
	bin     time.Duration // the widest bin; 0 = every part is exact
	lost    bool          // the disk has lost requests, so that there are no curves
	weights []Weight
}

// Part is the timeline of one phase within a window.
type Part struct {
	From, To time.Duration
	Steps    []Step // in order of time; nil if the timeline is binned

	timeline *Timeline
}

// Weight is a value and how long it lasted.
type Weight struct {
	Value   float64
	Seconds float64
}

// Part returns the timeline within a window.
func (t *Timeline) Part(from, to time.Duration) Part {
	steps := make([]Step, 0, t.steps)
	for r, gaps := range t.Requests() {
		steps = r.Steps(steps, gaps)
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) }) // in place: there can be millions
	return Part{From: from, To: to, Steps: steps, timeline: t}
}

// NewSweep returns a sweep over the windows of parts, one after the other.
func NewSweep(parts ...Part) *Sweep {
	s := &Sweep{parts: parts}
	for i := range parts {
		t := parts[i].timeline
		s.facts = s.facts.or(t.facts)
		if t.bins != nil {
			s.bin = max(s.bin, t.bins.width())
		}
		s.lost = s.lost || t.disk.Lost()
	}
	return s
}

// Bin returns the width of the widest bins; 0 if curves are exact.
func (s *Sweep) Bin() time.Duration { return s.bin }

// Curve returns the values of a curve, which the caller may change until the next
// call. There are none if the requests lack the facts that it is computed from.
func (s *Sweep) Curve(c catalogue.CurveKind) []Weight {
	if !s.has(c) {
		return nil
	}
	s.weights = s.weights[:0]
	for i := range s.parts {
		s.parts[i].spans(c, s.collect)
	}
	return s.weights
}

// collect appends a value; equal neighbours are joined.
func (s *Sweep) collect(v, share float64, from, to time.Duration) {
	seconds := share * (to - from).Seconds()
	if n := len(s.weights); n > 0 && s.weights[n-1].Value == v {
		s.weights[n-1].Seconds += seconds
	} else {
		s.weights = append(s.weights, Weight{v, seconds})
	}
}

// At returns the first and the last instant in the window of the first part at which at
// least level requests were in flight; false if there was none, or it is not known.
func (s *Sweep) At(level float64) (from, to time.Duration, ok bool) {
	if s.lost {
		return 0, 0, false
	}
	return s.parts[0].at(level)
}

// Peak returns the largest mean of a curve over intervals of a width from the beginning
// of each part on; an interval that the part cuts short counts only if it is the first.
// False if there is no curve.
func (s *Sweep) Peak(c catalogue.CurveKind, width time.Duration) (peak float64, ok bool) {
	if !s.has(c) {
		return 0, false
	}
	for i := range s.parts {
		p := &s.parts[i]
		begin, area := p.From, 0.0
		p.spans(c, func(v, share float64, from, to time.Duration) {
			for to > from {
				if from >= begin+width { // the curve was absent in between
					peak, ok = max(peak, area/width.Seconds()), true
					begin, area = from-(from-p.From)%width, 0
				}
				until := min(to, begin+width)
				area += v * share * (until - from).Seconds()
				from = until
			}
		})
		if whole := begin+width <= p.To; whole || begin == p.From && p.To > p.From {
			peak, ok = max(peak, area/min(width, p.To-begin).Seconds()), true
		}
	}
	return peak, ok
}

// Cut yields the values of a curve of the first part between consecutive bounds, in
// order; those of bounds[i] and bounds[i+1] are the i-th. The caller may change them
// until the next.
func (s *Sweep) Cut(c catalogue.CurveKind, bounds []time.Duration, yield func(i int, ws []Weight)) {
	if !s.has(c) {
		return
	}
	s.weights = s.weights[:0]
	i := 0
	flush := func() {
		if len(s.weights) > 0 {
			yield(i, s.weights)
		}
		s.weights = s.weights[:0]
		i++
	}
	s.parts[0].spans(c, func(v, share float64, from, to time.Duration) {
		for i+1 < len(bounds) && from < to {
			if end := min(to, bounds[i+1]); end > from {
				if from = max(from, bounds[i]); end > from {
					s.collect(v, share, from, end)
				}
				from = end
			}
			if from >= bounds[i+1] {
				flush()
			}
		}
	})
	if i+1 < len(bounds) {
		flush()
	}
}

// has reports whether there is a curve.
func (s *Sweep) has(c catalogue.CurveKind) bool {
	first, isl, osl := needs(c)
	return !s.lost && (!first || s.facts.first) && (!isl || s.facts.isl) && (!osl || s.facts.osl)
}

// span takes the value of a curve between two instants and the share of the time for
// which it counts.
type span func(v, share float64, from, to time.Duration)

// spans passes the values of a curve over the part's window on, in order of time.
func (p *Part) spans(c catalogue.CurveKind, put span) {
	if b := p.timeline.bins; b != nil {
		b.spans(c, p.From, p.To, put)
		return
	}
	var l level
	from := p.From
	until := func(to time.Duration) {
		to = min(to, p.To)
		if to <= from {
			return
		}
		l.settle()
		if v, share := valueAt(c, &l); share > 0 {
			put(v, share, from, to)
		}
		from = to
	}
	if len(p.Steps) == 0 {
		return
	}
	for i := range p.Steps {
		until(p.Steps[i].At)
		l.apply(&p.Steps[i])
	}
	until(p.To)
}
