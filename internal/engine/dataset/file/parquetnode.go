package file

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"aiperfd/internal/engine/plainjson"
)

// maxDepth bounds the nesting of columns.
const maxDepth = 64

// parquetShape is how a node is written.
type parquetShape int

const (
	parquetLeaf   parquetShape = iota
	parquetStruct              // an object
	parquetList                // a list of three levels: the element is what is below the repeated group
	parquetMap                 // a map with text keys
)

// parquetNode is a node of the schema with the values of the current row below it.
// Parquet's format document (Dremel's repetition and definition levels) says how values
// nest.
type parquetNode struct {
	shape              parquetShape
	key                []byte // "name":
	optional, repeated bool
	children           []*parquetNode
	leaves             []*parquetNode // the leaves below, or the leaf itself
	definition         int            // of a value that is present
	repetition         int            // of an element of this node, if it is repeated

	write  func(dst []byte, v parquet.Value) []byte // leaf
	values []parquet.Value                          // leaf: of the row, not yet written
}

// newParquetNode returns the node of a column whose parent has levels of its own.
func newParquetNode(c *parquet.Column, depth int) (*parquetNode, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("columns are nested more than %d deep", maxDepth)
	}
	n := &parquetNode{
		key: append(plainjson.AppendString(nil, c.Name()), ':'), optional: c.Optional(), repeated: c.Repeated(),
		definition: c.MaxDefinitionLevel(), repetition: c.MaxRepetitionLevel(),
	}
	if c.Leaf() {
		n.leaves, n.write = []*parquetNode{n}, parquetValue(c.Type())
		return n, nil
	}
	n.shape = parquetStruct
	for _, child := range c.Columns() {
		m, err := newParquetNode(child, depth+1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, m)
		n.leaves = append(n.leaves, m.leaves...)
	}
	if len(n.leaves) == 0 {
		return nil, fmt.Errorf("column %s has no values", c.Name())
	}
	if depth > 0 {
		n.unwrap(c)
	}
	return n, nil
}

// unwrap recognises the three levels of lists and maps.
func (n *parquetNode) unwrap(c *parquet.Column) {
	if len(n.children) != 1 || !n.children[0].repeated || n.repeated {
		return
	}
	entry := n.children[0]
	logical := c.Type().LogicalType()
	if logical == nil {
		return
	}
	switch logical.Value.(type) {
	case *format.ListType:
		n.shape = parquetList
	case *format.MapType:
		n.shape = parquetList
		if len(entry.children) == 2 && entry.children[0].shape == parquetLeaf && isText(c.Columns()[0].Columns()[0].Type()) {
			n.shape = parquetMap
		}
	}
}

// take distributes the values of a row over the leaves.
func (n *parquetNode) take(row parquet.Row) {
	for _, leaf := range n.leaves {
		leaf.values = nil
	}
	for start := 0; start < len(row); {
		column, end := row[start].Column(), start+1
		for end < len(row) && row[end].Column() == column {
			end++
		}
		n.leaves[column].values = row[start:end]
		start = end
	}
}

// append writes the node and consumes its values.
func (n *parquetNode) append(dst []byte) []byte {
	if !n.repeated {
		return n.one(dst)
	}
	return n.elements(dst, n.one)
}

// elements writes the repetitions of a repeated node, each by one.
func (n *parquetNode) elements(dst []byte, one func([]byte) []byte) []byte {
	first := n.leaves[0]
	dst = append(dst, '[')
	if first.values[0].DefinitionLevel() < n.definition {
		n.skip()
		return append(dst, ']')
	}
	for {
		dst = one(dst)
		if len(first.values) == 0 || first.values[0].RepetitionLevel() != n.repetition {
			return append(dst, ']')
		}
		dst = append(dst, ',')
	}
}

// one writes one value of the node.
func (n *parquetNode) one(dst []byte) []byte {
	if n.optional && n.leaves[0].values[0].DefinitionLevel() < n.definition {
		n.skip()
		return append(dst, "null"...)
	}
	switch n.shape {
	case parquetLeaf:
		v := n.values[0]
		n.values = n.values[1:]
		if v.IsNull() {
			return append(dst, "null"...)
		}
		return n.write(dst, v)
	case parquetList:
		entry := n.children[0]
		if len(entry.children) == 1 {
			return entry.elements(dst, entry.children[0].append)
		}
		return entry.append(dst)
	case parquetMap:
		return n.object(dst)
	}
	dst = append(dst, '{')
	for i, child := range n.children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = child.append(append(dst, child.key...))
	}
	return append(dst, '}')
}

// object writes a map.
func (n *parquetNode) object(dst []byte) []byte {
	entry := n.children[0]
	at := len(dst)
	dst = entry.elements(dst, func(dst []byte) []byte {
		dst = append(entry.children[0].append(dst), ':')
		return entry.children[1].append(dst)
	})
	dst[at], dst[len(dst)-1] = '{', '}'
	return dst
}

// skip consumes the placeholder that every leaf has for a missing value.
func (n *parquetNode) skip() {
	for _, leaf := range n.leaves {
		leaf.values = leaf.values[1:]
	}
}

func isText(t parquet.Type) bool {
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	switch logical.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return true
	}
	return false
}

// parquetValue returns the function that writes values of a type.
func parquetValue(t parquet.Type) func([]byte, parquet.Value) []byte {
	if logical := t.LogicalType(); logical != nil {
		if write := parquetLogical(t, logical); write != nil {
			return write
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) }
	case parquet.Int96:
		// The deprecated form of timestamps: nanoseconds of the day, then the Julian day.
		return func(dst []byte, v parquet.Value) []byte {
			const julianEpoch = 2_440_588 // the Julian day of 1970-01-01
			raw := v.Int96()
			nanos := int64(raw[1])<<32 | int64(raw[0])
			return appendTime(dst, time.Unix((int64(raw[2])-julianEpoch)*86400, nanos).UTC())
		}
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte { return appendFloat(dst, float64(v.Float()), 32) }
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return appendFloat(dst, v.Double(), 64) }
	}
	return func(dst []byte, v parquet.Value) []byte { return appendBinary(dst, v.ByteArray()) }
}

// parquetLogical is parquetValue for annotated types; nil = the annotation changes
// nothing.
func parquetLogical(t parquet.Type, logical *format.LogicalType) func([]byte, parquet.Value) []byte {
	switch l := logical.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return func(dst []byte, v parquet.Value) []byte { return plainjson.AppendString(dst, string(v.ByteArray())) }
	case *format.DateType:
		return func(dst []byte, v parquet.Value) []byte { return appendDate(dst, int64(v.Int32())) }
	case *format.TimestampType:
		unit := time.Nanosecond
		switch l.Unit.Value.(type) {
		case *format.MilliSeconds:
			unit = time.Millisecond
		case *format.MicroSeconds:
			unit = time.Microsecond
		}
		return func(dst []byte, v parquet.Value) []byte { return appendTime(dst, instant(v.Int64(), unit)) }
	case *format.DecimalType:
		return parquetDecimal(t.Kind(), int(l.Scale))
	case *format.IntType:
		if l.IsSigned {
			return nil
		}
		if t.Kind() == parquet.Int32 {
			return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, uint64(v.Uint32()), 10) }
		}
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, v.Uint64(), 10) }
	case *format.UUIDType:
		return func(dst []byte, v parquet.Value) []byte {
			b := v.ByteArray()
			return fmt.Appendf(dst, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
		}
	}
	return nil
}

func parquetDecimal(kind parquet.Kind, scale int) func([]byte, parquet.Value) []byte {
	return func(dst []byte, v parquet.Value) []byte {
		switch kind {
		case parquet.Int32:
			return appendDecimal(dst, bigEndian(binary.BigEndian.AppendUint32(nil, uint32(v.Int32()))), scale)
		case parquet.Int64:
			return appendDecimal(dst, bigEndian(binary.BigEndian.AppendUint64(nil, uint64(v.Int64()))), scale)
		}
		return appendDecimal(dst, bigEndian(v.ByteArray()), scale)
	}
}

// instant returns the time so many units after 1970.
func instant(n int64, unit time.Duration) time.Time {
	per := int64(time.Second / unit)
	return time.Unix(n/per, n%per*int64(unit)).UTC()
}
