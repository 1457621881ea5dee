package trace

import (
	"math"
	"slices"
)

// Stats are statistics of a number that every request has.
type Stats struct {
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"std_dev"` // of the population
	Min    float64 `json:"min"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	Max    float64 `json:"max"`
}

// exactValues is the bound below which a histogram has a bin for each value. Above, bins
// are as wide as 1/256 of their values at most.
const (
	exactValues = 1 << 16
	fineBits    = 8
)

// histogram counts values that are not negative. It takes less than 1 MiB.
type histogram struct {
	n           int64
	sum, sum2   float64
	least, most int
	exact       []int64
	coarse      map[int]int64 // by the lower bound of the bin
}

func (h *histogram) add(v int) {
	if h.n == 0 {
		h.least, h.most = v, v
	}
	h.n++
	h.sum += float64(v)
	h.sum2 += float64(v) * float64(v)
	h.least, h.most = min(h.least, v), max(h.most, v)
	if v < exactValues {
		for len(h.exact) <= v {
			h.exact = append(h.exact, 0)
		}
		h.exact[v]++
		return
	}
	if h.coarse == nil {
		h.coarse = map[int]int64{}
	}
	shift := 0
	for v>>shift >= 2<<fineBits {
		shift++
	}
	h.coarse[v>>shift<<shift]++
}

// stats returns the statistics of values that are divided by unit; nil = there are none.
func (h *histogram) stats(unit float64) *Stats {
	if h.n == 0 {
		return nil
	}
	n := float64(h.n)
	mean := h.sum / n
	return &Stats{
		Mean: mean / unit, StdDev: math.Sqrt(max(0, h.sum2/n-mean*mean)) / unit,
		Min: float64(h.least) / unit, Max: float64(h.most) / unit,
		P25: h.quantile(0.25) / unit, Median: h.quantile(0.5) / unit, P75: h.quantile(0.75) / unit,
	}
}

// quantile returns a quantile, interpolated between the two nearest values.
func (h *histogram) quantile(q float64) float64 {
	rank := q * float64(h.n-1)
	low, high := h.ranked(int64(math.Floor(rank))), h.ranked(int64(math.Ceil(rank)))
	return low + (high-low)*(rank-math.Floor(rank))
}

// ranked returns the value with a rank, from 0.
func (h *histogram) ranked(rank int64) float64 {
	for v, n := range h.exact {
		if rank < n {
			return float64(v)
		}
		rank -= n
	}
	bins := make([]int, 0, len(h.coarse))
	for bin := range h.coarse {
		bins = append(bins, bin)
	}
	slices.Sort(bins)
	for _, bin := range bins {
		if rank < h.coarse[bin] {
			return float64(min(max(bin, h.least), h.most))
		}
		rank -= h.coarse[bin]
	}
	return float64(h.most)
}

// counts is a set of 64-bit hashes that knows which were added more than once: open
// addressing in a table of which at most three quarters are used.
type counts struct {
	slots      []uint64 // the hash without its lowest bit, which is 1 if it was added more than once; 0 = free
	used, more int
	total      int64 // hashes that were added
}

// find returns the place of a hash, or the free one for it.
func (c *counts) find(hash uint64) *uint64 {
	mask := uint64(len(c.slots) - 1)
	for at := hash >> 1 & mask; ; at = (at + 1) & mask {
		if s := c.slots[at]; s == 0 || s&^1 == hash&^1 {
			return &c.slots[at]
		}
	}
}

func (c *counts) add(hash uint64) {
	if 4*(c.used+1) > 3*len(c.slots) {
		c.grow()
	}
	hash = max(2, hash&^1)
	c.total++
	switch s := c.find(hash); {
	case *s == 0:
		*s = hash
		c.used++
	case *s&1 == 0:
		*s |= 1
		c.more++
	}
}

// grow doubles the table.
func (c *counts) grow() {
	old := c.slots
	c.slots = make([]uint64, max(1<<10, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			*c.find(s) = s
		}
	}
}

func (c *counts) has(hash uint64) bool {
	return c.used > 0 && *c.find(max(2, hash&^1)) != 0
}

func (c *counts) repeated(hash uint64) bool {
	return c.used > 0 && *c.find(max(2, hash&^1))&1 != 0
}
