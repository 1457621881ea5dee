package timeline

import (
	"slices"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// addShare adds a share of o to f.
func addShare(f, o *catalogue.Flow, share float64) {
	f.Started += share * o.Started
	f.Ended += share * o.Ended
	f.Succeeded += share * o.Succeeded
	f.Input += share * o.Input
	f.Output += share * o.Output
	f.Wait += share * o.Wait
	f.Waits += share * o.Waits
}

// countStart counts the start of a request.
func countStart(f *catalogue.Flow, r *Request) {
	f.Started++
	if r.OK {
		f.Wait += r.wait().Seconds()
		f.Waits++
	}
}

// countEnd counts the end of a request.
func countEnd(f *catalogue.Flow, r *Request) {
	f.Ended++
	if r.OK {
		f.Succeeded++
		f.Input += orZero(r.ISL)
	}
}

// wait is the time to the first content, or to the end of a request without one.
func (r *Request) wait() time.Duration {
	if r.First != 0 {
		return r.First - r.Start
	}
	return r.End - r.Start
}

// arrivals calls put for the tokens of a success: one with the first content event and
// equal shares of the rest with the others. Without events, all of them arrive at the
// end.
func (r *Request) arrivals(gaps []float64, put func(at time.Duration, tokens float64)) {
	switch osl := orZero(r.OSL); {
	case !r.OK || osl == 0:
	case r.First == 0:
		put(r.End, osl)
	case len(gaps) == 0 || osl < 1:
		put(r.First, osl)
	default:
		put(r.First, 1)
		at, each := r.First, (osl-1)/float64(len(gaps))
		for _, g := range gaps {
			at += time.Duration(g)
			put(at, each)
		}
	}
}

// flow adds a request to the bins; gaps has counted the tokens already if counted.
func (b *bins) flow(r *Request, counted bool) {
	countStart(b.flowAt(r.Start), r)
	countEnd(b.flowAt(r.End), r)
	if !counted {
		r.arrivals(nil, func(at time.Duration, tokens float64) { b.flowAt(at).Output += tokens })
	}
}

// flowAt returns the flow of an instant.
func (b *bins) flowAt(t time.Duration) *catalogue.Flow {
	b.at(t)
	i := int64(t) >> b.shift
	return &b.chunks[i/chunkBins-b.base].flows[i%chunkBins/flowBins]
}

// allFlows yields the flows in order with the time that they span.
func (b *bins) allFlows(yield func(from, to time.Duration, f *catalogue.Flow)) {
	begin, _ := b.covered()
	width := flowBins * b.width()
	for _, c := range b.chunks {
		for i := range c.flows {
			yield(begin, begin+width, &c.flows[i])
			begin += width
		}
	}
}

// Flows returns what happened between consecutive bounds. An instant belongs to the
// interval that it begins, that of the last bound to the last interval. Each content
// event after the first of a request brings the same share of its tokens. Of a binned
// timeline, eight bins that lie in several intervals are divided among them.
func (t *Timeline) Flows(bounds []time.Duration) []catalogue.Flow {
	out := make([]catalogue.Flow, len(bounds)-1)
	if t.bins != nil {
		t.bins.flows(out, bounds)
		return out
	}
	var none catalogue.Flow
	at := func(when time.Duration) *catalogue.Flow {
		i, exact := slices.BinarySearch(bounds, when)
		if !exact {
			i--
		}
		if exact && i == len(out) {
			i--
		}
		if i < 0 || i >= len(out) {
			return &none
		}
		return &out[i]
	}
	for r, gaps := range t.Requests() {
		countStart(at(r.Start), r)
		countEnd(at(r.End), r)
		r.arrivals(gaps, func(when time.Duration, tokens float64) { at(when).Output += tokens })
	}
	return out
}

// flows divides the flows of the bins among intervals.
func (b *bins) flows(out []catalogue.Flow, bounds []time.Duration) {
	i := 0
	b.allFlows(func(from, to time.Duration, f *catalogue.Flow) {
		for i < len(out) && bounds[i+1] <= from {
			i++
		}
		for j := i; j < len(out) && bounds[j] < to; j++ {
			addShare(&out[j], f, float64(min(to, bounds[j+1])-max(from, bounds[j]))/float64(to-from))
		}
	})
}
