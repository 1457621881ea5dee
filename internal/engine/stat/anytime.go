package stat

import "math"

// Anytime follows the mean of a sequence of blocks whose number is not chosen beforehand: its interval may be
// looked at after each block, and the chance that it ever misses the mean is that of one look. It is the
// asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (Ann. Statist. 52, 2024) by
// Robbins' normal mixture, wider by the quantile of Student's distribution and by the correlation of successive
// blocks. Make one with [NewAnytime]. It is not safe for concurrent use.
type Anytime struct {
	alpha  float64
	spread float64 // ρ² of the mixture

	n            int
	origin, last float64 // the first value; the last one relative to it
	sum, square  float64 // of the values relative to the first
	lagged       float64 // sum of the products of neighbours, likewise
}

// FirstLook is the number of blocks before which an [Anytime] has no interval: it holds asymptotically, and
// skewed blocks exceed its error if they are looked at earlier.
const FirstLook = 30

// NewAnytime returns a sequence without blocks. alpha is the chance that its interval ever misses the mean, above
// 0 and below 1: 5 % divided by the number of sequences that are looked at together.
func NewAnytime(alpha float64) *Anytime {
	// The mixture is narrowest about when looking begins.
	const narrowest = 2 * FirstLook
	return &Anytime{alpha: alpha, spread: (-2*math.Log(alpha) + math.Log1p(-2*math.Log(alpha))) / narrowest}
}

// Add adds the next block.
func (a *Anytime) Add(x float64) {
	if a.n == 0 {
		a.origin = x
	}
	y := x - a.origin
	a.sum += y
	a.square += y * y
	a.lagged += y * a.last
	a.last = y
	a.n++
}

// Count returns the number of blocks.
func (a *Anytime) Count() int { return a.n }

// Mean returns the mean of the blocks; there is at least one.
func (a *Anytime) Mean() float64 { return a.origin + a.sum/float64(a.n) }

// Interval returns the interval of the mean; ok is false before [FirstLook] blocks.
func (a *Anytime) Interval() (low, high float64, ok bool) {
	if a.n < FirstLook {
		return 0, 0, false
	}
	half := a.half(Student(0.975, float64(a.n-1)))
	return a.Mean() - half, a.Mean() + half, true
}

// half returns half the width of the interval; quantile is that of Student's distribution at 97.5 %.
func (a *Anytime) half(quantile float64) float64 {
	variance, wider := a.spreads()
	return quantile / normal975 * wider * math.Sqrt(variance) * mixtureWidth(float64(a.n), a.spread, a.alpha)
}

// mixtureWidth returns half the width of the interval of a mean of n independent values whose standard deviation
// is 1.
func mixtureWidth(n, spread, alpha float64) float64 {
	grown := n*spread + 1
	return math.Sqrt(2 * grown / (n * n * spread) * math.Log(math.Sqrt(grown)/alpha))
}

// Course says what the interval of a sequence has decided.
type Course int

// The courses.
const (
	Undecided Course = iota // neither 0 nor values beyond the margin are excluded
	Above                   // the mean is above 0
	Below                   // the mean is below 0
	Within                  // the mean lies between the margins
)

// Decide returns what the blocks say of their mean; margin is above 0. A mean that is not 0 but lies between the
// margins is [Within], as for an equivalence test.
func (a *Anytime) Decide(margin float64) Course {
	low, high, ok := a.Interval()
	if !ok {
		return Undecided
	}
	return Decide(low, high, margin)
}

// Decide returns what an interval says of a mean, see [Anytime.Decide].
func Decide(low, high, margin float64) Course {
	switch {
	case -margin < low && high < margin:
		return Within
	case low > 0:
		return Above
	case high < 0:
		return Below
	}
	return Undecided
}

// RareInterval returns the interval if blocks are differences of the shares of two events among n pairs in all, the
// mean of which is not known exactly while blocks are alike: if none of the pairs had one event without the other, it
// is how often that may come nevertheless. The bound may be looked at after each pair, because pairs without the event
// come first, and has its own chance to miss the mean, alpha for both sides. seen says that a pair had one event
// alone; blocks that are alike have no interval then.
func (a *Anytime) RareInterval(n int64, seen bool) (low, high float64, ok bool) {
	low, high, ok = a.Interval()
	if !ok || low < high {
		return low, high, ok
	}
	most := -math.Expm1(math.Log(a.alpha/2) / float64(n))
	return -most, most, !seen
}

// StandardError returns the standard error of the mean, with the correlation of successive blocks; there are at
// least two.
func (a *Anytime) StandardError() float64 {
	variance, wider := a.spreads()
	return wider * math.Sqrt(variance/float64(a.n))
}

// spreads returns the variance of the blocks, and the factor by which their correlation makes the error larger.
func (a *Anytime) spreads() (variance, wider float64) {
	n := float64(a.n)
	mean := a.sum / n
	variance = (a.square - n*mean*mean) / (n - 1)
	if !(variance > 0) {
		return 0, 1
	}
	const most = 0.9 // of the correlation, beyond which the sequence says nothing
	correlation := 0.0
	if products := a.lagged - mean*(2*a.sum-a.last) + (n-1)*mean*mean; products > 0 {
		correlation = min(products/((n-1)*variance), most)
	}
	return variance, math.Sqrt((1 + correlation) / (1 - correlation))
}
