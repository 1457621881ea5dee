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

	"aiperfd/internal/engine/dataset/random"
)

// The bounds of files.
const (
	MaxLineBytes = 64 << 20
	// DefaultMaxBytes bounds an unpacked file if [File.MaxBytes] is 0.
	DefaultMaxBytes int64 = 4 << 30
)

// File is the source of records: a path, or the records themselves.
type File struct {
	Path string
	// FS holds Path, which then must be a slash-separated relative path without
	// ".." that names a regular file; nil = Path is opened as the system does,
	// pipes included. A root that links cannot leave is os.Root's FS.
	FS       fs.FS
	Records  []json.RawMessage // inline records instead of Path
	MaxBytes int64             // bound of the unpacked file; 0 = [DefaultMaxBytes]
	OSL      random.Dist       // output cap of records without one; not given = none is sent
	// Open opens an image, audio clip or video that a record names; nil = files may
	// not be read. Only regular files may be opened.
	Open func(name string) (io.ReadCloser, error)
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

// Open opens the file; the caller closes it.
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

// Each calls do for every record in order with its place, until do returns
// false. It skips blank lines. The record is valid only during the call.
func (f File) Each(ctx context.Context, do func(where string, record []byte) bool) error {
	if f.Path == "" {
		for i, r := range f.Records {
			if !do(fmt.Sprintf("records[%d]", i), r) {
				return nil
			}
		}
		return nil
	}
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	limit := f.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	plain, err := unpack(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	defer plain.Close()
	return f.lines(ctx, &limited{r: plain, left: limit, limit: limit}, do)
}

// lines splits a plain file into records.
func (f File) lines(ctx context.Context, r io.Reader, do func(string, []byte) bool) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 64<<10), MaxLineBytes)
	base := path.Base(strings.ReplaceAll(f.Path, "\\", "/"))
	number := 0
	for scan.Scan() {
		number++
		line := scan.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !do(fmt.Sprintf("%s:%d", base, number), line) {
			return nil
		}
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d MiB", base, number+1, MaxLineBytes>>20)
	} else if err != nil {
		return fmt.Errorf("read %s:%d: %w", base, number+1, err)
	}
	return nil
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
