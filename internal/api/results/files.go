package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/run"
)

// Files handles the routes of artifacts and records. Make one with [NewFiles].
type Files struct {
	out  *respond.Responder
	find *respond.Finder
	open func(id string) (*os.Root, error) // opens the folder of a run; the caller closes it

	sums     checksums
	archives *semaphore.Weighted // that are being sent
}

// NewFiles returns a handler. open opens the folder of a run, which the handler closes.
func NewFiles(
	out *respond.Responder, find *respond.Finder, open func(id string) (*os.Root, error),
) *Files {
	return &Files{out: out, find: find, open: open, archives: semaphore.NewWeighted(maxArchives)}
}

// The files that mark the state of the others. They are never served.
const (
	MarkerReady      = ".aiperf_results_ready.json"
	MarkerProcessing = ".aiperf_results_processing.json"
)

// readyMarker is the content of the ready marker.
type readyMarker struct {
	Ready           bool     `json:"ready"`
	Partial         bool     `json:"partial"`
	FailedExporters []string `json:"failed_exporters"`
}

// folder is the open artifact folder of one run.
type folder struct {
	*os.Root
	run        string // id
	marker     readyMarker
	processing bool
}

// openFolder opens the artifacts of a run; the caller closes it. A folder that
// does not exist is reported by an error that is fs.ErrNotExist.
func (h *Files) openFolder(id string) (*folder, error) {
	root, err := h.open(id)
	if err != nil {
		return nil, err
	}
	f := &folder{Root: root, run: id}
	if data, err := regular.ReadIn(root, MarkerReady); err == nil {
		// A marker that cannot be decoded counts as missing.
		_ = json.Unmarshal(data, &f.marker)
	}
	_, err = root.Lstat(MarkerProcessing)
	f.processing = err == nil
	return f, nil
}

// files returns the regular files that may be served, ordered by name.
func (f *folder) files() ([]string, error) {
	var names []string
	err := fs.WalkDir(f.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), ".") || !d.Type().IsRegular():
			return nil
		}
		names = append(names, name)
		return nil
	})
	slices.Sort(names)
	return names, err
}

// Artifacts returns the number and size of the files of a run, the zero value if
// they are not ready or cannot be read.
func (h *Files) Artifacts(id string) wire.Artifacts {
	f, err := h.openFolder(id)
	if err != nil {
		return wire.Artifacts{}
	}
	defer f.Close()
	names, err := f.files()
	if err != nil || !f.marker.Ready {
		return wire.Artifacts{}
	}
	out := wire.Artifacts{Ready: true, Count: len(names)}
	for _, name := range names {
		if info, err := f.Lstat(name); err == nil {
			out.Bytes += info.Size()
		}
	}
	return out
}

// List lists the artifacts of a run.
//
//	@Summary		List the files of a run
//	@Description	Empty until every file is complete. Names contain slashes for files in folders.
//	@Tags			aiperf
//	@Success		200	{object}	wire.ResultFiles
//	@Router			/api/results/list [get]
//	@Router			/api/runs/{id}/results/list [get]
//	@Router			/api/runs/{id}/artifacts [get]
func (h *Files) List(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil {
		return respond.ErrNoRun
	}
	out := wire.ResultFiles{Files: []wire.ResultFile{}, FailedExporters: []string{}}
	f, err := h.openFolder(found.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h.out.WriteJSON(w, http.StatusOK, out)
	case err != nil:
		return fmt.Errorf("open artifacts of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	defer f.Close()
	out.Ready, out.Processing, out.Partial = f.marker.Ready, f.processing, f.marker.Partial
	out.FailedExporters = append(out.FailedExporters, f.marker.FailedExporters...)
	if out.Ready {
		if out.Files, err = h.describe(f); err != nil {
			return fmt.Errorf("list artifacts of run %s: %w: %w", found.ID, run.ErrStore, err)
		}
	}
	return h.out.WriteJSON(w, http.StatusOK, out)
}

func (h *Files) describe(f *folder) ([]wire.ResultFile, error) {
	names, err := f.files()
	if err != nil {
		return nil, err
	}
	out := make([]wire.ResultFile, 0, len(names))
	fresh := false
	for _, name := range names {
		file, err := regular.OpenIn(f.Root, name)
		if err != nil {
			return nil, err
		}
		info, sum, computed, err := h.sums.of(f, name, file)
		file.Close()
		if err != nil {
			return nil, err
		}
		fresh = fresh || computed
		out = append(out, wire.ResultFile{
			Name: name, Size: info.Size(), SHA256: sum, ModifiedAt: info.ModTime().UTC(), ContentType: contentType(name),
			Href: "/api/runs/" + f.run + "/results/files/" + escapePath(name),
		})
	}
	if fresh {
		h.saveSums(f)
	}
	return out, nil
}

// saveSums keeps the checksums of a folder. Without that, they are computed again by the
// next process.
func (h *Files) saveSums(f *folder) {
	if err := h.sums.save(f); err != nil {
		h.out.Log.Debug().Err(err).Str("run", f.run).Msg("keep checksums")
	}
}

// Get serves one artifact.
//
//	@Summary		Get a file of a run
//	@Description	Supports Range, If-Range and If-None-Match. The ETag is the SHA-256 of the file.
//	@Tags			aiperf
//	@Param			path	path	string	true	"Name of the file, with slashes for folders"
//	@Success		200		{file}	binary
//	@Success		206		{file}	binary
//	@Failure		400,416		{object}	wire.Problem
//	@Produce		application/octet-stream,json,application/x-ndjson,text/csv,plain,html
//	@Router			/api/results/files/{path} [get]
//	@Router			/api/runs/{id}/results/files/{path} [get]
//	@Router			/api/runs/{id}/artifacts/{path} [get]
func (h *Files) Get(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "*")
	if r.URL.RawPath != "" { // chi routed by the raw path
		var err error
		if name, err = url.PathUnescape(name); err != nil {
			return respond.ErrNotFound
		}
	}
	if !goodName(name) {
		return respond.Fail(respond.ErrFilename, "Invalid filename '%s': path traversal or reserved marker name", name)
	}
	f, err := h.ready(w, r)
	if err != nil {
		return err
	}
	defer f.Close()
	return h.sendFile(w, r, f, name)
}

// ready opens the folder of the run of a request; the caller closes it. The error says
// that the results are not ready, if they are not.
func (h *Files) ready(w http.ResponseWriter, r *http.Request) (*folder, error) {
	found, err := h.find.Run(w, r)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, respond.ErrNoRun
	}
	f, err := h.openFolder(found.ID)
	switch {
	case err == nil && f.marker.Ready:
		return f, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open artifacts of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	processing := ""
	if err == nil {
		if f.processing {
			processing = "export still processing; "
		}
		f.Close()
	}
	return nil, respond.Fail(respond.ErrNotReady, "Results not ready for %s; %smarker file %s not present — retry after completion",
		found.ID, processing, MarkerReady)
}

// maxArchives is the number of archives that are sent at the same time.
const maxArchives = 4

// Archive sends all files of a run as one archive.
//
//	@Summary		Get all files of a run as one archive
//	@Description	The files that results/list names, with the same names and contents. At most four archives are sent at a time.
//	@Tags			runs
//	@Success		200	{file}	binary
//	@Header			200	{string}	ETag	"Changes with the files"
//	@Success		304
//	@Failure		400,503	{object}	wire.Problem
//	@Produce		application/zip,application/gzip
//	@Router			/api/runs/{id}/artifacts.zip [get]
//	@Router			/api/runs/{id}/artifacts.tar.gz [get]
func (h *Files) Archive(kind ArchiveKind) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		f, err := h.ready(w, r)
		if err != nil {
			return err
		}
		defer f.Close()
		out := archive{kind: kind, folder: f}
		names, err := f.files()
		if err == nil {
			out.files, err = f.stat(names)
		}
		if err != nil {
			return fmt.Errorf("list artifacts of run %s: %w: %w", f.run, run.ErrStore, err)
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Etag", out.tag())
		if respond.Tagged(r.Header.Values("If-None-Match"), out.tag()) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if !h.archives.TryAcquire(1) {
			return respond.Fail(respond.ErrTooManyStreams, "%d archives are being sent", maxArchives)
		}
		defer h.archives.Release(1)
		return h.end(out.serve(newFileWriter(w), r), f.run, "send archive")
	}
}

// end ends a response that was sent in pieces. After an error it is too late to respond: the
// connection is closed, so that the client notices.
func (h *Files) end(err error, id, what string) error {
	if err != nil {
		h.out.Log.Debug().Err(err).Str("run", id).Msg(what)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (h *Files) sendFile(w http.ResponseWriter, r *http.Request, f *folder, name string) error {
	missing := respond.Fail(respond.ErrNotFound, "Result file not found: %s", name)
	if name == "" || hidden(name) {
		return missing
	}
	file, err := regular.OpenIn(f.Root, name)
	if err != nil {
		return missing // including links, FIFOs and devices
	}
	defer file.Close()
	info, sum, computed, err := h.sums.of(f, name, file)
	if err != nil {
		return fmt.Errorf("read artifact %s of run %s: %w: %w", name, f.run, run.ErrStore, err)
	}
	if computed {
		h.saveSums(f)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read artifact %s of run %s: %w: %w", name, f.run, run.ErrStore, err)
	}
	base := path.Base(name)
	header := w.Header()
	header.Set("Content-Type", contentType(name))
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": base}))
	if ascii(base) {
		header.Set("Content-Disposition", `attachment; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(base)+`"`)
		header.Set("X-Filename", base)
	}
	header.Set("Etag", `"`+sum+`"`)
	header.Set("Cache-Control", respond.NoStore)
	if chi.URLParam(r, "id") == f.run {
		header.Set("Cache-Control", respond.Immutable)
	}
	// A file that grows is served up to its size when it was opened.
	content := io.NewSectionReader(file, 0, info.Size())
	sender := newFileWriter(w)
	http.ServeContent(sender, r, "", info.ModTime(), content)
	return sender.refused
}

// writeLimit is the time of one write to a client.
const writeLimit = 30 * time.Second

// fileWriter extends the write deadline with every write, so that a slow client
// has time as long as it makes progress. It suppresses the error responses
// of http.ServeContent, so that a problem can be sent instead.
type fileWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	refused error
}

func newFileWriter(w http.ResponseWriter) *fileWriter {
	return &fileWriter{ResponseWriter: w, control: http.NewResponseController(w)}
}

// WriteHeader implements http.ResponseWriter.
func (p *fileWriter) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		p.refused = respond.ErrRange
	case http.StatusPreconditionFailed:
		p.refused = respond.Fail(respond.ErrPrecondition, "The file has changed since the ETag of the request")
	default:
		p.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (p *fileWriter) Write(b []byte) (int, error) {
	if p.refused != nil {
		return len(b), nil
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(writeLimit)) // unsupported by the ResponseWriter of tests
	return p.ResponseWriter.Write(b)
}

// goodName reports whether a name stays inside the folder and is no marker.
func goodName(name string) bool {
	if strings.ContainsAny(name, "\x00\\") || strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':' {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || part == MarkerReady || part == MarkerProcessing {
			return false
		}
	}
	return true
}

// hidden reports whether a name or one of its folders begins with a dot.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// ascii reports whether a text has printable ASCII characters only.
func ascii(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func escapePath(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// contentType is the media type of an artifact by its extension.
func contentType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return "application/json"
	case ".jsonl":
		return "application/x-ndjson"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".txt", ".log":
		return "text/plain; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	}
	return "application/octet-stream"
}
