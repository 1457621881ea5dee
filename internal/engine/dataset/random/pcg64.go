package random

import (
	"math"
	"math/bits"
)

// The multiplier of PCG64 (pcg64.h of NumPy), as two words.
const (
	pcgMultHigh = 0x2360ED051FC65DA4
	pcgMultLow  = 0x4385DF649FCCF645
)

// PCG64 is the default generator of NumPy: PCG XSL-RR with 128 bits of state, seeded by
// SeedSequence. It draws the integers that numpy.random.default_rng(seed).integers draws.
// A PCG64 is a value: a copy continues independently.
type PCG64 struct {
	high, low       uint64 // the state
	incHigh, incLow uint64
	half            uint32 // the upper half of an output of which the lower half is used
	hasHalf         bool
}

// NewPCG64 returns the generator of numpy.random.default_rng(seed).
func NewPCG64(seed uint64) PCG64 {
	s := newSeedSequence(seed).state()
	g := PCG64{incHigh: s[2]<<1 | s[3]>>63, incLow: s[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, s[1], 0)
	g.high, _ = bits.Add64(g.high, s[0], carry)
	g.step()
	return g
}

// step multiplies the state and adds the increment, modulo 2¹²⁸.
func (g *PCG64) step() {
	high, low := bits.Mul64(g.low, pcgMultLow)
	high += g.high*pcgMultLow + g.low*pcgMultHigh
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// Uint64 returns the next 64 bits. It leaves a half that is still unused where it is.
func (g *PCG64) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
}

// Uint32 returns the lower half of the next output, then its upper half.
func (g *PCG64) Uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	v := g.Uint64()
	g.half, g.hasHalf = uint32(v>>32), true
	return uint32(v)
}

// draw implements generator by Lemire's method, as Generator.integers does for ranges
// below 2³².
func (g *PCG64) draw(dst []int32, low, high int) {
	n := uint32(high - low + 1)
	reject := -n % n // 2³² mod n
	i := 0
	for ; i < len(dst); i++ {
		if !g.hasHalf { // Two values per output are faster than two calls of Uint32.
			i = g.drawPairs(dst, i, low, n, reject)
		}
		if i == len(dst) {
			return
		}
		m := uint64(g.Uint32()) * uint64(n)
		for uint32(m) < reject {
			m = uint64(g.Uint32()) * uint64(n)
		}
		dst[i] = int32(low) + int32(m>>32)
	}
}

// drawPairs fills dst from i on with two values per output, until less than two are
// missing or one is rejected. It returns the first index that it has not filled.
func (g *PCG64) drawPairs(dst []int32, i, low int, n, reject uint32) int {
	next := *g // in registers
	for i+1 < len(dst) {
		v := next.Uint64()
		a, b := (v&math.MaxUint32)*uint64(n), (v>>32)*uint64(n)
		if uint32(a) < reject || uint32(b) < reject {
			return i
		}
		dst[i], dst[i+1] = int32(low)+int32(a>>32), int32(low)+int32(b>>32)
		i += 2
		g.high, g.low = next.high, next.low
	}
	return i
}

func (g *PCG64) clone() generator {
	c := *g
	return &c
}

// seedSequence is the pool of NumPy's SeedSequence, which spreads a seed over the
// state of a generator.
type seedSequence [4]uint32

func newSeedSequence(seed uint64) seedSequence {
	const (
		multiply      = 0x931e8875
		left, right   = 0xca01f9dd, 0x4973f715
		entropyConst  = 0x43b0d7e5
		shift, rounds = 16, 4
	)
	constant := uint32(entropyConst)
	hash := func(v uint32) uint32 {
		v ^= constant
		constant *= multiply
		v *= constant
		return v ^ v>>shift
	}
	pool := seedSequence{hash(uint32(seed)), hash(uint32(seed >> 32))}
	pool[2], pool[3] = hash(0), hash(0)
	for from := range rounds {
		for to := range rounds {
			if from != to {
				v := left*pool[to] - right*hash(pool[from])
				pool[to] = v ^ v>>shift
			}
		}
	}
	return pool
}

// state returns four words for the state and the increment of a PCG64.
func (s seedSequence) state() (out [4]uint64) {
	const multiply, shift = 0x58f38ded, 16
	constant := uint32(0x8b51f9dd)
	for i := range 2 * len(out) {
		v := s[i%len(s)] ^ constant
		constant *= multiply
		v *= constant
		v ^= v >> shift
		out[i/2] |= uint64(v) << (32 * (i % 2))
	}
	return out
}
