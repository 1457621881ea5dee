package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Bounds of Arrow messages. A record batch is decoded as a whole, because the values of
// a row are spread over it.
const (
	maxArrowMetadata = 64 << 20
	// maxArrowBatch is the most bytes of a record batch, uncompressed.
	maxArrowBatch = 1 << 30
)

// Types of messages (Message.fbs).
const (
	messageSchema     = 1
	messageDictionary = 2
	messageBatch      = 3
)

// arrowTable reads the rows of an Arrow IPC stream or file. A file is read from its
// beginning to its end like a stream: before its footer, it is one. It holds one record
// batch and the dictionaries.
type arrowTable struct {
	r            io.Reader
	file         bool // r is a file: it has a mark at the end of its batches
	fields       []*arrowField
	dictionaries map[int64]*arrowColumn
	columns      []*arrowColumn // of the current batch
	row, rows    int64
	body, plain  bytes.Buffer
	zstd         *zstd.Decoder // nil = not needed yet
	out          []byte
}

// arrowMagic begins an Arrow file; a stream begins with [arrowStreamMagic].
const (
	arrowMagic       = "ARROW1"
	arrowStreamMagic = "\xff\xff\xff\xff"
)

// newArrow reads the schema of a stream or a file.
func newArrow(r io.Reader) (a *arrowTable, err error) {
	defer guard(&err)
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, truncated(err)
	}
	a = &arrowTable{r: r, dictionaries: map[int64]*arrowColumn{}}
	if a.file = string(start[:6]) == arrowMagic; a.file {
		if _, err := io.ReadFull(r, start[:]); err != nil {
			return nil, truncated(err)
		}
	}
	a.r = io.MultiReader(bytes.NewReader(start[:]), r)
	schema, err := a.schema(string(start[:4]) == arrowStreamMagic)
	switch {
	case err != nil:
		return nil, err
	case schema.int16(0) != 0:
		return nil, errors.New("the Arrow data is big-endian, which is not supported; write it on a little-endian machine")
	}
	for _, f := range schema.tables(1) {
		field, err := newArrowField(f, 0)
		if err != nil {
			return nil, err
		}
		a.fields = append(a.fields, field)
	}
	return a, nil
}

// schema reads the schema. Polars writes its message into a file without a length; then
// it ends where the next message begins.
func (a *arrowTable) schema(framed bool) (fbTable, error) {
	if framed {
		kind, schema, err := a.message()
		if err == nil && kind != messageSchema {
			err = errors.New("the Arrow stream does not begin with a schema")
		}
		return schema, truncated(err)
	}
	var bare []byte
	for a.file && len(bare) < maxArrowMetadata {
		var word [8]byte // the alignment of messages
		if _, err := io.ReadFull(a.r, word[:]); err != nil {
			return fbTable{}, truncated(err)
		}
		if string(word[:4]) == arrowStreamMagic {
			a.r = io.MultiReader(bytes.NewReader(word[:]), a.r)
			schema, ok := fbRoot(bare).table(2)
			if !ok {
				return fbTable{}, errDamaged
			}
			return schema, nil
		}
		bare = append(bare, word[:]...)
	}
	return fbTable{}, errors.New("the Arrow stream is damaged, or of a version before 0.15")
}

// Next returns the next row, which is valid until the next call, and io.EOF after the
// last one.
func (a *arrowTable) Next() (row []byte, err error) {
	defer guard(&err)
	for a.row >= a.rows {
		if err := a.batch(); err != nil {
			return nil, err
		}
	}
	at := int(a.row)
	a.row++
	a.out = append(a.out[:0], '{')
	for i, c := range a.columns {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.out = c.append(append(a.out, c.key...), at)
	}
	a.out = append(a.out, '}')
	return a.out, nil
}

// batch reads messages up to the next record batch.
func (a *arrowTable) batch() error {
	for {
		kind, message, err := a.message()
		if err != nil {
			return err
		}
		switch kind {
		case messageBatch:
			a.columns, err = a.load(message, a.fields)
			a.row, a.rows = 0, message.int64(0)
			return err
		case messageDictionary:
			if err := a.dictionary(message); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the Arrow stream has a message of the unknown type %d", kind)
		}
	}
}

// message reads a message: its metadata and its body, which stays in a.body until the
// next message. It returns io.EOF at the end of the stream.
func (a *arrowTable) message() (kind byte, header fbTable, err error) {
	var prefix [4]byte
	if _, err := io.ReadFull(a.r, prefix[:]); err != nil {
		if a.file {
			err = truncated(err)
		}
		return 0, fbTable{}, err // a stream may end without a mark
	}
	if string(prefix[:]) != arrowStreamMagic {
		return 0, fbTable{}, errors.New("the Arrow stream is damaged, or of a version before 0.15")
	}
	if _, err := io.ReadFull(a.r, prefix[:]); err != nil {
		return 0, fbTable{}, truncated(err)
	}
	size := int64(int32(binary.LittleEndian.Uint32(prefix[:])))
	if size == 0 {
		return 0, fbTable{}, io.EOF
	}
	if size < 0 || size > maxArrowMetadata {
		return 0, fbTable{}, fmt.Errorf("the Arrow stream has %d bytes of metadata in one message; at most %d are accepted", size, maxArrowMetadata)
	}
	metadata := new(bytes.Buffer)
	if err := copyExactly(metadata, a.r, size); err != nil {
		return 0, fbTable{}, err
	}
	message := fbRoot(metadata.Bytes())
	body := message.int64(3)
	if body < 0 || body > maxArrowBatch {
		return 0, fbTable{}, fmt.Errorf("the Arrow stream has a record batch of %d bytes; at most %d are accepted: write it with fewer rows per batch", body, maxArrowBatch)
	}
	a.body.Reset()
	if err := copyExactly(&a.body, a.r, body); err != nil {
		return 0, fbTable{}, err
	}
	header, ok := message.table(2)
	if !ok {
		return 0, fbTable{}, errDamaged
	}
	return message.byte(1), header, nil
}

// copyExactly copies n bytes. The buffer grows with what is there, not with what a
// damaged file says.
func copyExactly(to *bytes.Buffer, r io.Reader, n int64) error {
	_, err := io.CopyN(to, r, n)
	return truncated(err)
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dictionary keeps the values of a dictionary. They replace an earlier dictionary of the
// same id.
func (a *arrowTable) dictionary(message fbTable) error {
	id := message.int64(0)
	field := findDictionary(a.fields, id)
	batch, ok := message.table(1)
	if field == nil || !ok {
		return errDamaged
	}
	if message.bool(2) {
		return fmt.Errorf("column %s: the dictionary is extended by a later message, which is not supported", field.name)
	}
	values := *field
	values.dictionary = nil
	columns, err := a.load(batch, []*arrowField{&values})
	if err != nil {
		return err
	}
	columns[0].copy()
	a.dictionaries[id] = columns[0]
	return nil
}

// findDictionary returns a field that uses a dictionary.
func findDictionary(fields []*arrowField, id int64) *arrowField {
	for _, f := range fields {
		if f.dictionary != nil && f.dictionary.id == id {
			return f
		}
		if found := findDictionary(f.children, id); found != nil {
			return found
		}
	}
	return nil
}

// load makes the columns of a record batch, whose body is in a.body.
func (a *arrowTable) load(batch fbTable, fields []*arrowField) ([]*arrowColumn, error) {
	l := arrowLoader{dictionaries: a.dictionaries, nodes: batch.int64s(1, 2), variadic: batch.int64s(4, 1)}
	body := a.body.Bytes()
	ranges := batch.int64s(2, 2)
	compression, compressed := batch.table(3)
	a.plain.Reset()
	left := int64(maxArrowBatch)
	for i := 0; i < len(ranges); i += 2 {
		raw := body[ranges[i]:][:ranges[i+1]]
		if compressed && len(raw) > 0 {
			var err error
			if raw, err = a.decompress(raw, compression.byte(0), left); err != nil {
				return nil, err
			}
			left -= int64(len(raw))
		}
		l.buffers = append(l.buffers, raw)
	}
	var columns []*arrowColumn
	for _, f := range fields {
		columns = append(columns, l.column(f))
	}
	return columns, l.err
}

// decompress unpacks a buffer: its length before compression, then a frame; the length
// -1 means that it is not compressed.
func (a *arrowTable) decompress(raw []byte, codec byte, left int64) ([]byte, error) {
	const lz4Frame, zstandard = 0, 1
	size := int64(binary.LittleEndian.Uint64(raw))
	raw = raw[8:]
	switch {
	case size == -1:
		return raw, nil
	case size < 0 || size > left:
		return nil, fmt.Errorf("the Arrow stream has a record batch of more than %d bytes: write it with fewer rows per batch", maxArrowBatch)
	}
	var from io.Reader
	switch codec {
	case lz4Frame:
		from = lz4.NewReader(bytes.NewReader(raw))
	case zstandard:
		if a.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
			if err != nil {
				return nil, err
			}
			a.zstd = d
		}
		if err := a.zstd.Reset(bytes.NewReader(raw)); err != nil {
			return nil, err
		}
		from = a.zstd
	default:
		return nil, fmt.Errorf("the Arrow stream is compressed with the unknown codec %d; accepted: LZ4_FRAME, ZSTD", codec)
	}
	start := a.plain.Len()
	if err := copyExactly(&a.plain, from, size); err != nil {
		return nil, fmt.Errorf("unpack a record batch: %w", err)
	}
	return slices.Clip(a.plain.Bytes()[start:]), nil
}

// Close releases the decoder.
func (a *arrowTable) Close() error {
	if a.zstd != nil {
		a.zstd.Close()
	}
	return nil
}
