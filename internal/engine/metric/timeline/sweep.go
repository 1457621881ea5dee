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
	if s.lost {
		return nil
	}
	first, isl, osl := c.needs()
	if first && !s.facts.first || isl && !s.facts.isl || osl && !s.facts.osl {
		return nil
	}
	s.weights = s.weights[:0]
	for i := range s.parts {
		p := &s.parts[i]
		if b := p.timeline.bins; b != nil {
			s.weights = b.weigh(s.weights, c, p.From, p.To)
		} else {
			s.weights = p.weigh(s.weights, c)
		}
	}
	return s.weights
}

// weigh appends the values of a curve over the part's window.
func (p *Part) weigh(dst []Weight, c Curve) []Weight {
	if len(p.Steps) == 0 {
		return dst
	}
	var l level
	from := p.From
	put := func(to time.Duration) {
		to = min(to, p.To)
		if to <= from {
			return
		}
		l.settle()
		if v, share := c.value(&l); share > 0 {
			if n := len(dst); n > 0 && dst[n-1].Value == v {
				dst[n-1].Seconds += (to - from).Seconds()
			} else {
				dst = append(dst, Weight{v, (to - from).Seconds()})
			}
		}
		from = to
	}
	for i := range p.Steps {
		put(p.Steps[i].At)
		l.apply(&p.Steps[i])
	}
	put(p.To)
	return dst
}
