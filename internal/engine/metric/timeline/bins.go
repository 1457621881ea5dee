package timeline

import (
	"slices"
	"time"
	"unsafe"

	"aiperfd/internal/engine/metric/catalogue"
)

// The sizes of bins.
const (
	chunkBins  = 512 // bins that are allocated together
	minChunks  = 16  // of them are always allowed: 8,192 bins
	firstShift = 20  // bins begin with 2^20 ns, about a millisecond
	flowBins   = 8   // bins that share a flow
	chunkBytes = int64(unsafe.Sizeof(chunk{}))
	binsShare  = 8 // bins take up to 1/8 of the budget
)

// bin holds the change of each level in an interval of time. A step of height h
// at time t adds h·(end of the bin - t) to the area and h to the change, so the
// mean of a level over a bin is exact: what the level was before the bin, plus
// area / width.
type bin [numLevels]struct {
	area   float64 // level · ns, without the level before the bin
	change float64 // of the level in the course of the bin
}

// chunk is the bins that are allocated together, with one flow for flowBins of them.
type chunk struct {
	bins  [chunkBins]bin
	flows [chunkBins / flowBins]catalogue.Flow
}

// bins are levels over time in bounded memory. Requests may come in any order,
// however long ago they began. When a run outgrows the bins, their width is
// doubled by joining neighbours, which loses nothing but resolution. Bin i holds
// the time from i·2^shift to (i+1)·2^shift ns since the run's epoch.
type bins struct {
	shift  uint
	most   int   // chunks
	base   int64 // chunks[0] begins with bin base·chunkBins
	chunks []*chunk
}

// newBins returns bins that take at most a share of a budget in bytes.
func newBins(budget int64) *bins {
	return &bins{shift: firstShift, most: max(minChunks, int(budget/binsShare/chunkBytes))}
}

// size returns the memory held, in bytes.
func (b *bins) size() int64 { return chunkBytes * int64(len(b.chunks)) }

// width returns the width of a bin.
func (b *bins) width() time.Duration { return 1 << b.shift }

// at returns the bin of an instant.
func (b *bins) at(t time.Duration) *bin {
	i := int64(t) >> b.shift
	if c := i/chunkBins - b.base; uint64(c) < uint64(len(b.chunks)) {
		return &b.chunks[c].bins[i%chunkBins]
	}
	return b.cover(t)
}

// cover widens the covered time, or the bins, until there is one for an instant.
func (b *bins) cover(t time.Duration) *bin {
	for {
		i := int64(t) >> b.shift
		c := i / chunkBins
		if len(b.chunks) == 0 {
			b.base = c
		}
		first, end := min(c, b.base), max(c+1, b.base+int64(len(b.chunks)))
		if end-first > int64(b.most) {
			b.coarsen()
			continue
		}
		for range b.base - first {
			b.chunks = slices.Insert(b.chunks, 0, new(chunk))
		}
		b.base = first
		for int64(len(b.chunks)) < end-first {
			b.chunks = append(b.chunks, new(chunk))
		}
		return &b.chunks[c-b.base].bins[i%chunkBins]
	}
}

// coarsen doubles the width of the bins.
func (b *bins) coarsen() {
	old := *b
	width := float64(old.width())
	b.shift++
	b.base = old.base >> 1
	n := (old.base+int64(len(old.chunks))-1)>>1 - b.base + 1
	b.chunks = make([]*chunk, n)
	for i := range b.chunks {
		b.chunks[i] = new(chunk)
	}
	for c, from := range old.chunks {
		at := old.base + int64(c)
		half := int(at & 1)
		target := b.chunks[at>>1-b.base]
		for i := range from.flows {
			addShare(&target.flows[(half*len(from.flows)+i)/2], &from.flows[i], 1)
		}
		for i := 0; i < chunkBins; i += 2 {
			left, right, joined := &from.bins[i], &from.bins[i+1], &target.bins[half*chunkBins/2+i/2]
			for q := range joined {
				joined[q].area = left[q].area + left[q].change*width + right[q].area
				joined[q].change = left[q].change + right[q].change
			}
		}
	}
}

// merge adds the levels of o, which stays as it is unless its bins are narrower.
func (b *bins) merge(o *bins) {
	for b.shift < o.shift {
		b.coarsen()
	}
	for c := range o.chunks {
		begin := (o.base + int64(c)) * chunkBins
		for i := range o.chunks[c].flows {
			if f := &o.chunks[c].flows[i]; *f != (catalogue.Flow{}) {
				addShare(b.flowAt(time.Duration((begin+int64(i)*flowBins)<<o.shift)), f, 1)
			}
		}
		for i := range o.chunks[c].bins {
			if from := &o.chunks[c].bins[i]; *from != (bin{}) {
				b.mergeBin(from, time.Duration((begin+int64(i))<<o.shift), o.shift)
			}
		}
	}
}

// mergeBin adds a bin that begins at t and is no wider than ours.
func (b *bins) mergeBin(from *bin, t time.Duration, shift uint) {
	to := b.at(t)
	end := time.Duration(int64(t)>>b.shift+1) << b.shift
	rest := float64(end - t - 1<<shift) // of our bin, after theirs
	for q := range to {
		to[q].area += from[q].area + from[q].change*rest
		to[q].change += from[q].change
	}
}

// step adds one change of a level.
func (b *bins) step(s *Step) {
	to := b.at(s.At)
	rest := float64(b.width() - s.At&(b.width()-1))
	add := func(q quantity, height float64) {
		to[q].area += height * rest
		to[q].change += height
	}
	c := &changes[s.What]
	if c.count != gapsLevel {
		add(c.count, c.by)
	}
	add(c.delta, s.Delta)
}

// gaps adds what [Request.byGaps] makes of the gaps of a request, with one change
// of rate and tokens for each content event.
func (b *bins) gaps(r *Request, gaps []float64) {
	each := (r.OSL - 1) / float64(len(gaps))
	share := 1e9 * (r.OSL - 1) / float64(timed(gaps)) // NaN or infinite only if no gap takes time
	at, tokens, rate := r.First, 1.0, 0.0
	for _, g := range gaps {
		if g > 0 {
			next := share / g
			b.event(at, next-rate, tokens)
			at += time.Duration(g)
			rate, tokens = next, 0
		}
		tokens += each
	}
	b.event(at, -rate, tokens)
}

// event changes the rate of decoding and the number of tokens.
func (b *bins) event(t time.Duration, rate, tokens float64) {
	to := b.at(t)
	rest := float64(b.width() - t&(b.width()-1))
	to[decodeRateLevel].area += rate * rest
	to[decodeRateLevel].change += rate
	to[tokensLevel].area += tokens * rest
	to[tokensLevel].change += tokens
	b.flowAt(t).Output += tokens
}

// spans passes the values of a curve over a window on: the mean of each bin.
func (b *bins) spans(c catalogue.CurveKind, from, to time.Duration, put span) {
	var before [numLevels]float64
	width := float64(b.width())
	begin, end := b.covered()
	b.idle(c, from, min(begin, to), put)
	for at := begin; at < end; at += b.width() {
		in := b.at(at)
		first, last := max(from, at), min(to, at+b.width())
		if last > first {
			// Counts of requests are whole multiples of nanoseconds, so they have no remainders.
			l := level{gapsLevel: 1}
			for q := range in {
				l[q] = max(0, before[q]*width+in[q].area) / float64(last-first)
			}
			l.settle()
			if v, share := valueAt(c, &l); share > 0 {
				put(v, share, first, last)
			}
		}
		for q := range before {
			before[q] += in[q].change
		}
	}
	b.idle(c, max(end, from), to, put)
}

// covered returns the time that has bins.
func (b *bins) covered() (from, to time.Duration) {
	return time.Duration(b.base*chunkBins) << b.shift, time.Duration((b.base+int64(len(b.chunks)))*chunkBins) << b.shift
}

// idle passes the part of a window on that no bin covers.
func (b *bins) idle(c catalogue.CurveKind, from, to time.Duration, put span) {
	var nothing level
	if v, share := valueAt(c, &nothing); share > 0 && to > from {
		put(v, share, from, to)
	}
}
