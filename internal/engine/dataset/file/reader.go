package file

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxLineBytes bounds a line.
const maxLineBytes = 64 << 20

// File is the source of records: a path, or the records themselves.
type File struct {
	Path string
	// FS holds Path, which then must be a slash-separated relative path without
	// ".." that names a regular file; nil = Path is opened as the system does,
	// pipes included. A root that links cannot leave is os.Root's FS.
	FS       fs.FS
	Records  []json.RawMessage // inline records instead of Path
	MaxBytes int64             // bound of the unpacked file; 0 = without bound
}

// Check checks the options without opening a file.
func (f File) Check() error {
	switch {
	case f.Path == "" && len(f.Records) == 0:
		return errors.New("neither a path nor records are given")
	case f.Path != "" && len(f.Records) > 0:
		return errors.New("both a path and records are given; use one of them")
	case f.FS != nil && f.Path != "" && !fs.ValidPath(f.Path):
		return fmt.Errorf("path %q: must be relative, with slashes, and must not leave its root", f.Path)
	case f.MaxBytes < 0:
		return fmt.Errorf("size limit %d: must not be negative", f.MaxBytes)
	}
	return nil
}

// open opens the file; the caller closes it.
func (f File) open() (io.ReadCloser, error) {
	if f.FS == nil {
		return os.Open(f.Path)
	}
	// Opening a pipe would block, so look first.
	info, err := fs.Stat(f.FS, f.Path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: f.Path, Err: errors.New("not a regular file")}
	}
	return f.FS.Open(f.Path)
}

// Place is where a record stands.
type Place struct {
	File string // base name; empty = inline
	Line int    // from 1; of inline records the index, from 0
}

// String returns "chats.jsonl:12" or "records[3]".
func (p Place) String() string {
	if p.File == "" {
		return fmt.Sprintf("records[%d]", p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Record is one JSON object of a file.
type Record struct {
	Place Place
	Data  []byte // valid until the next record is read
}

// Reader reads the records of a file. Only one goroutine may use it.
type Reader struct {
	file   File
	next   int
	lines  *bufio.Scanner // nil = inline records
	close  []io.Closer
	cancel func() bool
	number int
	base   string
}

// Open opens a file. The end of ctx ends a read that waits.
func Open(ctx context.Context, f File) (*Reader, error) {
	r := &Reader{file: f}
	if f.Path == "" {
		return r, nil
	}
	opened, err := f.open()
	if err != nil {
		return nil, err
	}
	plain, err := unpack(opened)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", f.Path, err), opened.Close())
	}
	cancel := context.AfterFunc(ctx, func() { _ = opened.Close() })
	r.close = []io.Closer{plain, opened}
	r.cancel = cancel
	var limit io.Reader = plain
	if f.MaxBytes > 0 {
		limit = &limited{r: plain, left: f.MaxBytes, limit: f.MaxBytes}
	}
	r.lines = bufio.NewScanner(limit)
	r.lines.Buffer(make([]byte, 64<<10), maxLineBytes)
	r.base = path.Base(strings.ReplaceAll(f.Path, "\\", "/"))
	return r, nil
}

// Next returns the next record; io.EOF = there are no more. It skips blank lines.
func (r *Reader) Next() (Record, error) {
	if r.lines == nil {
		if r.next == len(r.file.Records) {
			return Record{}, io.EOF
		}
		r.next++
		return Record{Place{Line: r.next - 1}, r.file.Records[r.next-1]}, nil
	}
	for r.lines.Scan() {
		r.number++
		line := r.lines.Bytes()
		if r.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return Record{Place{r.base, r.number}, line}, nil
		}
	}
	if err := r.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return Record{}, fmt.Errorf("%s:%d: the line is longer than %d MiB", r.base, r.number+1, maxLineBytes>>20)
	} else if err != nil {
		return Record{}, fmt.Errorf("read %s:%d: %w", r.base, r.number+1, err)
	}
	return Record{}, io.EOF
}

// Close closes the file.
func (r *Reader) Close() error {
	var errs []error
	if r.cancel != nil && !r.cancel() {
		return nil // closed already
	}
	for _, c := range r.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Size returns the size of a regular file, as it lies on disk.
func (f File) Size() (size int64, ok bool) {
	var info fs.FileInfo
	var err error
	if f.FS == nil {
		info, err = os.Stat(f.Path)
	} else {
		info, err = fs.Stat(f.FS, f.Path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// unpack detects gzip (RFC 1952) and zstd (RFC 8878) by their first bytes; other
// files are plain. Closing the result does not close r.
func unpack(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	// A short or empty file is no error here; it has no magic number.
	magic, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(b)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// Concurrency 1 starts no goroutines. The window bounds the memory that a
		// frame may request.
		d, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// limited returns an error when more than its limit is read. io.LimitReader would
// truncate the file silently.
type limited struct {
	r           io.Reader
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("the unpacked file is larger than %d bytes", l.limit)
	}
	return n, err
}
