package tokenizer

import (
	"encoding/binary"
	"errors"
	"slices"
)

// idBytes is the size of an id in a ring that was written down.
const idBytes = 3

// Append appends the ring to b, for [OpenRing]: the number of short words, each
// with its length before it (as unsigned varints), then the tokens, three bytes
// each, little endian.
func (r *Ring) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.fillers)))
	for _, w := range r.fillers {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	b = slices.Grow(b, idBytes*len(r.ids))
	for _, id := range r.ids {
		b = append(b, byte(id), byte(id>>8), byte(id>>16))
	}
	return b
}

var errRing = errors.New("the ring is cut off, or is another tokenizer's")

// OpenRing reads a ring that Append has written. t must be the tokenizer that it
// was made with.
func OpenRing(t Tokenizer, data []byte) (*Ring, error) {
	r := &Ring{tok: t}
	number := func() int {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > uint64(len(data)) {
			data = nil
			return 0
		}
		data = data[n:]
		return int(v)
	}
	for range number() {
		n := number()
		if n == 0 || n > len(data) {
			return nil, errRing
		}
		r.fillers = append(r.fillers, string(data[:n]))
		data = data[n:]
	}
	if len(data)%idBytes != 0 || len(data) == 0 {
		return nil, errRing
	}
	r.ids = make([]int, len(data)/idBytes)
	for i := range r.ids {
		b := data[idBytes*i:][:idBytes]
		r.ids[i] = int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		if r.ids[i] >= t.VocabSize() {
			return nil, errRing
		}
	}
	return r, nil
}
