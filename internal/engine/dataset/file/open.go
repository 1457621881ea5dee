package file

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// openFile opens a file, a pipe only until ctx ends.
func (r *Reader) openFile(ctx context.Context, name string) (fs.File, error) {
	if r.file.FS != nil {
		// Opening a pipe would block, so look first.
		info, err := fs.Stat(r.file.FS, name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
		}
		return r.file.FS.Open(name)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return os.Open(name)
	}
	f, err := openPipe(ctx, name)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		// It ends a read that waits for the writer; what cannot have a deadline does not
		// wait.
		_ = f.SetReadDeadline(time.Unix(1, 0))
	})
	r.closers = append(r.closers, closer(func() error { stop(); return nil }))
	return f, nil
}

// closer is a function as an io.Closer.
type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// openPipe opens a named pipe, which blocks until it has a writer.
func openPipe(ctx context.Context, name string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1) // the opener never blocks
	go func() {
		f, err := os.Open(name)
		opened <- result{f, err}
	}()
	select {
	case got := <-opened:
		return got.file, got.err
	case <-ctx.Done():
	}
	// Be the writer for which it waits.
	w, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, ctx.Err() // the pipe was removed: nothing can end the wait
	}
	got := <-opened
	if got.err == nil {
		_ = got.file.Close()
	}
	return nil, errors.Join(ctx.Err(), w.Close())
}

// advance closes the current file and opens the next one.
func (r *Reader) advance() error {
	if err := r.Close(); err != nil {
		return err
	}
	path := r.paths[0]
	r.name, r.paths, r.names = r.names[0], r.paths[1:], r.names[1:]
	f, err := r.open(path)
	if err != nil {
		return err
	}
	r.closers = append(r.closers, f)
	if r.current, err = r.detect(f); err != nil {
		if stopped := r.interrupted(); stopped != nil {
			return stopped
		}
		return fmt.Errorf("read %s: %w", r.name, err)
	}
	if c, ok := r.current.(io.Closer); ok {
		r.closers = append([]io.Closer{c}, r.closers...)
	}
	return nil
}

// parquetMagic begins and ends a Parquet file.
const parquetMagic = "PAR1"

// detect finds the container of a file by its first bytes, those of CSV and of texts by
// the name, and begins to read it.
func (r *Reader) detect(f fs.File) (container, error) {
	packed := bufio.NewReaderSize(f, bufferSize)
	if begins(packed, parquetMagic) {
		return r.openParquet(f)
	}
	unpacked, extension, err := r.unpack(packed)
	if err != nil {
		return nil, err
	}
	if r.file.MaxBytes > 0 {
		unpacked = &limited{r: unpacked, left: r.file.MaxBytes, limit: r.file.MaxBytes}
	}
	b := bufio.NewReaderSize(unpacked, bufferSize)
	switch {
	case begins(b, parquetMagic):
		return nil, errors.New("a Parquet file must not be packed: unpack it first")
	case begins(b, arrowMagic), begins(b, arrowStreamMagic):
		rows, err := newArrow(b)
		if err != nil {
			return nil, err
		}
		return &table{name: "arrow", rows: rows}, nil
	case begins(b, "FEA1"):
		return nil, errors.New("the file is Feather version 1, which is not supported: write it as Arrow IPC (Feather version 2) or Parquet")
	case begins(b, "\xff\xfe"), begins(b, "\xfe\xff"):
		return nil, errors.New("the text is UTF-16: write it as UTF-8")
	}
	if begins(b, "\ufeff") {
		_, _ = b.Discard(len("\ufeff")) // buffered
	}
	switch extension {
	case ".csv":
		return newTable("csv", ',', b, r.file.Numbers)
	case ".tsv":
		return newTable("tsv", '\t', b, r.file.Numbers)
	case ".txt":
		if !isJSON(b) {
			return &texts{lines{r: b, most: MaxRecordBytes}}, nil
		}
	}
	return newText(b, &r.file)
}

// bufferSize is the size of read buffers.
const bufferSize = 64 << 10

// begins reports whether the next bytes are these. It reads no more than it must to
// know, because the next bytes of a pipe may come late.
func begins(b *bufio.Reader, magic string) bool {
	for i := range len(magic) {
		next, err := b.Peek(i + 1)
		if err != nil || next[i] != magic[i] {
			return false
		}
	}
	return true
}

// unpack detects gzip (RFC 1952) and zstd (RFC 8878) by their first bytes; other files
// are plain. It returns the extension that the file has unpacked.
func (r *Reader) unpack(b *bufio.Reader) (plain io.Reader, extension string, err error) {
	name := strings.ToLower(r.name)
	switch {
	case begins(b, "\x1f\x8b"):
		plain, err = gzip.NewReader(b)
	case begins(b, "\x28\xb5\x2f\xfd"):
		// Concurrency 1 starts no goroutines. The window bounds the memory that a frame
		// may request.
		var d *zstd.Decoder
		if d, err = zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20)); err == nil {
			plain = d
			r.closers = append([]io.Closer{d.IOReadCloser()}, r.closers...)
		}
	default:
		return b, path.Ext(name), nil
	}
	for _, packed := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	return plain, path.Ext(name), err
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

// openParquet opens a Parquet file, of which the end is read first.
func (r *Reader) openParquet(f fs.File) (container, error) {
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !ok || !info.Mode().IsRegular() {
		return nil, errors.New("a Parquet file cannot be read from a pipe: write it to a file first")
	}
	rows, err := newParquet(at, info.Size())
	if err != nil {
		return nil, err
	}
	t := &table{name: "parquet", rows: rows}
	if r.file.MaxBytes > 0 {
		t.limit = r.file.MaxBytes
	}
	return t, nil
}
