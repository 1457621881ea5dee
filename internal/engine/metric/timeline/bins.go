package timeline

import (
	"slices"
	"time"
)

// The sizes of bins.
const (
	chunkBins  = 512 // bins that are allocated together
	minChunks  = 16  // of them are always allowed: 8,192 bins
	firstShift = 20  // bins begin with 2^20 ns, about a millisecond
	binBytes   = 16 * int64(numLevels)
	chunkBytes = chunkBins * binBytes
	binsShare  = 8 // bins take up to 1/8 of the budget
)

// quantity is a level that bins hold.
type quantity uint8

const (
	runningLevel quantity = iota
	prefillingLevel
	decodingLevel
	prefillRateLevel
	evenRateLevel
	decodeRateLevel
	tokensLevel
	numLevels
)

// bin holds the change of each level in an interval of time. A step of height h
// at time t adds h·(end of the bin - t) to the area and h to the change, so the
// mean of a level over a bin is exact: what the level was before the bin, plus
// area / width.
type bin [numLevels]struct {
	area   float64 // level · ns, without the level before the bin
	change float64 // of the level in the course of the bin
}

// bins are levels over time in bounded memory. Requests may come in any order,
// however long ago they began. When a run outgrows the bins, their width is
// doubled by joining neighbours, which loses nothing but resolution. Bin i holds
// the time from i·2^shift to (i+1)·2^shift ns since the run's epoch.
type bins struct {
	shift  uint
	most   int   // chunks
	base   int64 // chunks[0] begins with bin base·chunkBins
	chunks []*[chunkBins]bin
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
		return &b.chunks[c][i%chunkBins]
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
			b.chunks = slices.Insert(b.chunks, 0, new([chunkBins]bin))
		}
		b.base = first
		for int64(len(b.chunks)) < end-first {
			b.chunks = append(b.chunks, new([chunkBins]bin))
		}
		return &b.chunks[c-b.base][i%chunkBins]
	}
}

// coarsen doubles the width of the bins.
func (b *bins) coarsen() {
	old := *b
	width := float64(old.width())
	b.shift++
	b.base = old.base >> 1
	n := (old.base+int64(len(old.chunks))-1)>>1 - b.base + 1
	b.chunks = make([]*[chunkBins]bin, n)
	for i := range b.chunks {
		b.chunks[i] = new([chunkBins]bin)
	}
	for c, chunk := range old.chunks {
		at := old.base + int64(c)
		half := int(at&1) * chunkBins / 2
		target := b.chunks[at>>1-b.base]
		for i := 0; i < chunkBins; i += 2 {
			left, right, joined := &chunk[i], &chunk[i+1], &target[half+i/2]
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
		for i := range o.chunks[c] {
			from := &o.chunks[c][i]
			if *from == (bin{}) {
				continue
			}
			t := time.Duration(((o.base+int64(c))*chunkBins + int64(i)) << o.shift)
			b.mergeBin(from, t, o.shift)
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
	switch s.What {
	case RequestBegins:
		add(runningLevel, 1)
	case RequestEnds:
		add(runningLevel, -1)
	case PrefillBegins:
		add(prefillingLevel, 1)
		add(prefillRateLevel, s.Delta)
	case PrefillEnds:
		add(prefillingLevel, -1)
		add(prefillRateLevel, s.Delta)
	case DecodeBegins:
		add(decodingLevel, 1)
		add(evenRateLevel, s.Delta)
	case DecodeEnds:
		add(decodingLevel, -1)
		add(evenRateLevel, s.Delta)
	case GapBegins, GapEnds:
		add(decodeRateLevel, s.Delta)
	case TokensChange:
		add(tokensLevel, s.Delta)
	}
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
}

// weigh appends the values of a curve over a window: the mean of each bin, and
// how long it counts.
func (b *bins) weigh(dst []Weight, c Curve, from, to time.Duration) []Weight {
	var before [numLevels]float64
	width := float64(b.width())
	last := b.base*chunkBins + int64(len(b.chunks))*chunkBins
	for i := b.base * chunkBins; i < last; i++ {
		in := &b.chunks[i/chunkBins-b.base][i%chunkBins]
		start := time.Duration(i << b.shift)
		long := float64(min(to, start+b.width()) - max(from, start))
		if long > 0 {
			var mean [numLevels]float64
			for q := range mean {
				mean[q] = max(0, before[q]*width+in[q].area) / long
			}
			l := levelOf(&mean)
			if v, share := c.value(&l); share > 0 {
				dst = append(dst, Weight{v, share * long / 1e9})
			}
		}
		for q := range before {
			before[q] += in[q].change
		}
	}
	return b.idle(dst, c, from, to)
}

// idle appends the part of a window that no bin covers.
func (b *bins) idle(dst []Weight, c Curve, from, to time.Duration) []Weight {
	long := to - from
	if n := len(b.chunks); n > 0 {
		begin := time.Duration(b.base*chunkBins) << b.shift
		end := time.Duration((b.base+int64(n))*chunkBins) << b.shift
		long -= max(0, min(end, to)-max(begin, from))
	}
	var nothing level
	if v, share := c.value(&nothing); share > 0 && long > 0 {
		dst = append(dst, Weight{v, share * long.Seconds()})
	}
	return dst
}

// levelOf turns the means of a bin into a level, without the remainders that
// adding and subtracting fractions leaves if nothing happens. Counts of
// requests are whole multiples of nanoseconds, so they have no remainders.
func levelOf(mean *[numLevels]float64) level {
	l := level{
		running: mean[runningLevel], prefilling: mean[prefillingLevel], decoding: mean[decodingLevel],
		prefillRate: mean[prefillRateLevel], evenRate: mean[evenRateLevel], decodeRate: mean[decodeRateLevel],
		tokens: mean[tokensLevel], gaps: 1,
	}
	l.settle()
	return l
}
