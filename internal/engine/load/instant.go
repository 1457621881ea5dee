package load

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// instantShare returns where a lane begins to play a trace, as a share from 0 to below 1 of
// what the phase allows. It is AIPerf's, so that the runs of both begin alike: the first
// number of NumPy's generator PCG64, whose seed is a digest of the three.
func instantShare(seed int64, trace string, lane int) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s:%d", seed, trace, lane))
	return newPCG64(binary.BigEndian.Uint64(sum[:8])).float()
}

// pcg64 is the generator PCG XSL RR 128/64 (O'Neill 2014, https://www.pcg-random.org/paper.html)
// with the seeding of NumPy's SeedSequence (https://numpy.org/neps/nep-0019-rng-policy.html).
type pcg64 struct{ state, increment uint128 }

type uint128 struct{ high, low uint64 }

func (a uint128) plus(b uint128) uint128 {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return uint128{high, low}
}

func (a uint128) times(b uint128) uint128 {
	high, low := bits.Mul64(a.low, b.low)
	return uint128{high + a.high*b.low + a.low*b.high, low}
}

func newPCG64(seed uint64) *pcg64 {
	w := seedWords(seed)
	initial, sequence := uint128{w[0], w[1]}, uint128{w[2], w[3]}
	g := &pcg64{increment: uint128{sequence.high<<1 | sequence.low>>63, sequence.low<<1 | 1}}
	g.step()
	g.state = g.state.plus(initial)
	g.step()
	return g
}

func (g *pcg64) step() {
	g.state = g.state.times(uint128{2549297995355413924, 4865540595714422341}).plus(g.increment)
}

// float returns the next number, from 0 to below 1.
func (g *pcg64) float() float64 {
	g.step()
	x := bits.RotateLeft64(g.state.high^g.state.low, -int(g.state.high>>58))
	return float64(x>>11) / (1 << 53)
}

// seedWords spreads a seed over the state and the sequence of a generator.
func seedWords(seed uint64) (out [4]uint64) {
	const half = 16
	constant := uint32(0x43b0d7e5)
	hash := func(x uint32) uint32 {
		x ^= constant
		constant *= 0x931e8875
		x *= constant
		return x ^ x>>half
	}
	var pool [4]uint32
	for i, word := range []uint32{uint32(seed), uint32(seed >> 32), 0, 0} {
		pool[i] = hash(word)
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				x := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = x ^ x>>half
			}
		}
	}
	constant = 0x8b51f9dd
	for i := range 2 * len(out) {
		x := pool[i%len(pool)] ^ constant
		constant *= 0x58f38ded
		x *= constant
		out[i/2] |= uint64(x^x>>half) << (32 * (i % 2))
	}
	return out
}
