package random

import "math/bits"

const (
	mtWords  = 624
	mtMiddle = 397
)

// MT19937 is the legacy generator of NumPy, a Mersenne Twister. It draws the integers
// that numpy.random.seed(seed) and numpy.random.randint draw.
type MT19937 struct {
	words [mtWords]uint32
	next  int
}

// NewMT19937 returns the generator of numpy.random.seed(seed). NumPy accepts seeds below
// 2³²; larger ones are folded as AIPerf does: upper half XOR lower half.
func NewMT19937(seed uint64) *MT19937 {
	g := &MT19937{next: mtWords}
	v := uint32(seed) ^ uint32(seed>>32)
	for i := range g.words {
		g.words[i] = v
		v = 1812433253*(v^v>>30) + uint32(i) + 1
	}
	return g
}

// twist makes the next 624 words.
func (g *MT19937) twist() {
	w := &g.words
	for i := range mtWords - mtMiddle {
		w[i] = twisted(w[i], w[i+1], w[i+mtMiddle])
	}
	for i := mtWords - mtMiddle; i < mtWords-1; i++ {
		w[i] = twisted(w[i], w[i+1], w[i+mtMiddle-mtWords])
	}
	w[mtWords-1] = twisted(w[mtWords-1], w[0], w[mtMiddle-1])
	g.next = 0
}

func twisted(word, next, other uint32) uint32 {
	const upper, matrix = 1 << 31, 0x9908b0df
	y := word&upper | next&^uint32(upper)
	return other ^ y>>1 ^ -(y&1)&matrix
}

// Uint32 returns the next 32 bits.
func (g *MT19937) Uint32() uint32 {
	if g.next == mtWords {
		g.twist()
	}
	g.next++
	return tempered(g.words[g.next-1])
}

func tempered(y uint32) uint32 {
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// draw implements generator as RandomState.randint does: it masks 32 bits, and draws
// again while the result is above the range. A result that is drawn again is
// overwritten, which is faster than a branch that cannot be predicted.
func (g *MT19937) draw(dst []int32, low, high int) {
	most := uint32(high - low)
	mask := uint32(1)<<bits.Len32(most) - 1
	for i := 0; i < len(dst); {
		if g.next == mtWords {
			g.twist()
		}
		words := g.words[g.next:]
		used := 0
		for used < len(words) && i < len(dst) {
			v := tempered(words[used]) & mask
			used++
			dst[i] = int32(low) + int32(v)
			i += int((uint64(v) - uint64(most) - 1) >> 63) // 1 if v ≤ most
		}
		g.next += used
	}
}

func (g *MT19937) clone() generator {
	c := *g
	return &c
}
