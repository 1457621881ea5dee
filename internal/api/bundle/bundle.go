// Package bundle sends the files of a run as one archive, without a temporary file and in
// little memory. The same files give the same bytes.
package bundle

import (
	"archive/tar"
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"aiperfd/internal/engine/regular"
)

// Kind is a kind of archive, by the extension of its name.
type Kind string

// The kinds.
const (
	Zip   Kind = "zip"
	TarGz Kind = "tar.gz"
)

// level is fast: archives are made while other runs may be measured.
const level = flate.BestSpeed

// File is a file of an archive.
type File struct {
	Name     string // with slashes
	Size     int64  // what is appended later is not sent
	Modified time.Time
}

// Stat describes regular files below a root, in the order of the names.
func Stat(root *os.Root, names []string) ([]File, error) {
	files := make([]File, 0, len(names))
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, info.Size(), info.ModTime().UTC().Truncate(time.Second)})
	}
	return files, nil
}

// Archive is the files of one run as they are sent.
type Archive struct {
	Kind  Kind
	Run   string // id
	Root  *os.Root
	Files []File // from [Stat]
}

// Tag is the entity tag: it is weak, because it does not depend on the content of files.
func (a *Archive) Tag() string {
	sum := sha256.New()
	for _, f := range a.Files {
		fmt.Fprintf(sum, "%q %d %d\n", f.Name, f.Size, f.Modified.Unix())
	}
	return fmt.Sprintf(`W/"%s-%s"`, hex.EncodeToString(sum.Sum(nil)[:16]), a.Kind)
}

// Serve sends the archive. After an error the response is incomplete, and the connection
// must be closed so that the client notices.
//
//	@Summary		Get all files of a run as one archive
//	@Description	The files that results/list names, with the same names and contents. At most four archives are sent at a time.
//	@Tags			runs
//	@Param			id	path	string	true	"Run id, current or latest"
//	@Success		200	{file}	binary
//	@Header			200	{string}	ETag	"Changes with the files"
//	@Success		304
//	@Failure		400	{object}	wire.Problem
//	@Failure		404	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		application/zip,application/gzip
//	@Router			/api/runs/{id}/artifacts.zip [get]
//	@Router			/api/runs/{id}/artifacts.tar.gz [get]
func (a *Archive) Serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", map[Kind]string{Zip: "application/zip", TarGz: "application/gzip"}[a.Kind])
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, a.Run, a.Kind))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return a.write(r.Context(), w)
}

// write writes the archive until it is complete or the context ends.
func (a *Archive) write(ctx context.Context, w io.Writer) error {
	var out writer
	switch a.Kind {
	case Zip:
		out = newZip(w)
	case TarGz:
		var err error
		if out, err = newTar(w); err != nil {
			return err
		}
	}
	for _, f := range a.Files {
		if err := a.add(ctx, out, f); err != nil {
			return fmt.Errorf("add %s to archive: %w", f.Name, err)
		}
	}
	return out.Close()
}

// add adds a file to an archive.
func (a *Archive) add(ctx context.Context, out writer, f File) error {
	file, err := regular.OpenIn(a.Root, f.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	to, err := out.begin(f)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(reader{ctx, file}, f.Size))
	if err == nil && n < f.Size {
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
	begin(f File) (io.Writer, error)
	io.Closer
}

// zipWriter writes a zip archive.
type zipWriter struct{ *zip.Writer }

func newZip(w io.Writer) writer {
	out := zip.NewWriter(w)
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
	return zipWriter{out}
}

func (z zipWriter) begin(f File) (io.Writer, error) {
	header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: f.Modified}
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

func (t tarWriter) begin(f File) (io.Writer, error) {
	return t.Writer, t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: 0o644, ModTime: f.Modified})
}

// Close implements io.Closer.
func (t tarWriter) Close() error {
	if err := t.Writer.Close(); err != nil {
		return err
	}
	return t.compressed.Close()
}
