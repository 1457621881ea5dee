package sockstamp

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The histogram of lags: one bucket below lagFloor, then lagParts buckets for
// each doubling, the last of them without an upper end.
const (
	lagFloorBits = 10 // 1,024 ns
	lagPartBits  = 3
	lagParts     = 1 << lagPartBits
	lagDoublings = 21 // up to 2.1 s
	// LagBuckets is the number of buckets of [LagCounts].
	LagBuckets = 1 + lagDoublings*lagParts
)

// Lags counts how late reads were handled: the time from the kernel's receive
// stamp to the moment at which the reader had the bytes. It is the error that a
// stamp taken at that moment would have had. The zero value is ready; it is safe
// for concurrent use and counting does not allocate.
type Lags struct {
	kernel  atomic.Uint64
	read    atomic.Uint64
	buckets [LagBuckets]atomic.Uint64
}

// Count counts a read by its stamp. The lag of a read that was stamped after it
// returned is not known.
func (l *Lags) Count(s Stamp) {
	if !s.Kernel {
		l.read.Add(1)
		return
	}
	l.kernel.Add(1)
	l.buckets[lagBucket(s.Lag)].Add(1)
}

// Counts returns the counts so far. Reads that are being counted meanwhile
// may be in one of its numbers and not yet in another.
func (l *Lags) Counts() LagCounts {
	c := LagCounts{Kernel: l.kernel.Load(), Read: l.read.Load()}
	for i := range l.buckets {
		c.Buckets[i] = l.buckets[i].Load()
	}
	return c
}

// LagCounts is a state of [Lags]. The difference of two states of the same Lags
// describes the time between them.
type LagCounts struct {
	Kernel  uint64             // reads stamped by the kernel
	Read    uint64             // reads stamped after they returned
	Buckets [LagBuckets]uint64 // of the kernel's, by lag; bucket i ends at LagBound(i)
}

// Since returns the counts since an earlier state.
func (c LagCounts) Since(earlier LagCounts) LagCounts {
	c.Kernel -= earlier.Kernel
	c.Read -= earlier.Read
	for i := range c.Buckets {
		c.Buckets[i] -= earlier.Buckets[i]
	}
	return c
}

// Source is the source of the stamps: "kernel", "read", "mixed", or "" if
// nothing was read.
func (c LagCounts) Source() string {
	switch {
	case c.Kernel > 0 && c.Read > 0:
		return "mixed"
	case c.Kernel > 0:
		return "kernel"
	case c.Read > 0:
		return "read"
	}
	return ""
}

// Each calls count for every bucket with the lag below which its reads lie and
// how many they are.
func (c LagCounts) Each(count func(below time.Duration, reads uint64)) {
	for i, n := range c.Buckets {
		if n > 0 {
			count(LagBound(i), n)
		}
	}
}

// Quantile returns an upper bound, at most an eighth too high, of the lag that a
// share q (0 to 1) of the kernel-stamped reads did not exceed; 0 without any.
func (c LagCounts) Quantile(q float64) time.Duration {
	var total uint64
	for _, n := range c.Buckets {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := max(1, uint64(q*float64(total)+0.5))
	var seen uint64
	for i, n := range c.Buckets {
		if seen += n; seen >= rank {
			return LagBound(i)
		}
	}
	return LagBound(LagBuckets - 1)
}

// lagBucket returns the bucket of a lag: the position of its highest bit and the
// next lagPartBits bits below it.
func lagBucket(lag time.Duration) int {
	n := uint64(max(lag, 0))
	top := bits.Len64(n) - 1
	if top < lagFloorBits {
		return 0
	}
	part := int(n>>(top-lagPartBits)) & (lagParts - 1)
	return min(1+(top-lagFloorBits)*lagParts+part, LagBuckets-1)
}

// LagBound returns the lag below which the lags of a bucket lie. The last bucket
// also holds everything above.
func LagBound(bucket int) time.Duration {
	if bucket <= 0 {
		return 1 << lagFloorBits
	}
	doubling, part := (bucket-1)/lagParts, (bucket-1)%lagParts
	return time.Duration(lagParts+part+1) << (lagFloorBits + doubling - lagPartBits)
}
