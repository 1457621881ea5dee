package file

import (
	"fmt"
	"time"

	"aiperfd/internal/engine/plainjson"
)

// arrowType is the type of a column (Type in Schema.fbs).
type arrowType byte

// The types that are read.
const (
	arrowNull            arrowType = 1
	arrowInt             arrowType = 2
	arrowFloat           arrowType = 3
	arrowBinary          arrowType = 4
	arrowUtf8            arrowType = 5
	arrowBool            arrowType = 6
	arrowDecimal         arrowType = 7
	arrowDate            arrowType = 8
	arrowTime            arrowType = 9
	arrowTimestamp       arrowType = 10
	arrowList            arrowType = 12
	arrowStruct          arrowType = 13
	arrowFixedSizeBinary arrowType = 15
	arrowFixedSizeList   arrowType = 16
	arrowMap             arrowType = 17
	arrowDuration        arrowType = 18
	arrowLargeBinary     arrowType = 19
	arrowLargeUtf8       arrowType = 20
	arrowLargeList       arrowType = 21
	arrowBinaryView      arrowType = 23
	arrowUtf8View        arrowType = 24
)

// arrowField is a field of the schema.
type arrowField struct {
	name   string
	key    []byte // "name":
	kind   arrowType
	width  int // of a value of fixed size in bytes; of a fixed-size list: elements
	signed bool
	scale  int           // decimal
	unit   time.Duration // date and timestamp

	children   []*arrowField
	dictionary *arrowDictionary // nil = the values are in the column itself
}

// arrowDictionary is the encoding of a column as indexes into a dictionary.
type arrowDictionary struct {
	id    int64
	index arrowField
}

func newArrowField(t fbTable, depth int) (*arrowField, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("columns are nested more than %d deep", maxDepth)
	}
	f := &arrowField{name: t.string(0), kind: arrowType(t.byte(2))}
	f.key = append(plainjson.AppendString(nil, f.name), ':')
	about, _ := t.table(3)
	if err := f.setType(about); err != nil {
		return nil, err
	}
	for _, child := range t.tables(5) {
		c, err := newArrowField(child, depth+1)
		if err != nil {
			return nil, err
		}
		f.children = append(f.children, c)
	}
	if encoding, ok := t.table(4); ok {
		f.dictionary = &arrowDictionary{id: encoding.int64(0), index: arrowField{kind: arrowInt, width: 4, signed: true}}
		if index, ok := encoding.table(1); ok {
			f.dictionary.index.setInt(index)
		}
	}
	return f, f.check()
}

// setType reads the table of the type.
func (f *arrowField) setType(t fbTable) error {
	switch f.kind {
	case arrowNull, arrowBool, arrowStruct, arrowMap, arrowList, arrowLargeList,
		arrowUtf8, arrowBinary, arrowLargeUtf8, arrowLargeBinary, arrowUtf8View, arrowBinaryView:
	case arrowInt:
		f.setInt(t)
	case arrowFloat:
		f.width = 2 << min(max(t.int16(0), 0), 2)
	case arrowDecimal:
		f.width, f.scale = int(t.int32(2, 128))/8, int(t.int32(1, 0))
	case arrowDate:
		f.width, f.unit = 8, time.Millisecond
		if t.int16(1) == 0 {
			f.width, f.unit = 4, 24*time.Hour
		}
	case arrowTime:
		f.width, f.signed = int(t.int32(1, 32))/8, true
	case arrowDuration:
		f.width, f.signed = 8, true
	case arrowTimestamp:
		f.width = 8
		f.unit = [...]time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}[t.int16(0)]
	case arrowFixedSizeBinary, arrowFixedSizeList:
		f.width = int(t.int32(0, 0))
	default:
		return fmt.Errorf("column %s: Arrow type %d is not supported; accepted: numbers, text, binary, booleans, dates, times, lists, structs, maps and dictionaries of them", f.name, f.kind)
	}
	return nil
}

func (f *arrowField) setInt(t fbTable) { f.width, f.signed = int(t.int32(0, 0))/8, t.bool(1) }

// check checks what the rest relies on.
func (f *arrowField) check() error {
	ok := f.width >= 0
	switch f.kind {
	case arrowList, arrowLargeList, arrowFixedSizeList:
		ok = ok && len(f.children) == 1
	case arrowMap:
		ok = len(f.children) == 1 && f.children[0].kind == arrowStruct && len(f.children[0].children) == 2
	case arrowInt, arrowTime:
		ok = f.width == 1 || f.width == 2 || f.width == 4 || f.width == 8
	case arrowDecimal:
		ok = f.width >= 4 && f.width <= 32
	}
	if !ok {
		return fmt.Errorf("column %s: %w", f.name, errDamaged)
	}
	if f.dictionary != nil {
		return f.dictionary.index.check()
	}
	return nil
}
