package file

import "encoding/binary"

// fbTable is a table of FlatBuffers, the encoding of Arrow's metadata. Reading outside
// of the buffer panics with a [runtime.Error], see guard.
type fbTable struct {
	buf []byte
	at  int
}

// fbRoot returns the root table of a buffer.
func fbRoot(buf []byte) fbTable { return fbTable{buf, int(binary.LittleEndian.Uint32(buf))} }

// field returns the position of a field; 0 = it has its default value.
func (t fbTable) field(id int) int {
	vtable := t.at - int(int32(binary.LittleEndian.Uint32(t.buf[t.at:])))
	slot := 4 + 2*id
	if slot >= int(binary.LittleEndian.Uint16(t.buf[vtable:])) {
		return 0
	}
	if offset := int(binary.LittleEndian.Uint16(t.buf[vtable+slot:])); offset != 0 {
		return t.at + offset
	}
	return 0
}

func (t fbTable) byte(id int) byte {
	if at := t.field(id); at != 0 {
		return t.buf[at]
	}
	return 0
}

func (t fbTable) bool(id int) bool { return t.byte(id) != 0 }

// int16 returns field 0; no other field of a table has two bytes.
func (t fbTable) int16(missing int16) int16 {
	if at := t.field(0); at != 0 {
		return int16(binary.LittleEndian.Uint16(t.buf[at:]))
	}
	return missing
}

func (t fbTable) int32(id int, missing int32) int32 {
	if at := t.field(id); at != 0 {
		return int32(binary.LittleEndian.Uint32(t.buf[at:]))
	}
	return missing
}

func (t fbTable) int64(id int) int64 {
	if at := t.field(id); at != 0 {
		return int64(binary.LittleEndian.Uint64(t.buf[at:]))
	}
	return 0
}

// table returns a nested table; false = there is none.
func (t fbTable) table(id int) (fbTable, bool) {
	at := t.field(id)
	if at == 0 {
		return fbTable{}, false
	}
	return fbTable{t.buf, t.follow(at)}, true
}

func (t fbTable) string(id int) string {
	start, n := t.vector(id)
	return string(t.buf[start : start+n])
}

// vector returns the position and number of the elements of a vector.
func (t fbTable) vector(id int) (start, n int) {
	at := t.field(id)
	if at == 0 {
		return 0, 0
	}
	at = t.follow(at)
	return at + 4, int(binary.LittleEndian.Uint32(t.buf[at:]))
}

// tables returns the elements of a vector of tables.
func (t fbTable) tables(id int) []fbTable {
	start, n := t.vector(id)
	var all []fbTable
	for i := range n {
		all = append(all, fbTable{t.buf, t.follow(start + 4*i)})
	}
	return all
}

// int64s returns a vector of structs of so many 64-bit numbers as one list of numbers.
func (t fbTable) int64s(id, each int) []int64 {
	start, n := t.vector(id)
	raw := t.buf[start : start+8*each*n]
	all := make([]int64, each*n)
	for i := range all {
		all[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return all
}

// follow returns the position to which an offset points.
func (t fbTable) follow(at int) int { return at + int(binary.LittleEndian.Uint32(t.buf[at:])) }
