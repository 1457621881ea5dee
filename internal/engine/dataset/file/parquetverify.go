package file

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Bounds of a page. Writers end a page at 1 MiB of data, or after one batch of values,
// which large images fill with hundreds of MiB.
const (
	maxPageBytes  = 1 << 30
	maxPageValues = 1 << 26
)

// VerifyParquet checks the pages of a row group without decoding their values. parquet-go
// believes the sizes in page headers, and decodes LZ4 into ever larger buffers until it
// succeeds: a damaged file would make it run forever or take all memory.
func VerifyParquet(f *parquet.File, group int) error {
	for _, c := range f.Metadata().RowGroups[group].Columns {
		if err := newPages(f, &c.MetaData).verify(); err != nil {
			return fmt.Errorf("%w: column %s: %w", errDamaged, strings.Join(c.MetaData.PathInSchema, "."), err)
		}
	}
	return nil
}

// pages are the pages of one column of a row group.
type pages struct {
	meta    *format.ColumnMetaData
	file    int64 // its size
	offset  int64 // of the first page in the file
	section *io.SectionReader
	in      *bufio.Reader // of section
	raw     []byte        // of a page, reused
	plain   []byte
}

func newPages(f *parquet.File, meta *format.ColumnMetaData) *pages {
	p := &pages{meta: meta, file: f.Size(), offset: meta.DataPageOffset}
	if meta.DictionaryPageOffset != 0 {
		p.offset = meta.DictionaryPageOffset
	}
	p.section = io.NewSectionReader(f, p.offset, meta.TotalCompressedSize)
	p.in = bufio.NewReader(p.section)
	return p
}

func (p *pages) verify() error {
	size := p.meta.TotalCompressedSize
	if p.offset < 0 || size < 0 || size > p.file || p.offset > p.file-size {
		return fmt.Errorf("%d bytes at %d are outside of the file", size, p.offset)
	}
	var protocol thrift.CompactProtocol
	decoder := thrift.NewDecoder(protocol.NewReader(p.in))
	for {
		var h format.PageHeader
		switch err := decoder.Decode(&h); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("page header: %w", err)
		}
		at, err := p.position()
		if err != nil {
			return err
		}
		if err := check(&h, size-at); err != nil {
			return err
		}
		if err := p.data(&h); err != nil {
			return err
		}
		// Seeking instead of reading: of most pages only the header is needed.
		if _, err := p.section.Seek(at+int64(h.CompressedPageSize), io.SeekStart); err != nil {
			return err
		}
		p.in.Reset(p.section)
	}
}

// position returns how many bytes of the column have been read.
func (p *pages) position() (int64, error) {
	at, err := p.section.Seek(0, io.SeekCurrent)
	return at - int64(p.in.Buffered()), err
}

// check checks the sizes in a page header. left is what follows it.
func check(h *format.PageHeader, left int64) error {
	v2, dictionary := &h.DataPageHeaderV2.V, &h.DictionaryPageHeader.V
	values := max(h.DataPageHeader.V.NumValues, v2.NumValues, dictionary.NumValues)
	levels := int64(v2.RepetitionLevelsByteLength) + int64(v2.DefinitionLevelsByteLength)
	switch {
	case h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > left:
		return fmt.Errorf("a page of %d bytes where %d are left", h.CompressedPageSize, left)
	case h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPageBytes:
		return fmt.Errorf("a page that unpacks to %d bytes, not 0 to %d", h.UncompressedPageSize, maxPageBytes)
	case values > maxPageValues:
		return fmt.Errorf("a page of %d values, more than %d", values, maxPageValues)
	case v2.RepetitionLevelsByteLength < 0, v2.DefinitionLevelsByteLength < 0, levels > int64(min(h.CompressedPageSize, h.UncompressedPageSize)):
		return errors.New("the levels of a page are longer than the page")
	case dictionary.NumValues > h.UncompressedPageSize:
		return fmt.Errorf("a dictionary of %d values in %d bytes", dictionary.NumValues, h.UncompressedPageSize)
	case dictionary.Encoding != format.Plain && dictionary.Encoding != format.PlainDictionary: //nolint:staticcheck // old writers use it
		return fmt.Errorf("a dictionary encoded as %s", dictionary.Encoding)
	}
	return nil
}

// data checks the bytes of a page if the library does not: it checks the sums of data
// pages.
func (p *pages) data(h *format.PageHeader) error {
	dictionary := h.Type == format.DictionaryPage && h.CRC != 0
	packed, levels := p.meta.Codec == format.Lz4Raw, 0
	if v2 := &h.DataPageHeaderV2.V; h.Type == format.DataPageV2 {
		packed = packed && (v2.IsCompressed.V || !v2.IsCompressed.Valid)
		levels = int(v2.RepetitionLevelsByteLength + v2.DefinitionLevelsByteLength)
	}
	if !dictionary && !packed {
		return nil
	}
	p.raw = resize(p.raw, int(h.CompressedPageSize))
	if _, err := io.ReadFull(p.in, p.raw); err != nil {
		return fmt.Errorf("read a page: %w", err)
	}
	if dictionary && crc32.ChecksumIEEE(p.raw) != uint32(h.CRC) {
		return errors.New("the checksum of the dictionary does not match")
	}
	if packed {
		p.plain = resize(p.plain, int(h.UncompressedPageSize))
		if _, err := lz4.UncompressBlock(p.raw[levels:], p.plain); err != nil {
			return fmt.Errorf("decode LZ4: %w", err)
		}
	}
	return nil
}

// resize returns a slice of n bytes, of b if it is large enough.
func resize(b []byte, n int) []byte {
	if n > cap(b) {
		return make([]byte, n)
	}
	return b[:n]
}
