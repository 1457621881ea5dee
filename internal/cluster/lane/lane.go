// Package lane divides a load among load generators: sessions, arrivals and slots. What belongs to whom depends on the
// seed of the run and on numbers alone, so that every generator computes it for itself, and the same seed gives the
// same load whatever the number of generators.
package lane

import (
	"math/bits"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// Count is the number of lanes. Every session belongs to one.
const Count = 1 << 16

// stream is the random stream of the lanes of sessions.
const stream = "ours.cluster.lane"

// Lanes finds the lanes of sessions.
type Lanes struct{ seed bench.Seed }

// New returns the lanes of a run with a seed.
func New(seed bench.Seed) Lanes { return Lanes{seed.Child(stream)} }

// Of returns the lane of a session or an arrival, which is numbered from 0: a hash of the number. A hash and not the
// remainder of the number, so that the arrivals of a Poisson process which belong to some lanes are a Poisson process
// (J. F. C. Kingman, Poisson Processes, 1993, section 5.1).
func (l Lanes) Of(n int64) uint16 {
	const odd = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio
	return uint16(bench.Mix(uint64(l.seed)+uint64(n)*odd) >> 48)
}

// Set is a set of lanes.
type Set [Count / 64]uint64

// Has reports whether a lane is in the set.
func (s *Set) Has(lane uint16) bool { return s[lane/64]>>(lane%64)&1 == 1 }

// Len returns the number of lanes in the set.
func (s *Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// add adds the lanes from a first one up to, but not including, an end.
func (s *Set) add(first, end int) {
	for lane := first; lane < end; lane++ {
		s[lane/64] |= 1 << (lane % 64)
	}
}

// Divide divides all lanes among load generators in the ratio of their weights, see [Apportion].
func Divide(weights []float64) []*Set {
	out := make([]*Set, len(weights))
	first := 0
	for i, n := range Apportion(Count, weights) {
		out[i] = &Set{}
		out[i].add(first, first+n)
		first += n
	}
	return out
}

// Share returns the part of a load that a load generator performs: the sessions of its lanes and its slots.
func (l Lanes) Share(lanes *Set, slots func(i int) bool) spec.Share {
	return spec.Share{
		Owns:     func(n int64) bool { return lanes.Has(l.Of(n)) },
		Slots:    slots,
		Arrivals: float64(lanes.Len()) / Count,
	}
}

// Apportion divides n things in the ratio of weights, which are at least 0 and not all 0: each gets its quota rounded
// down, and those with the largest remainders, the first ones of equal ones, get one more until all are given out.
func Apportion(n int, weights []float64) []int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	out := make([]int, len(weights))
	left := n
	remainders := make([]float64, len(weights))
	order := make([]int, len(weights))
	for i, w := range weights {
		quota := float64(n) * (w / total)
		out[i] = int(quota)
		remainders[i] = quota - float64(out[i])
		order[i] = i
		left -= out[i]
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case remainders[i] > remainders[j]:
			return -1
		case remainders[i] < remainders[j]:
			return 1
		}
		return 0
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

// Deal returns to which load generator each of n slots belongs, in the order in which a ramp opens them. Each gets as
// many as [Apportion] says, and every slot goes to the one that lacks most of its part of the slots so far, so that
// the ramp of each has the form of the whole.
func Deal(n int, weights []float64) []int {
	quota := Apportion(n, weights)
	given := make([]int, len(weights))
	out := make([]int, n)
	for slot := range out {
		next, most := -1, 0.0
		for i, q := range quota {
			lacks := float64(q)*float64(slot+1)/float64(n) - float64(given[i])
			if given[i] < q && (next < 0 || lacks > most) {
				next, most = i, lacks
			}
		}
		out[slot] = next
		given[next]++
	}
	return out
}
