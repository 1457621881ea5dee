package timeline

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
)

// blockLen is the number of values in a full block of a column.
const blockLen = 1024

// firstBlock is the number of values that a column first makes room for.
const firstBlock = 32

// Column stores values in order. Full blocks are packed without loss: times are
// whole nanoseconds that differ by less than four seconds from one request to the
// next, token counts are small, and many metrics do not change at all, so that a
// value takes 0, 2, 4 or 8 bytes. Blocks go to the disk, if there is one. Values
// are not copied when the column grows. The zero Column is empty and in memory. Not
// safe for concurrent use.
type Column struct {
	disk  *Disk
	full  []block
	tail  []float64 // the last values, fewer than blockLen
	bytes int64     // held in memory and on disk
}

// block is blockLen values.
type block struct {
	base  float64
	width uint8  // bytes of a value: 0 = it is base, 2 and 4 = the difference from base, 8 = the value itself
	data  []byte // in little endian; nil = it is on disk, at offset at
	at    int64
}

// blockBytes is the memory of a block without its values.
const blockBytes = 48

// On returns an empty column whose full blocks go to a disk.
func On(d *Disk) Column { return Column{disk: d} }

// Size returns the size of the column in memory and on disk, in bytes.
func (c *Column) Size() int64 { return c.bytes }

// Len returns the number of values.
func (c *Column) Len() int { return blockLen*len(c.full) + len(c.tail) }

// Lost reports whether the disk has lost some of the values.
func (c *Column) Lost() bool { return c.disk != nil && c.disk.Lost() }

// Add appends a value, which is not NaN.
func (c *Column) Add(x float64) {
	if len(c.tail) == cap(c.tail) {
		c.grow()
	}
	c.tail = append(c.tail, x)
}

// AddAll appends values.
func (c *Column) AddAll(xs []float64) {
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
func (c *Column) grow() {
	old := cap(c.tail)
	if old < blockLen {
		tail := make([]float64, len(c.tail), max(firstBlock, 2*old))
		copy(tail, c.tail)
		c.tail = tail
		c.bytes += 8 * int64(cap(tail)-old)
		return
	}
	b := pack(c.tail)
	c.bytes += blockBytes + int64(len(b.data))
	if at, ok := c.disk.Put(b.data); ok {
		b.data, b.at = nil, at
	}
	c.full = append(c.full, b)
	c.tail = c.tail[:0]
}

// pack returns the smallest block that holds values.
func pack(values []float64) block {
	const exact = 1 << 53
	lo, hi := slices.Min(values), slices.Max(values)
	b := block{base: lo}
	if lo == hi {
		return b
	}
	whole := lo > -exact && hi < exact && hi-lo <= math.MaxUint32
	for i := 0; whole && i < len(values); i++ {
		whole = values[i] == math.Trunc(values[i])
	}
	switch {
	case !whole:
		b.width = 8
	case hi-lo <= math.MaxUint16:
		b.width = 2
	default:
		b.width = 4
	}
	b.data = make([]byte, 0, int(b.width)*len(values))
	for _, x := range values {
		switch b.width {
		case 8:
			b.data = binary.LittleEndian.AppendUint64(b.data, math.Float64bits(x))
		case 4:
			b.data = binary.LittleEndian.AppendUint32(b.data, uint32(x-lo))
		default:
			b.data = binary.LittleEndian.AppendUint16(b.data, uint16(x-lo))
		}
	}
	return b
}

// unpack writes the values to dst, which has room for blockLen. data are those of
// the block.
func (b *block) unpack(dst []float64, data []byte) []float64 {
	dst = dst[:blockLen]
	for i := range dst {
		switch b.width {
		case 8:
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		case 4:
			dst[i] = b.base + float64(binary.LittleEndian.Uint32(data[4*i:]))
		case 2:
			dst[i] = b.base + float64(binary.LittleEndian.Uint16(data[2*i:]))
		default:
			dst[i] = b.base
		}
	}
	return dst
}

// Runs yields all values in order, in pieces that are valid until the next one. It
// ends early when the disk has lost some.
func (c *Column) Runs() iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		if len(c.full) > 0 {
			scratch, read := make([]float64, blockLen), make([]byte, 8*blockLen)
			for i := range c.full {
				b := &c.full[i]
				data := b.data
				if data == nil && b.width > 0 {
					if data = read[:int(b.width)*blockLen]; !c.disk.Get(data, b.at) {
						return
					}
				}
				if !yield(b.unpack(scratch, data)) {
					return
				}
			}
		}
		if len(c.tail) > 0 {
			yield(c.tail)
		}
	}
}

// AppendTo appends all values to dst.
func (c *Column) AppendTo(dst []float64) []float64 {
	dst = slices.Grow(dst, c.Len())
	for run := range c.Runs() {
		dst = append(dst, run...)
	}
	return dst
}

// Join appends the values of o.
func (c *Column) Join(o *Column) {
	for run := range o.Runs() {
		c.AddAll(run)
	}
}
