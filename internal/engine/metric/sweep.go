package metric

import (
	"cmp"
	"iter"
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

// keepSpan adds the record to the spans, or, once these are too many, to the
// bins.
func (s *Set) keepSpan(v *view) {
	st := &v.r.Stamps
	if st.Start == 0 {
		return
	}
	sp := span{start: st.Start, end: max(st.End, st.Start), isl: v.isl, osl: v.osl}
	if v.outcome == success && v.streams {
		sp.first = st.Start + time.Duration(v.first)
		if s.gaps != nil {
			sp.gaps = v.gaps
		}
	}
	s.facts.note(&sp)
	if s.bins != nil {
		s.list = s.list[:0]
		if sp.gaps > 0 {
			s.list = gapList(v, s.list)
		}
		s.binSpan(&sp, s.list)
		return
	}
	if s.gaps != nil {
		sp.gapsAt = s.gaps.exact.len() - sp.gaps
	}
	s.steps += sp.maxSteps()
	s.spans.add(&sp)
	if s.steps*stepBytes > s.opts.Budget {
		s.startBins()
	}
}

// facts say what is known of any request.
type facts struct{ first, isl, osl bool }

func (f *facts) note(sp *span) {
	f.first = f.first || sp.first != 0
	f.isl = f.isl || sp.first != 0 && !math.IsNaN(sp.isl)
	f.osl = f.osl || sp.first != 0 && !math.IsNaN(sp.osl)
}

// binSpan adds the changes that a request makes to the bins. gaps are its own.
// Those between content events, of which there are many, take a short cut.
func (s *Set) binSpan(sp *span, gaps []float64) {
	short := len(gaps) > 0 && sp.first != 0 && sp.osl >= 1
	if short {
		s.bins.gaps(sp, gaps)
	}
	s.scratch = sp.outline(s.scratch[:0])
	if !short {
		s.scratch = sp.inside(s.scratch, nil)
	}
	for i := range s.scratch {
		s.bins.step(&s.scratch[i])
	}
}

// startBins moves the kept requests to bins, from where on curves have the bins'
// resolution. Nothing happens if that has been done before.
func (s *Set) startBins() {
	if s.bins != nil {
		return
	}
	s.bins = newBins(s.opts.Budget)
	for sp, gaps := range s.requests() {
		s.binSpan(sp, gaps)
	}
	s.spans, s.steps = spans{}, 0
}

// requests yields the kept requests with the gaps between their content events,
// both valid until the next one. A request whose gaps the disk has lost has none.
func (s *Set) requests() iter.Seq2[*span, []float64] {
	return func(yield func(*span, []float64) bool) {
		var gaps gapReader
		if s.gaps != nil {
			var stop func()
			gaps.next, stop = iter.Pull(s.gaps.exact.runs())
			defer stop()
		}
		for sp := range s.spans.all() {
			if !yield(sp, gaps.of(sp)) {
				return
			}
		}
	}
}

// gapReader gives requests their gaps, in the order in which they were observed.
type gapReader struct {
	next func() ([]float64, bool)
	run  []float64 // what was read and not given yet
	at   int       // place of its first value in the series
	own  []float64
}

// of returns the gaps of a request.
func (g *gapReader) of(sp *span) []float64 {
	g.own = g.own[:0]
	for len(g.own) < sp.gaps {
		if len(g.run) == 0 {
			var more bool
			if g.run, more = g.next(); !more {
				return nil
			}
		}
		if other := min(len(g.run), sp.gapsAt-g.at); other > 0 { // of nobody's
			g.run, g.at = g.run[other:], g.at+other
			continue
		}
		n := min(len(g.run), sp.gaps-len(g.own))
		g.own = append(g.own, g.run[:n]...)
		g.run, g.at = g.run[n:], g.at+n
	}
	return g.own
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

	// Numbers of requests and of gaps in which tokens are made. They are whole in
	// an instant; in a bin they are means, except gaps.
	running, prefilling, decoding, gaps float64
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

// maxSteps bounds the number of steps that a request makes.
func (s *span) maxSteps() int64 { return 11 + 3*int64(s.gaps) }

// steps appends the changes that a request makes, in no particular order. gaps
// are its own; none = its tokens are taken to come evenly.
func (s *span) steps(dst []step, gaps []float64) []step {
	return s.inside(s.outline(dst), gaps)
}

// outline appends the changes at the start, the first content and the end.
func (s *span) outline(dst []step) []step {
	dst = append(dst, step{s.start, 0, requestBegins}, step{s.end, 0, requestEnds})
	if s.first == 0 {
		return dst
	}
	isl, osl := orZero(s.isl), orZero(s.osl)
	var prefill float64
	if ttft := (s.first - s.start).Seconds(); ttft > 0 {
		prefill = isl / ttft
	}
	even := s.even()
	return append(dst,
		step{s.start, isl, tokensCome}, step{s.start, prefill, prefillBegins}, step{s.first, -prefill, prefillEnds},
		step{s.first, even, decodeBegins}, step{s.end, -even, decodeEnds}, step{s.end, -isl - osl, tokensCome})
}

// even is the rate at which the tokens after the first would come evenly.
func (s *span) even() float64 {
	if length := (s.end - s.first).Seconds(); length > 0 && s.osl > 1 {
		return (s.osl - 1) / length
	}
	return 0
}

// inside appends the changes between the first content and the end.
func (s *span) inside(dst []step, gaps []float64) []step {
	switch osl := orZero(s.osl); {
	case s.first == 0:
		return dst
	case len(gaps) > 0 && osl >= 1:
		return s.byGaps(dst, osl, gaps)
	default:
		even := s.even()
		return append(dst, step{s.first, osl, tokensCome}, step{s.first, even, gapBegins}, step{s.end, -even, gapEnds})
	}
}

// byGaps gives each gap that took time the same share of the output, and each
// content event the same share of the tokens.
func (s *span) byGaps(dst []step, osl float64, gaps []float64) []step {
	long := timed(gaps)
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

// timed returns the number of gaps that took time.
func timed(gaps []float64) int {
	n := 0
	for _, g := range gaps {
		if g > 0 {
			n++
		}
	}
	return n
}

// sweep holds the steps of one or several phases, each in order of time.
type sweep struct {
	parts   []sweepPart
	facts   facts
	bin     time.Duration // the widest bin; 0 = every part is exact
	lost    bool          // the disk has lost requests, so that there are no curves
	weights []weight
}

// sweepPart is one phase.
type sweepPart struct {
	from, to time.Duration
	steps    []step
	bins     *bins // in place of steps; nil = exact
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
		s.facts = s.facts.or(p.Set.facts)
		part := sweepPart{from: p.Phase.Start, steps: p.Set.allSteps(), bins: p.Set.bins}
		if part.bins != nil {
			s.bin = max(s.bin, part.bins.width())
		}
		if part.from == 0 {
			part.from = p.Set.tally.firstSent
		}
		part.to = part.from + p.Window
		s.parts = append(s.parts, part)
		s.lost = s.lost || p.Set.disk.lost != nil
	}
	return s
}

// allSteps returns the steps of the kept requests in order of time.
func (s *Set) allSteps() []step {
	steps := make([]step, 0, s.steps)
	for sp, gaps := range s.requests() {
		steps = sp.steps(steps, gaps)
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) }) // in place: there can be millions
	return steps
}

// fill computes the statistics of a curve. There are none if the requests lack
// the facts it is made of.
func (s *sweep) fill(res *Result, c curve) {
	if s.lost {
		return
	}
	first, isl, osl := c.needs()
	if first && !s.facts.first || isl && !s.facts.isl || osl && !s.facts.osl {
		return
	}
	s.weights = s.weights[:0]
	for i := range s.parts {
		p := &s.parts[i]
		if p.bins != nil {
			s.weights = p.bins.weigh(s.weights, c, p.from, p.to)
		} else {
			s.weights = p.weigh(s.weights, c)
		}
	}
	res.Bin = s.bin
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
		if v, share := c.value(&l); share > 0 {
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
