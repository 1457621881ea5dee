package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetRows is how many rows are decoded at once.
const parquetRows = 16

// parquetTable reads the rows of a Parquet file, one row group after the other. It holds one
// page of each column.
type parquetTable struct {
	root   *parquetNode
	file   *parquet.File
	next   int          // the row group to read next
	rows   parquet.Rows // of the current group; nil = none
	buffer []parquet.Row
	ready  []parquet.Row // of buffer, not yet returned
	ended  bool          // rows has no more
	out    []byte
}

// newParquet opens a file of a size; r must stay open while rows are read.
func newParquet(r io.ReaderAt, size int64) (p *parquetTable, err error) {
	defer guard(&err)
	var tail [8]byte
	if size < 12 {
		return nil, errors.New("the Parquet file is truncated")
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	// A download that was interrupted has no footer.
	if n := binary.LittleEndian.Uint32(tail[:]); string(tail[4:]) != "PAR1" || int64(n) > size-12 {
		return nil, errors.New("the Parquet file is truncated: it has no footer")
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	root, err := newParquetNode(f.Root(), 0)
	if err != nil {
		return nil, err
	}
	return &parquetTable{root: root, file: f, buffer: make([]parquet.Row, parquetRows)}, nil
}

// Next returns the next row, which is valid until the next call, and io.EOF after the
// last one.
func (p *parquetTable) Next() (row []byte, err error) {
	defer guard(&err)
	for len(p.ready) == 0 {
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
	p.root.take(p.ready[0])
	p.ready = p.ready[1:]
	p.out = p.root.append(p.out[:0])
	return p.out, nil
}

// fill decodes the next rows.
func (p *parquetTable) fill() error {
	if p.rows == nil || p.ended {
		if err := p.Close(); err != nil {
			return err
		}
		groups := p.file.RowGroups()
		if p.next == len(groups) {
			return io.EOF
		}
		if err := VerifyParquet(p.file, p.next); err != nil {
			return err
		}
		p.rows, p.ended = groups[p.next].Rows(), false
		p.next++
	}
	n, err := p.rows.ReadRows(p.buffer)
	p.ready = p.buffer[:n]
	switch {
	case errors.Is(err, io.EOF):
		p.ended = true
	case err != nil:
		return fmt.Errorf("decode a page: %w", err)
	case n == 0:
		return fmt.Errorf("%w: a row group is shorter than it says", errDamaged)
	}
	return nil
}

// Close releases the pages. It does not close the file.
func (p *parquetTable) Close() error {
	if p.rows == nil {
		return nil
	}
	err := p.rows.Close()
	p.rows = nil
	return err
}
