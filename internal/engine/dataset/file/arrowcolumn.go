package file

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/engine/plainjson"
)

// arrowColumn is a field with its values in one record batch.
type arrowColumn struct {
	*arrowField
	valid    []byte // a bit per value; empty = all are valid
	offsets  []byte // lists, text and binary
	data     []byte // values of fixed size, text and binary; of views: the views
	variadic [][]byte
	children []*arrowColumn
	values   *arrowColumn // of a dictionary; nil = none
}

// arrowLoader takes the buffers of a record batch in the order of the columns.
type arrowLoader struct {
	dictionaries map[int64]*arrowColumn
	nodes        []int64 // length and number of nulls, alternating
	buffers      [][]byte
	variadic     []int64
	err          error
}

func (l *arrowLoader) buffer() []byte {
	b := l.buffers[0]
	l.buffers = l.buffers[1:]
	return b
}

// column makes a column and those below it.
func (l *arrowLoader) column(f *arrowField) *arrowColumn {
	c := &arrowColumn{arrowField: f}
	nulls := l.nodes[1]
	l.nodes = l.nodes[2:]
	if f.kind == arrowNull && f.dictionary == nil {
		return c
	}
	c.valid = l.buffer()
	if nulls == 0 {
		c.valid = nil
	}
	if f.dictionary != nil {
		c.data = l.buffer()
		if c.values = l.dictionaries[f.dictionary.id]; c.values == nil {
			l.err = fmt.Errorf("column %s: its dictionary is missing", f.name)
		}
		return c
	}
	switch f.kind {
	case arrowStruct, arrowFixedSizeList:
	case arrowList, arrowLargeList, arrowMap:
		c.offsets = l.buffer()
	case arrowUtf8, arrowBinary, arrowLargeUtf8, arrowLargeBinary:
		c.offsets = l.buffer()
		c.data = l.buffer()
	case arrowUtf8View, arrowBinaryView:
		c.data = l.buffer()
		for range l.variadic[0] {
			c.variadic = append(c.variadic, l.buffer())
		}
		l.variadic = l.variadic[1:]
	default:
		c.data = l.buffer()
	}
	for _, child := range f.children {
		c.children = append(c.children, l.column(child))
	}
	return c
}

// copy makes the column independent of the batch.
func (c *arrowColumn) copy() {
	c.valid, c.offsets, c.data = slices.Clone(c.valid), slices.Clone(c.offsets), slices.Clone(c.data)
	for i := range c.variadic {
		c.variadic[i] = slices.Clone(c.variadic[i])
	}
	for _, child := range c.children {
		child.copy()
	}
}

// append writes a value.
func (c *arrowColumn) append(dst []byte, row int) []byte {
	if c.kind == arrowNull || len(c.valid) > 0 && c.valid[row>>3]>>(row&7)&1 == 0 {
		return append(dst, "null"...)
	}
	if c.values != nil {
		return c.values.append(dst, int(integer(c.fixed(row, c.dictionary.index.width), true)))
	}
	switch c.kind {
	case arrowBool:
		return strconv.AppendBool(dst, c.data[row>>3]>>(row&7)&1 == 1)
	case arrowStruct:
		dst = append(dst, '{')
		for i, child := range c.children {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = child.append(append(dst, child.key...), row)
		}
		return append(dst, '}')
	case arrowFixedSizeList:
		return c.list(dst, row*c.width, (row+1)*c.width)
	case arrowList, arrowMap, arrowLargeList:
		from, to := c.span(row)
		if c.kind == arrowMap {
			return c.object(dst, from, to)
		}
		return c.list(dst, from, to)
	case arrowUtf8, arrowLargeUtf8, arrowBinary, arrowLargeBinary:
		from, to := c.span(row)
		return c.bytes(dst, c.data[from:to])
	case arrowUtf8View, arrowBinaryView:
		return c.bytes(dst, c.view(row))
	}
	return c.scalar(dst, c.fixed(row, c.width))
}

// fixed returns the bytes of a value of fixed size.
func (c *arrowColumn) fixed(row, width int) []byte { return c.data[row*width:][:width] }

// span returns where a value with offsets begins and ends.
func (c *arrowColumn) span(row int) (from, to int) {
	switch c.kind {
	case arrowLargeList, arrowLargeUtf8, arrowLargeBinary:
		return int(binary.LittleEndian.Uint64(c.offsets[8*row:])), int(binary.LittleEndian.Uint64(c.offsets[8*row+8:]))
	}
	return int(int32(binary.LittleEndian.Uint32(c.offsets[4*row:]))), int(int32(binary.LittleEndian.Uint32(c.offsets[4*row+4:])))
}

// view returns a value of a view: up to 12 bytes are in the view itself, others in one
// of the variadic buffers.
func (c *arrowColumn) view(row int) []byte {
	const inline = 12
	v := c.fixed(row, 16)
	n := int(binary.LittleEndian.Uint32(v))
	if n <= inline {
		return v[4 : 4+n]
	}
	return c.variadic[binary.LittleEndian.Uint32(v[8:])][binary.LittleEndian.Uint32(v[12:]):][:n]
}

func (c *arrowColumn) bytes(dst, v []byte) []byte {
	switch c.kind {
	case arrowUtf8, arrowLargeUtf8, arrowUtf8View:
		return plainjson.AppendString(dst, string(v))
	}
	return appendBinary(dst, v)
}

func (c *arrowColumn) list(dst []byte, from, to int) []byte {
	dst = append(dst, '[')
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		// A list of nulls takes no space in the file, whatever its length.
		if dst = c.children[0].append(dst, i); len(dst) > maxRow {
			panic(errRow)
		}
	}
	return append(dst, ']')
}

// object writes a map.
func (c *arrowColumn) object(dst []byte, from, to int) []byte {
	keys, values := c.children[0].children[0], c.children[0].children[1]
	switch keys.kind {
	case arrowUtf8, arrowLargeUtf8, arrowUtf8View:
	default:
		return c.list(dst, from, to)
	}
	dst = append(dst, '{')
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = append(keys.append(dst, i), ':')
		dst = values.append(dst, i)
	}
	return append(dst, '}')
}

// scalar writes a value of fixed size.
func (c *arrowColumn) scalar(dst, v []byte) []byte {
	switch c.kind {
	case arrowFloat:
		switch c.width {
		case 2:
			return appendFloat(dst, half(binary.LittleEndian.Uint16(v)), 32)
		case 4:
			return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32)
		}
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64)
	case arrowDecimal:
		v = slices.Clone(v)
		slices.Reverse(v)
		return appendDecimal(dst, bigEndian(v), c.scale)
	case arrowDate:
		return appendDate(dst, integer(v, true)/int64(24*time.Hour/c.unit))
	case arrowTimestamp:
		return appendTime(dst, instant(integer(v, true), c.unit))
	case arrowFixedSizeBinary:
		return appendBinary(dst, v)
	}
	n := integer(v, c.signed)
	if c.signed {
		return strconv.AppendInt(dst, n, 10)
	}
	return strconv.AppendUint(dst, uint64(n), 10)
}

// maxRow bounds a row as JSON.
const maxRow = 1 << 30

var errRow = fmt.Errorf("a row is longer than %d bytes", maxRow)

// integer reads a little-endian number.
func integer(v []byte, signed bool) int64 {
	v = v[:min(len(v), 8)]
	var n uint64
	for i, b := range v {
		n |= uint64(b) << (8 * i)
	}
	if rest := 64 - 8*len(v); signed {
		return int64(n<<rest) >> rest // the sign is the highest bit
	}
	return int64(n)
}
