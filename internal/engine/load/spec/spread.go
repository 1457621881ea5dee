package spec

import "aiperfd/internal/engine/bench"

// Spread chooses a target for each session or request. The choice depends only on the
// seed and the number, so that a run can be repeated.
type Spread struct {
	Seed    bench.Seed
	Random  bool // false = in turn
	Request bool // per request; false = per session
	Least   bool // the target with the fewest requests in flight is chosen instead, when the request is sent
	Targets int
}

// Late reports whether a target is not known before the request is sent.
func (s *Spread) Late() bool { return s.Request || s.Least }

// Pick returns the target of session or request n, from 0. With Least it is the target if
// all requests take the same time.
func (s *Spread) Pick(n int64) int {
	switch {
	case s.Targets <= 1:
		return 0
	case s.Random:
		return int(mixed(uint64(s.Seed)+uint64(n)*gamma) % uint64(s.Targets))
	}
	return int(n % int64(s.Targets))
}

// gamma is the increment of SplitMix64.
const gamma = 0x9e3779b97f4a7c15

// mixed is the output function of SplitMix64 (Steele, Lea and Flood 2014): every bit of
// the result depends on every bit of x.
func mixed(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
