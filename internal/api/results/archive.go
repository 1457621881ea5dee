package results

import (
	"archive/tar"
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"aiperfd/internal/engine/regular"
)

// ArchiveKind is a kind of archive, by the extension of its name.
type ArchiveKind string

// The kinds.
const (
	Zip   ArchiveKind = "zip"
	TarGz ArchiveKind = "tar.gz"
)

// level is fast: archives are made while other runs may be measured.
const level = flate.BestSpeed

// archived is a file of an archive.
type archived struct {
	name     string // with slashes
	size     int64  // what is appended later is not sent
	modified time.Time
}

// stat describes files of a folder, in the order of the names.
func (f *folder) stat(names []string) ([]archived, error) {
	files := make([]archived, 0, len(names))
	for _, name := range names {
		info, err := f.Lstat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, archived{name, info.Size(), info.ModTime().UTC().Truncate(time.Second)})
	}
	return files, nil
}

// archive is the files of one run as they are sent, without a temporary file and in little
// memory. The same files give the same bytes.
type archive struct {
	kind   ArchiveKind
	folder *folder
	files  []archived
}

// tag is the entity tag: it is weak, because it does not depend on the content of files.
func (a *archive) tag() string {
	sum := sha256.New()
	for _, f := range a.files {
		fmt.Fprintf(sum, "%q %d %d\n", f.name, f.size, f.modified.Unix())
	}
	return fmt.Sprintf(`W/"%s-%s"`, hex.EncodeToString(sum.Sum(nil)[:16]), a.kind)
}

// serve sends the archive. After an error the response is incomplete, and the connection
// must be closed so that the client notices.
func (a *archive) serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", map[ArchiveKind]string{Zip: "application/zip", TarGz: "application/gzip"}[a.kind])
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, a.folder.run, a.kind))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return a.write(r.Context(), w)
}

// write writes the archive until it is complete or the context ends.
func (a *archive) write(ctx context.Context, w io.Writer) error {
	var out writer
	switch a.kind {
	case Zip:
		out = newZip(w)
	case TarGz:
		var err error
		if out, err = newTar(w); err != nil {
			return err
		}
	}
	for _, f := range a.files {
		if err := a.add(ctx, out, f); err != nil {
			return fmt.Errorf("add %s to archive: %w", f.name, err)
		}
	}
	return out.Close()
}

// add adds a file to an archive.
func (a *archive) add(ctx context.Context, out writer, f archived) error {
	file, err := regular.OpenIn(a.folder.Root, f.name)
	if err != nil {
		return err
	}
	defer file.Close()
	to, err := out.begin(f)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(reader{ctx, file}, f.size))
	if err == nil && n < f.size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it
	io.Reader
}

// Read implements io.Reader.
func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// writer writes an archive. Close completes it.
type writer interface {
	// begin adds a file and returns where its content goes, before the next call.
	begin(f archived) (io.Writer, error)
	io.Closer
}

// zipWriter writes a zip archive.
type zipWriter struct{ *zip.Writer }

func newZip(w io.Writer) writer {
	out := zip.NewWriter(w)
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
	return zipWriter{out}
}

func (z zipWriter) begin(f archived) (io.Writer, error) {
	header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: f.modified}
	header.SetMode(0o644)
	return z.CreateHeader(header)
}

// tarWriter writes a compressed tar archive.
type tarWriter struct {
	*tar.Writer
	compressed *gzip.Writer
}

func newTar(w io.Writer) (writer, error) {
	compressed, err := gzip.NewWriterLevel(w, level)
	if err != nil {
		return nil, err
	}
	return tarWriter{tar.NewWriter(compressed), compressed}, nil
}

func (t tarWriter) begin(f archived) (io.Writer, error) {
	return t.Writer, t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: f.size, Mode: 0o644, ModTime: f.modified})
}

// Close implements io.Closer.
func (t tarWriter) Close() error {
	if err := t.Writer.Close(); err != nil {
		return err
	}
	return t.compressed.Close()
}
