package sweep

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"aiperfd/internal/engine/config/vary"
)

// sampled returns the variations of a sampled design.
func (b *Block) sampled(seed int64) []vary.Variation {
	points := b.Points(seed)
	out := make([]vary.Variation, len(points))
	for i, point := range points {
		v := &out[i]
		for j := range b.Dimensions {
			d := &b.Dimensions[j]
			v.Values = append(v.Values, vary.Assignment{Path: d.Path, Value: d.at(point[j])})
		}
		if b.LabelFormat == "kv" {
			v.Label, v.Folder = Label(v.Values), Folder(v.Values)
			continue
		}
		v.Label = fmt.Sprintf("sample_%04d", i)
		v.Folder = v.Label
	}
	return out
}

// Points returns the points of a sampled design in the unit cube, one row per sample.
// They depend on the seed of the block, or on the given one if it has none.
func (b *Block) Points(seed int64) [][]float64 {
	if b.Seed != nil {
		seed = *b.Seed
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	if b.Type == Sobol {
		return sobol(b.Samples, len(b.Dimensions), b.Scramble == nil || *b.Scramble, r)
	}
	points := latin(b.Samples, len(b.Dimensions), r)
	switch {
	case b.Optimization == nil || *b.Optimization == "random-cd":
		spread(points, r)
	case *b.Optimization == "lloyd":
		lloyd(points, r)
	}
	return points
}

// at returns the value of a dimension for a coordinate from 0 to 1.
func (d *Dimension) at(u float64) any {
	if len(d.Choices) > 0 {
		return d.Choices[min(int(u*float64(len(d.Choices))), len(d.Choices)-1)]
	}
	lo, hi := *d.Lo, *d.Hi
	x := lo + u*(hi-lo)
	if d.Scale == "log" {
		x = lo * math.Pow(hi/lo, u)
	}
	if d.Kind == "int" {
		return int64(min(max(math.Round(x), math.Ceil(lo)), math.Floor(hi)))
	}
	// Twelve digits, so that labels are readable; lo and hi stay in range.
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return min(max(short, lo), hi)
}

// latin returns a Latin hypercube: in every dimension, each of n equal intervals has
// one point.
func latin(n, dims int, r *rand.Rand) [][]float64 {
	points := matrix(n, dims)
	for j := range dims {
		for i, at := range r.Perm(n) {
			points[i][j] = (float64(at) + r.Float64()) / float64(n)
		}
	}
	return points
}

func matrix(n, dims int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, dims)
	}
	return out
}

// spread exchanges coordinates of random pairs of points as long as that lowers the
// centred discrepancy (Hickernell 1998); the hypercube stays one.
func spread(points [][]float64, r *rand.Rand) {
	n := len(points)
	tries := min(2000, 200_000_000/max(1, n*n*len(points[0])))
	best := discrepancy(points)
	for range tries {
		i, k, j := r.IntN(n), r.IntN(n), r.IntN(len(points[0]))
		points[i][j], points[k][j] = points[k][j], points[i][j]
		if d := discrepancy(points); d < best {
			best = d
			continue
		}
		points[i][j], points[k][j] = points[k][j], points[i][j]
	}
}

// discrepancy returns the part of the squared centred discrepancy that depends on the
// points.
func discrepancy(points [][]float64) float64 {
	n := float64(len(points))
	var single, pairs float64
	for i, a := range points {
		one := 1.0
		for _, x := range a {
			c := math.Abs(x - 0.5)
			one *= 1 + c/2 - c*c/2
		}
		single += one
		for k, b := range points[:i+1] {
			two := 1.0
			for j := range a {
				two *= 1 + math.Abs(a[j]-0.5)/2 + math.Abs(b[j]-0.5)/2 - math.Abs(a[j]-b[j])/2
			}
			if k < i {
				two *= 2
			}
			pairs += two
		}
	}
	return pairs/n/n - 2*single/n
}

// lloyd moves every point to the mean of the random places that are nearest to it, ten
// times, which makes the distances between points even.
func lloyd(points [][]float64, r *rand.Rand) {
	const rounds, perPoint, most = 10, 64, 200_000_000 // distances along one axis, about a second
	dims := len(points[0])
	place := make([]float64, dims)
	places := min(perPoint*len(points), most/(rounds*len(points)*dims))
	for range rounds {
		sums, counts := matrix(len(points), dims), make([]float64, len(points))
		for range places {
			for j := range place {
				place[j] = r.Float64()
			}
			k := nearest(points, place)
			counts[k]++
			for j, x := range place {
				sums[k][j] += x
			}
		}
		for k := range points {
			for j := range dims {
				if counts[k] > 0 {
					points[k][j] = sums[k][j] / counts[k]
				}
			}
		}
	}
}

// nearest returns the index of the point nearest to a place.
func nearest(points [][]float64, place []float64) int {
	best, at := math.Inf(1), 0
	for k, p := range points {
		sum := 0.0
		for j, x := range place {
			sum += (x - p[j]) * (x - p[j])
		}
		if sum < best {
			best, at = sum, k
		}
	}
	return at
}

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
