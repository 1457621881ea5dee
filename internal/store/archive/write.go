package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// File describes one file of an archive.
type File struct {
	Name     string // with slashes
	Size     int64
	Mode     fs.FileMode // permissions only
	Modified time.Time
}

// Writer writes an archive. It is not safe for concurrent use.
type Writer struct {
	ctx  context.Context //nolint:containedctx // lives as long as the archive is written
	gz   *gzip.Writer
	tar  *tar.Writer
	sums strings.Builder
	// Files and Bytes are the number and the size of the files so far, without the header.
	Files int
	Bytes int64
}

// NewWriter begins an archive. The archive is complete once [Writer.Close] has returned
// without an error. Every method fails once the context has ended.
func NewWriter(ctx context.Context, out io.Writer, h Header) (*Writer, error) {
	// A backup runs beside measurements: little CPU time matters more than a small file.
	gz, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := &Writer{ctx: ctx, gz: gz, tar: tar.NewWriter(gz)}
	h.Schema = schema
	if err := h.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", headerFile, err)
	}
	err = w.AddBytes(headerFile, h.Created, append(text, '\n'))
	w.Files, w.Bytes = 0, 0
	return w, err
}

// Add adds a file. Content must have f.Size bytes; more are ignored.
func (w *Writer) Add(f File, content io.Reader) error {
	if err := checkName(f.Name); err != nil {
		return err
	}
	err := w.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: int64(f.Mode.Perm()), ModTime: f.Modified, Format: tar.FormatPAX,
	})
	if err != nil {
		return fmt.Errorf("add %s: %w", f.Name, err)
	}
	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, hash), &interruptible{w.ctx, content}, f.Size); errors.Is(err, io.EOF) {
		return fmt.Errorf("add %s: it became shorter while it was read", f.Name)
	} else if err != nil {
		return fmt.Errorf("add %s: %w", f.Name, err)
	}
	w.sums.WriteString(sum(hash.Sum(nil), f.Name))
	w.Files++
	w.Bytes += f.Size
	return nil
}

// AddBytes adds a file that only its owner can read.
func (w *Writer) AddBytes(name string, modified time.Time, content []byte) error {
	return w.Add(File{Name: name, Size: int64(len(content)), Mode: 0o600, Modified: modified}, bytes.NewReader(content))
}

// Close adds the checksums and ends the archive. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.AddBytes(sumsFile, time.Time{}, []byte(w.sums.String())); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), w.gz.Close())
}
