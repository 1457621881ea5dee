package metric

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// span is what the curves know of one request.
type span struct {
	start, end time.Duration
	first      time.Duration // first content event; 0 = none, or the request failed
	isl, osl   float64       // NaN = unknown
	gapsAt     int           // where its gaps begin in inter_chunk_latency
	gaps       int           // 0 = none, or they are not kept
}

// keepSpan adds the record to the spans.
func (s *Set) keepSpan(v *view) {
	st := &v.r.Stamps
	if s.noSpans || st.Start == 0 {
		return
	}
	if len(s.spans) >= s.opts.ExactLimit {
		s.spans, s.noSpans = nil, true
		return
	}
	sp := span{start: st.Start, end: max(st.End, st.Start), isl: v.isl, osl: v.osl}
	if v.outcome == success && v.streams {
		sp.first = st.Start + time.Duration(v.first)
		if gaps := s.gapValues(); gaps != nil {
			sp.gaps = v.gaps
			sp.gapsAt = len(gaps) - v.gaps
		}
	}
	s.spans = append(s.spans, sp)
}

// gapValues returns the gaps between content events of all requests in order of
// observation; nil if they are not kept.
func (s *Set) gapValues() []float64 {
	if i, ok := s.byTag["inter_chunk_latency"]; ok {
		return s.series[i].exact
	}
	return nil
}

// step is a change of the level at an instant. It is small because a run can
// have millions.
type step struct {
	at    time.Duration
	delta float64 // of the rate or the tokens that the change is about
	what  change
}

// change says what a step changes.
type change uint8

const (
	requestBegins change = iota
	requestEnds
	prefillBegins
	prefillEnds
	decodeBegins // delta is the even rate
	decodeEnds
	gapBegins // delta is the rate by gaps
	gapEnds
	tokensCome // also when they go
)

// level is the state between two instants.
type level struct {
	decodeRate  float64 // by the gaps between content events
	evenRate    float64 // by the time from the first event to the end
	prefillRate float64
	tokens      float64

	running, prefilling, decoding, gaps int // gaps: those in which tokens are made
}

// apply takes a step.
func (l *level) apply(s *step) {
	switch s.what {
	case requestBegins:
		l.running++
	case requestEnds:
		l.running--
	case prefillBegins:
		l.prefilling++
		l.prefillRate += s.delta
	case prefillEnds:
		l.prefilling--
		l.prefillRate += s.delta
	case decodeBegins:
		l.decoding++
		l.evenRate += s.delta
	case decodeEnds:
		l.decoding--
		l.evenRate += s.delta
	case gapBegins:
		l.gaps++
		l.decodeRate += s.delta
	case gapEnds:
		l.gaps--
		l.decodeRate += s.delta
	case tokensCome:
		l.tokens += s.delta
	}
}

// settle sets sums of which every term was taken back to exactly zero, since
// adding and subtracting fractions leaves a remainder. It is called when all
// steps of an instant are taken.
func (l *level) settle() {
	if l.gaps == 0 {
		l.decodeRate = 0
	}
	if l.decoding == 0 {
		l.evenRate = 0
	}
	if l.prefilling == 0 {
		l.prefillRate = 0
	}
	if l.prefilling+l.decoding == 0 {
		l.tokens = 0
	}
}

// maxSteps bounds the number of steps that a span makes with the gaps of all
// requests.
func (s *span) maxSteps(gaps []float64) int {
	if gaps == nil {
		return 11
	}
	return 11 + 3*s.gaps
}

// steps appends the changes that a request makes, in no particular order. gaps
// are those of all requests.
func (s *span) steps(dst []step, gaps []float64) []step {
	dst = append(dst, step{s.start, 0, requestBegins}, step{s.end, 0, requestEnds})
	if s.first == 0 {
		return dst
	}
	isl, osl := orZero(s.isl), orZero(s.osl)
	var prefill, even float64
	if ttft := (s.first - s.start).Seconds(); ttft > 0 {
		prefill = isl / ttft
	}
	if length := (s.end - s.first).Seconds(); length > 0 && osl > 1 {
		even = (osl - 1) / length
	}
	dst = append(dst,
		step{s.start, isl, tokensCome}, step{s.start, prefill, prefillBegins}, step{s.first, -prefill, prefillEnds},
		step{s.first, even, decodeBegins}, step{s.end, -even, decodeEnds}, step{s.end, -isl - osl, tokensCome})
	if gaps != nil && s.gaps > 0 && osl >= 1 {
		return s.byGaps(dst, osl, gaps[s.gapsAt:s.gapsAt+s.gaps])
	}
	return append(dst, step{s.first, osl, tokensCome}, step{s.first, even, gapBegins}, step{s.end, -even, gapEnds})
}

// byGaps gives each gap that took time the same share of the output, and each
// content event the same share of the tokens.
func (s *span) byGaps(dst []step, osl float64, gaps []float64) []step {
	long := 0
	for _, g := range gaps {
		if g > 0 {
			long++
		}
	}
	dst = append(dst, step{s.first, 1, tokensCome})
	each := (osl - 1) / float64(len(gaps))
	at := s.first
	for _, g := range gaps {
		if g > 0 {
			rate := (osl - 1) / float64(long) / (g / 1e9)
			dst = append(dst, step{at, rate, gapBegins})
			at += time.Duration(g)
			dst = append(dst, step{at, -rate, gapEnds})
		}
		dst = append(dst, step{at, each, tokensCome})
	}
	return dst
}

// sweep holds the steps of one or several phases, each in order of time.
type sweep struct {
	parts           []sweepPart
	first, isl, osl bool // whether any request has the fact
	missing         bool // some phase has not kept its spans
	weights         []weight
}

// sweepPart is one phase.
type sweepPart struct {
	from, to time.Duration
	steps    []step
}

// weight is a value and how long it lasted.
type weight struct {
	value   float64
	seconds float64
}

// newSweep builds the steps of all parts.
func newSweep(parts []Part) *sweep {
	s := &sweep{}
	for _, p := range parts {
		s.missing = s.missing || p.Set.noSpans
		gaps := p.Set.gapValues()
		from := p.Phase.Start
		n := 0
		for i := range p.Set.spans {
			n += p.Set.spans[i].maxSteps(gaps)
		}
		steps := make([]step, 0, n)
		for i := range p.Set.spans {
			sp := &p.Set.spans[i]
			steps = sp.steps(steps, gaps)
			s.first = s.first || sp.first != 0
			s.isl = s.isl || sp.first != 0 && !math.IsNaN(sp.isl)
			s.osl = s.osl || sp.first != 0 && !math.IsNaN(sp.osl)
		}
		slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		if from == 0 && len(steps) > 0 {
			from = steps[0].at
		}
		s.parts = append(s.parts, sweepPart{from: from, to: from + p.Window, steps: steps})
	}
	return s
}

// fill computes the statistics of a curve. There are none if the requests lack
// the facts it is made of.
func (s *sweep) fill(res *Result, c curve) {
	first, isl, osl := c.needs()
	if s.missing || first && !s.first || isl && !s.isl || osl && !s.osl {
		return
	}
	s.weights = s.weights[:0]
	for i := range s.parts {
		s.weights = s.parts[i].weigh(s.weights, c)
	}
	weighted(res, s.weights)
}

// weigh appends the values of a curve over the part's window.
func (p *sweepPart) weigh(dst []weight, c curve) []weight {
	if len(p.steps) == 0 {
		return dst
	}
	var l level
	from := p.from
	put := func(to time.Duration) {
		to = min(to, p.to)
		if to <= from {
			return
		}
		l.settle()
		if v, ok := c.value(&l); ok {
			if n := len(dst); n > 0 && dst[n-1].value == v {
				dst[n-1].seconds += (to - from).Seconds()
			} else {
				dst = append(dst, weight{v, (to - from).Seconds()})
			}
		}
		from = to
	}
	for i := range p.steps {
		put(p.steps[i].at)
		l.apply(&p.steps[i])
	}
	put(p.to)
	return dst
}

// weighted fills a result with time-weighted statistics. A quantile is the
// smallest value at or below which the share q of the time was spent.
func weighted(res *Result, ws []weight) {
	var total, sum float64
	for _, w := range ws {
		total += w.seconds
		sum += w.value * w.seconds
	}
	if !(total > 0) {
		return
	}
	mean := sum / total
	var squares float64
	for _, w := range ws {
		squares += (w.value - mean) * (w.value - mean) * w.seconds
	}
	slices.SortFunc(ws, func(a, b weight) int { return cmp.Compare(a.value, b.value) })
	res.Set(Avg, mean)
	res.Set(Min, ws[0].value)
	res.Set(Max, ws[len(ws)-1].value)
	res.Set(Std, math.Sqrt(squares/total))
	var seen float64
	i := 0
	for _, p := range percentiles {
		switch p.stat {
		case P50, P90, P95, P99:
		default:
			continue
		}
		for seen+ws[i].seconds < p.q*total && i < len(ws)-1 {
			seen += ws[i].seconds
			i++
		}
		res.Set(p.stat, ws[i].value)
	}
}
