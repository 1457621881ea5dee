package sketch

import "math"

// perOctave is the number of buckets between a power of two and the next.
const perOctave = 128

// growth is the ratio of neighbouring bucket bounds, 2^(1/128).
var growth = math.Exp2(1.0 / perOctave)

// center turns the upper bound of a bucket into the value whose largest relative
// distance to any value of the bucket is smallest.
var center = 2 / (1 + growth)

// bounds[k] is the mantissa (without the hidden bit) of 2^(k/128), the upper
// bound of bucket k of an octave, so that bucket 0 holds the power of two alone;
// bounds[128] stands for 2 itself.
var bounds = func() (b [perOctave + 1]uint64) {
	for k := 1; k < perOctave; k++ {
		b[k] = math.Float64bits(math.Exp2(float64(k)/perOctave)) & mantissaMask
	}
	b[perOctave] = 1 << mantissaBits
	return b
}()

// starts maps the first eight bits of a mantissa to the first bucket that can
// hold it. Even the narrowest bucket is wider than a 256th, so at most one bound
// lies inside a cell of the table: a search is a look-up and at most one step.
var starts = func() (t [256]uint8) {
	for i := range t {
		k := 0
		for bounds[k] < uint64(i)<<(mantissaBits-8) {
			k++
		}
		t[i] = uint8(k)
	}
	return t
}()

const (
	mantissaBits = 52
	mantissaMask = 1<<mantissaBits - 1
	exponentBias = 1023
)

// index returns the bucket of v, which is at least MinValue and finite.
func index(v float64) int {
	v = min(v, MaxValue)
	bits := math.Float64bits(v)
	octave := (int(bits>>mantissaBits) - exponentBias) * perOctave
	m := bits & mantissaMask
	k := int(starts[m>>(mantissaBits-8)])
	// The step is the borrow of a subtraction instead of a branch: which side of a
	// bound a value falls on cannot be predicted.
	step := int((bounds[k] - m) >> 63)
	return octave + k + step
}

// upper returns the upper bound of bucket i.
func upper(i int) float64 { return math.Exp2(float64(i) / perOctave) }

// store counts buckets in a window of consecutive indices.
type store struct {
	base   int // index of counts[0]
	counts []uint64
}

// add counts n values of bucket i.
func (s *store) add(i int, n uint64) {
	o := i - s.base
	if uint(o) >= uint(len(s.counts)) {
		s.cover(i, i)
		o = i - s.base
	}
	s.counts[o] += n
}

// cover widens the window until it holds the buckets lo to hi, with room to
// spare on the side that grew.
func (s *store) cover(lo, hi int) {
	const room = perOctave / 2
	if len(s.counts) == 0 {
		s.base, s.counts = lo-room, make([]uint64, hi-lo+1+2*room)
		return
	}
	first, last := s.base, s.base+len(s.counts)-1
	if lo >= first && hi <= last {
		return
	}
	if lo < first {
		first = lo - room
	}
	if hi > last {
		last = hi + room
	}
	counts := make([]uint64, last-first+1)
	copy(counts[s.base-first:], s.counts)
	s.base, s.counts = first, counts
}

// merge adds the counts of o.
func (s *store) merge(o *store) {
	first, last := -1, -1
	for i, c := range o.counts {
		if c > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return
	}
	s.cover(o.base+first, o.base+last)
	for i := first; i <= last; i++ {
		s.counts[o.base+i-s.base] += o.counts[i]
	}
}
