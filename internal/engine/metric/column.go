package metric

import (
	"iter"
	"math"
	"slices"
)

// blockLen is the number of values in a full block of a column.
const blockLen = 1024

// firstBlock is the number of values that a column first makes room for.
const firstBlock = 32

// column keeps values in order. Full blocks are packed without loss: times are
// whole nanoseconds that differ by less than four seconds from one request to
// the next, token counts are small, and many metrics do not change at all, so
// that a value takes 0, 2, 4 or 8 bytes. Nothing is copied when it grows. The
// zero column is empty.
type column struct {
	full  []block
	tail  []float64 // the last values, fewer than blockLen
	bytes int64     // memory held
}

// block is blockLen values: base + small[i], base + large[i] or raw[i], or, if
// all are nil, base every time.
type block struct {
	base  float64
	small []uint16
	large []uint32
	raw   []float64
}

// blockBytes is the memory of a block without its values.
const blockBytes = 80

// len returns the number of values.
func (c *column) len() int { return blockLen*len(c.full) + len(c.tail) }

// add appends a value, which is not NaN.
func (c *column) add(x float64) {
	if len(c.tail) == cap(c.tail) {
		c.grow()
	}
	c.tail = append(c.tail, x)
}

// addAll appends values.
func (c *column) addAll(xs []float64) {
	for len(xs) > 0 {
		if len(c.tail) == cap(c.tail) {
			c.grow()
		}
		n := min(len(xs), cap(c.tail)-len(c.tail))
		c.tail = append(c.tail, xs[:n]...)
		xs = xs[n:]
	}
}

// grow makes room in the tail: it doubles, and once it has the length of a block
// it is packed and begins anew.
func (c *column) grow() {
	old := cap(c.tail)
	if old < blockLen {
		tail := make([]float64, len(c.tail), max(firstBlock, 2*old))
		copy(tail, c.tail)
		c.tail = tail
		c.bytes += 8 * int64(cap(tail)-old)
		return
	}
	b, size := pack(c.tail)
	c.full = append(c.full, b)
	c.tail = c.tail[:0]
	c.bytes += size
}

// pack returns the smallest block that holds values, and its memory.
func pack(values []float64) (block, int64) {
	const exact = 1 << 53
	lo, hi := slices.Min(values), slices.Max(values)
	if lo == hi {
		return block{base: lo}, blockBytes
	}
	whole := lo > -exact && hi < exact && hi-lo <= math.MaxUint32
	for i := 0; whole && i < len(values); i++ {
		whole = values[i] == math.Trunc(values[i])
	}
	b := block{base: lo}
	switch {
	case !whole:
		b.raw = slices.Clone(values)
		return b, blockBytes + 8*int64(len(values))
	case hi-lo <= math.MaxUint16:
		b.small = make([]uint16, len(values))
		for i, x := range values {
			b.small[i] = uint16(x - lo)
		}
		return b, blockBytes + 2*int64(len(values))
	}
	b.large = make([]uint32, len(values))
	for i, x := range values {
		b.large[i] = uint32(x - lo)
	}
	return b, blockBytes + 4*int64(len(values))
}

// unpack writes the values to dst, which has room for blockLen.
func (b *block) unpack(dst []float64) []float64 {
	dst = dst[:blockLen]
	switch {
	case b.raw != nil:
		copy(dst, b.raw)
	case b.small != nil:
		for i, d := range b.small {
			dst[i] = b.base + float64(d)
		}
	case b.large != nil:
		for i, d := range b.large {
			dst[i] = b.base + float64(d)
		}
	default:
		for i := range dst {
			dst[i] = b.base
		}
	}
	return dst
}

// runs yields all values in order, in pieces that are valid until the next one.
func (c *column) runs() iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		if len(c.full) > 0 {
			scratch := make([]float64, blockLen)
			for i := range c.full {
				if !yield(c.full[i].unpack(scratch)) {
					return
				}
			}
		}
		if len(c.tail) > 0 {
			yield(c.tail)
		}
	}
}

// appendTo appends all values to dst.
func (c *column) appendTo(dst []float64) []float64 {
	dst = slices.Grow(dst, c.len())
	for run := range c.runs() {
		dst = append(dst, run...)
	}
	return dst
}

// join appends the values of o.
func (c *column) join(o *column) {
	for run := range o.runs() {
		c.addAll(run)
	}
}
