package archive

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Limits bound what an archive may hold, so that a small file does not fill the disk.
type Limits struct {
	Files int   // number of files, > 0
	Bytes int64 // size of all files together, > 0
}

// LimitError reports an archive that exceeds a limit.
type LimitError struct{ What string }

// Error implements error.
func (e *LimitError) Error() string { return "archive has more than " + e.What }

// maxHeader bounds the header in bytes: it has an id per run.
const maxHeader = 16 << 20

// maxSums bounds the list of checksums in bytes, and by that the memory for the names.
const maxSums = 192 << 20

// Read reads an archive and calls visit for each of its files but the header and the
// checksums, in their order. visit gets the header every time, and need not read the
// content. What visit was given is known to be complete and unchanged only when Read has
// returned without an error.
func Read(ctx context.Context, in io.Reader, limits Limits, visit func(*Header, File, io.Reader) error) (*Header, error) {
	input := bufio.NewReaderSize(in, 1<<20)
	gz, err := gzip.NewReader(input)
	if err != nil {
		return nil, fmt.Errorf("read archive: it is not compressed with gzip: %w", complete(err))
	}
	gz.Multistream(false)
	r := &reader{ctx: ctx, tar: tar.NewReader(gz), limits: limits, visit: visit, names: map[string]bool{}}
	if err := r.all(); err != nil {
		return nil, fmt.Errorf("read archive: %w", complete(err))
	}
	// The end of the tar file, and the checksum of gzip, come after the last file.
	if n, err := io.Copy(io.Discard, io.LimitReader(gz, 1<<20)); err != nil || n == 1<<20 {
		return nil, fmt.Errorf("read archive: %w", complete(errors.Join(err, trailing(n == 1<<20))))
	}
	if _, err := input.Peek(1); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read archive: %w", errors.Join(trailing(err == nil), err))
	}
	return r.header, nil
}

func trailing(there bool) error {
	if there {
		return errors.New("data follows its end")
	}
	return nil
}

// complete names the usual cause of an unexpected end.
func complete(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("it is truncated: %w", err)
	}
	return err
}

// reader reads one archive.
type reader struct {
	ctx    context.Context //nolint:containedctx // lives as long as one call
	tar    *tar.Reader
	limits Limits
	visit  func(*Header, File, io.Reader) error
	header *Header
	names  map[string]bool
	sums   strings.Builder
	listed int // size of sums with the current file
	bytes  int64
}

// all reads the files of the archive. It returns nil after the last entry only if that
// is the list of checksums and agrees.
func (r *reader) all() error {
	for {
		entry, err := r.tar.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it does not end with %s: %w", sumsFile, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		if entry.Name == sumsFile && r.header != nil {
			return r.end(entry)
		}
		if err := r.file(entry); err != nil {
			return err
		}
	}
}

// file checks one file and passes it on.
func (r *reader) file(entry *tar.Header) error {
	if err := r.check(entry); err != nil {
		return err
	}
	hash := sha256.New()
	content := io.TeeReader(&interruptible{r.ctx, r.tar}, hash)
	var err error
	if r.header == nil {
		err = r.readHeader(entry, content)
	} else {
		f := File{Name: entry.Name, Size: entry.Size, Mode: entry.FileInfo().Mode().Perm(), Modified: entry.ModTime}
		err = r.visit(r.header, f, content)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	r.sums.WriteString(sum(hash.Sum(nil), entry.Name))
	return nil
}

// check refuses everything but a new regular file within the limits.
func (r *reader) check(entry *tar.Header) error {
	if entry.Typeflag != tar.TypeReg {
		return fmt.Errorf("%q is not a regular file (tar type %q)", entry.Name, entry.Typeflag)
	}
	if err := checkName(entry.Name); err != nil {
		return err
	}
	if r.names[entry.Name] {
		return fmt.Errorf("file %q is there twice", entry.Name)
	}
	if r.listed += len(sum(make([]byte, sha256.Size), entry.Name)); r.listed > maxSums {
		return &LimitError{fmt.Sprintf("%d bytes in %s", maxSums, sumsFile)}
	}
	r.names[entry.Name] = true
	if len(r.names) > r.limits.Files {
		return &LimitError{fmt.Sprintf("%d files", r.limits.Files)}
	}
	if r.bytes += entry.Size; r.bytes > r.limits.Bytes || r.bytes < 0 {
		return &LimitError{fmt.Sprintf("%d bytes", r.limits.Bytes)}
	}
	return nil
}

func (r *reader) readHeader(entry *tar.Header, content io.Reader) error {
	if entry.Name != headerFile {
		return fmt.Errorf("it is not an archive of aiperfd: its first file is %q, not %q", entry.Name, headerFile)
	}
	if entry.Size > maxHeader {
		return &LimitError{fmt.Sprintf("%d bytes in %s", maxHeader, headerFile)}
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	h := new(Header)
	if err := json.Unmarshal(text, h); err != nil {
		return fmt.Errorf("%s: %w", headerFile, err)
	}
	if err := h.check(); err != nil {
		return err
	}
	r.header = h
	return nil
}

// end compares the checksums and makes sure that nothing follows them.
func (r *reader) end(entry *tar.Header) error {
	if entry.Typeflag != tar.TypeReg || entry.Size != int64(r.sums.Len()) {
		return fmt.Errorf("%s does not list the files of the archive", sumsFile)
	}
	text, err := io.ReadAll(&interruptible{r.ctx, r.tar})
	if err != nil {
		return err
	}
	want, got := strings.Split(string(text), "\n"), strings.Split(r.sums.String(), "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Errorf("checksum differs: %s has %q, the archive %q", sumsFile, want[i], got[i])
		}
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("files follow %s", sumsFile), err)
	}
	return nil
}

// interruptible is a reader that fails when its context ends.
type interruptible struct {
	ctx context.Context //nolint:containedctx // lives as long as one call
	in  io.Reader
}

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.in.Read(p)
}
