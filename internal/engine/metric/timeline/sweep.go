package timeline

import (
	"cmp"
	"slices"
	"time"
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
func (s *Sweep) Curve(c Curve) []Weight {
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

// Cut yields the values of a curve of the first part between consecutive bounds, in
// order; those of bounds[i] and bounds[i+1] are the i-th. The caller may change them
// until the next.
func (s *Sweep) Cut(c Curve, bounds []time.Duration, yield func(i int, ws []Weight)) {
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
func (s *Sweep) has(c Curve) bool {
	first, isl, osl := c.needs()
	return !s.lost && (!first || s.facts.first) && (!isl || s.facts.isl) && (!osl || s.facts.osl)
}

// span takes the value of a curve between two instants and the share of the time for
// which it counts.
type span func(v, share float64, from, to time.Duration)

// spans passes the values of a curve over the part's window on, in order of time.
func (p *Part) spans(c Curve, put span) {
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
		if v, share := c.value(&l); share > 0 {
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
