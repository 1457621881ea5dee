package sweep

import (
	"math/bits"
	"math/rand/v2"
)

// sobolBits is the number of bits of a coordinate.
const sobolBits = 32

// sobolSeeds are the primitive polynomials and the first direction numbers of the
// dimensions after the first: the table new-joe-kuo-6 of Joe and Kuo (2008). Poly holds
// the inner coefficients.
var sobolSeeds = [...]struct {
	poly uint32
	m    []uint32
}{
	{0, []uint32{1}},
	{1, []uint32{1, 3}},
	{1, []uint32{1, 3, 1}},
	{2, []uint32{1, 1, 1}},
	{1, []uint32{1, 1, 3, 3}},
	{4, []uint32{1, 3, 5, 13}},
	{2, []uint32{1, 1, 5, 5, 17}},
	{4, []uint32{1, 1, 5, 5, 5}},
	{7, []uint32{1, 1, 7, 11, 19}},
	{11, []uint32{1, 1, 5, 1, 1}},
	{13, []uint32{1, 1, 1, 3, 11}},
	{14, []uint32{1, 3, 5, 5, 31}},
	{1, []uint32{1, 3, 3, 9, 7, 49}},
	{13, []uint32{1, 1, 1, 15, 21, 21}},
	{16, []uint32{1, 3, 1, 13, 27, 49}},
	{19, []uint32{1, 1, 1, 15, 7, 5}},
	{22, []uint32{1, 3, 1, 15, 13, 25}},
	{25, []uint32{1, 1, 5, 5, 19, 61}},
	{1, []uint32{1, 3, 7, 11, 23, 15, 103}},
	{4, []uint32{1, 3, 7, 13, 13, 15, 69}},
}

// directions returns the direction numbers of a dimension.
func directions(dim int) (v [sobolBits]uint32) {
	if dim == 0 {
		for i := range v {
			v[i] = 1 << (sobolBits - 1 - i)
		}
		return v
	}
	seed := sobolSeeds[dim-1]
	s := len(seed.m)
	for i := range v {
		if i < s {
			v[i] = seed.m[i] << (sobolBits - 1 - i)
			continue
		}
		v[i] = v[i-s] ^ v[i-s]>>s
		for k := 1; k < s; k++ {
			if seed.poly>>(s-1-k)&1 == 1 {
				v[i] ^= v[i-k]
			}
		}
	}
	return v
}

// sobol returns the first n points of a Sobol sequence, at most 21 dimensions. The
// scramble multiplies the digits by a random lower triangular matrix and shifts them
// (Matoušek 1998), which keeps the points evenly spread.
func sobol(n, dims int, scramble bool, r *rand.Rand) [][]float64 {
	points := matrix(n, dims)
	for j := range dims {
		v, shift := directions(j), uint32(0)
		if scramble {
			v, shift = scrambled(v, r), r.Uint32()
		}
		x := shift
		for i := range n {
			points[i][j] = float64(x) / (1 << sobolBits)
			x ^= v[bits.TrailingZeros32(^uint32(i))&(sobolBits-1)]
		}
	}
	return points
}

// scrambled multiplies direction numbers by a random lower triangular matrix.
func scrambled(v [sobolBits]uint32, r *rand.Rand) (out [sobolBits]uint32) {
	for row := range sobolBits { // the most significant digit first
		diagonal := uint32(1) << (sobolBits - 1 - row)
		mask := diagonal | r.Uint32()&^(diagonal<<1-1) // digits above the diagonal's, at random
		for i := range v {
			if bits.OnesCount32(v[i]&mask)&1 == 1 {
				out[i] |= diagonal
			}
		}
	}
	return out
}
