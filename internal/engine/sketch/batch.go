package sketch

import "math"

// AddAll counts v/div for each v. The result is that of as many calls of
// [Sketch.Add], except for the last bits of sum, mean and deviation; it costs less
// because the moments of the batch are added once. div must be finite and greater
// than zero.
func (s *Sketch) AddAll(values []float64, div float64) {
	var m moments
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		v /= div
		switch {
		case v >= MinValue && v <= math.MaxFloat64:
			i := index(v)
			if o := i - s.pos.base; uint(o) < uint(len(s.pos.counts)) {
				s.pos.counts[o]++
			} else {
				s.pos.add(i, 1) // widens
			}
		case v == 0:
			s.zeros++
		default: // negative, tiny, infinite or not a number
			s.Add(v)
			continue
		}
		lo, hi = min(lo, v), max(hi, v)
		m.add(v)
	}
	if m.n == 0 {
		return
	}
	if s.finite == 0 {
		s.min, s.max = lo, hi
	} else {
		s.min, s.max = min(s.min, lo), max(s.max, hi)
	}
	s.join(m.n, m.sum, m.mean(), m.m2())
}

// moments are the first two of a batch. Differences from the first value
// avoid cancellation in the second one.
type moments struct {
	n            uint64
	sum          float64
	first        float64
	diff, square float64 // sums of (v - first) and of its square
}

func (m *moments) add(v float64) {
	if m.n == 0 {
		m.first = v
	}
	m.n++
	m.sum += v
	d := v - m.first
	m.diff += d
	m.square += d * d
}

func (m *moments) mean() float64 { return m.first + m.diff/float64(m.n) }

// m2 is the sum of the squared distances from the mean.
func (m *moments) m2() float64 { return max(0, m.square-m.diff*m.diff/float64(m.n)) }

// join adds n finite values, given their moments.
func (s *Sketch) join(n uint64, sum, mean, m2 float64) {
	a, b := float64(s.finite), float64(n)
	d := mean - s.mean
	s.m2 += m2 + d*d*a*b/(a+b)
	s.mean += d * b / (a + b)
	s.sum += sum
	s.finite += n
}

// Size returns the memory that the sketch holds, in bytes. It depends on the
// ratio of the largest to the smallest value, not on their number: about 3.4 KB
// for each decade, and never more than 250 KB.
func (s *Sketch) Size() int64 {
	const head = 160
	return head + 8*int64(cap(s.pos.counts)+cap(s.neg.counts))
}
