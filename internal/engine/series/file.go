package series

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// File is the name of the file of a series in the folder of a run. It starts with a dot
// because it is not an artifact for users.
const File = ".series.bin"

// magic begins the file; entries follow.
const magic = "aiperfd series 1"

const (
	entrySize = 16      // of the head of an entry
	maxEntry  = 1 << 20 // bytes of the content of an entry
)

// What stands in place of a window in the entries that have none.
const (
	ofBand  = math.MaxUint32     // the content is a [Band] as JSON
	ofStart = math.MaxUint32 - 1 // the content is the start of the run in nanoseconds since 1970
)

// entry is the head of an entry. Numbers in the file are little endian.
type entry struct {
	size    uint32 // of the content
	sum     uint32 // CRC-32C of the rest of the head and of the content
	window  uint32 // seconds since the start of the run, or what the entry has instead
	written uint32 // the second in which the entry was made; it never decreases in the file
}

// isWindow reports whether the content is a window.
func (e *entry) isWindow() bool { return e.window < ofStart }

// newEntry encodes an entry. content may not be larger than maxEntry.
func newEntry(window, written int64, content []byte) []byte {
	b := make([]byte, 8, entrySize+len(content))
	b = binary.LittleEndian.AppendUint32(b, uint32(window))
	b = binary.LittleEndian.AppendUint32(b, uint32(written))
	b = append(b, content...)
	binary.LittleEndian.PutUint32(b, uint32(len(content)))
	binary.LittleEndian.PutUint32(b[4:], checksum(b[8:]))
	return b
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// walker reads the entries of a series one after the other.
type walker struct {
	in      *bufio.Reader
	content []byte
}

func newWalker(r io.Reader) *walker { return &walker{in: bufio.NewReaderSize(r, 64<<10)} }

// begin reads the begin of the file; false = it is not a series of this version.
func (w *walker) begin() bool {
	b := make([]byte, len(magic))
	_, err := io.ReadFull(w.in, b)
	return err == nil && string(b) == magic
}

// next reads the next entry that wanted accepts; its content is valid until the next call.
// The end of the data, and of an entry that a crash has torn, is io.EOF. Entries that are
// damaged are left out.
func (w *walker) next(wanted func(*entry) bool) (e entry, content []byte, err error) {
	for {
		at, err := w.in.Peek(entrySize)
		if err != nil {
			return entry{}, nil, end(err)
		}
		e = entry{
			binary.LittleEndian.Uint32(at), binary.LittleEndian.Uint32(at[4:]),
			binary.LittleEndian.Uint32(at[8:]), binary.LittleEndian.Uint32(at[12:]),
		}
		if e.size > maxEntry {
			return entry{}, nil, io.EOF // nothing behind it can be found
		}
		whole := entrySize + int(e.size)
		if !wanted(&e) {
			if _, err := w.in.Discard(whole); err != nil {
				return entry{}, nil, end(err)
			}
			continue
		}
		if cap(w.content) < whole {
			w.content = make([]byte, 2*whole)
		}
		if _, err := io.ReadFull(w.in, w.content[:whole]); err != nil {
			return entry{}, nil, end(err)
		}
		if checksum(w.content[8:whole]) == e.sum {
			return e, w.content[entrySize:whole], nil
		}
	}
}

// end makes the end inside an entry that of the data.
func end(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// Band is the time of a phase, in seconds since the start of the run.
type Band struct {
	Index int      `json:"index"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Start float64  `json:"start_sec"`
	End   *float64 `json:"end_sec"` // nil = the phase has not ended
}

// bands are the phases of a run in the order in which they started.
type bands []Band

// put inserts or replaces a band.
func (b *bands) put(band Band) {
	for i := range *b {
		if (*b)[i].Index == band.Index {
			(*b)[i] = band
			return
		}
	}
	*b = append(*b, band)
}

// end returns when the last phase ended, 0 if none has.
func (b bands) end() (at float64) {
	for i := range b {
		if b[i].End != nil {
			at = max(at, *b[i].End)
		}
	}
	return at
}

// decode puts the band of an entry.
func (b *bands) decode(content []byte) {
	var band Band
	if json.Unmarshal(content, &band) == nil {
		b.put(band)
	}
}
