package results

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var modified = time.Date(2026, 5, 4, 10, 0, 1, 500, time.UTC)

// contents are files whose names and sizes differ in kind.
func contents() map[string]string {
	return map[string]string{
		"a.json": "{}", "empty.csv": "", "logs/aiperf.log": strings.Repeat("line of a log\n", 100_000),
		"phases/ü b/" + strings.Repeat("long", 40) + ".json": "x",
	}
}

// archiveOf is an archive of the files, in the order of names.
func archiveOf(t *testing.T, kind ArchiveKind) *archive {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents() {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, modified, modified)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	files, err := (&folder{Root: root}).stat([]string{"a.json", "empty.csv", "logs/aiperf.log", "phases/ü b/" + strings.Repeat("long", 40) + ".json"})
	if err != nil {
		t.Fatal(err)
	}
	return &archive{kind: kind, folder: &folder{Root: root, run: "r1"}, files: files}
}

// unpack returns the names in order, the contents and the times of an archive.
func unpack(t *testing.T, kind ArchiveKind, data []byte) (names []string, texts map[string]string, times []time.Time) {
	t.Helper()
	texts = map[string]string{}
	add := func(name string, at time.Time, r io.Reader, err error) {
		t.Helper()
		text, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		names, texts[name], times = append(names, name), string(text), append(times, at.UTC())
	}
	if kind == Zip {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			add(f.Name, f.Modified, r, err)
		}
		return names, texts, times
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(compressed)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return names, texts, times
		}
		if err != nil {
			t.Fatal(err)
		}
		add(h.Name, h.ModTime, archive, nil)
	}
}

func serve(a *archive, method string) (*httptest.ResponseRecorder, error) {
	w := httptest.NewRecorder()
	return w, a.serve(w, httptest.NewRequest(method, "/", nil))
}

// An archive has the files with their names, times and contents, and the same files give
// the same bytes.
func TestServe(t *testing.T) {
	for kind, media := range map[ArchiveKind]string{Zip: "application/zip", TarGz: "application/gzip"} {
		t.Run(string(kind), func(t *testing.T) {
			a := archiveOf(t, kind)
			w, err := serve(a, "GET")
			if err != nil || w.Code != 200 {
				t.Fatalf("Serve = %d, %v", w.Code, err)
			}
			names, texts, times := unpack(t, kind, w.Body.Bytes())
			for i, f := range a.files {
				if names[i] != f.name || !times[i].Equal(modified.Truncate(time.Second)) {
					t.Errorf("file %d = %s of %v, want %s of %v", i, names[i], times[i], f.name, modified)
				}
			}
			if diff := cmp.Diff(contents(), texts); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
			if w.Body.Len() > 20_000 {
				t.Errorf("the archive has %d bytes: it is not compressed", w.Body.Len())
			}
			again, err := serve(archiveOf(t, kind), "GET")
			if err != nil || !bytes.Equal(w.Body.Bytes(), again.Body.Bytes()) {
				t.Errorf("the archive of equal files differs (%v)", err)
			}
			h := w.Header()
			if got := h.Get("Content-Type"); got != media {
				t.Errorf("Content-Type = %q, want %q", got, media)
			}
			if got, want := h.Get("Content-Disposition"), `attachment; filename="r1.`+string(kind)+`"`; got != want {
				t.Errorf("Content-Disposition = %q, want %q", got, want)
			}
			if w, err := serve(a, "HEAD"); err != nil || w.Code != 200 || w.Body.Len() != 0 {
				t.Errorf("HEAD = %d with %d bytes, %v", w.Code, w.Body.Len(), err)
			}
			before := a.tag()
			a.files[0].size++
			if after := a.tag(); after == before || !strings.HasPrefix(after, `W/"`) {
				t.Errorf("tags of different files = %s and %s", before, after)
			}
		})
	}
}

// A file that changes while it is sent does not make an archive that looks complete.
func TestServeChangedFile(t *testing.T) {
	for _, kind := range []ArchiveKind{Zip, TarGz} {
		grown := archiveOf(t, kind)
		grown.files[0].size = 1
		w, err := serve(grown, "GET")
		if err != nil {
			t.Fatalf("%s of a file that has grown: %v", kind, err)
		}
		if _, texts, _ := unpack(t, kind, w.Body.Bytes()); texts["a.json"] != "{" {
			t.Errorf("%s: %q was sent, want the size of before", kind, texts["a.json"])
		}
		shrunk := archiveOf(t, kind)
		shrunk.files[0].size = 10
		if _, err := serve(shrunk, "GET"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s of a file that has shrunk: %v", kind, err)
		}
		removed := archiveOf(t, kind)
		removed.files[0].name = "gone.json"
		if _, err := serve(removed, "GET"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of a file that is gone: %v", kind, err)
		}
	}
}

// broken is a connection that is lost after some bytes.
type broken struct {
	*httptest.ResponseRecorder
	left int
}

var errLost = errors.New("lost")

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errLost
	}
	return len(p), nil
}

func TestServeStops(t *testing.T) {
	for _, kind := range []ArchiveKind{Zip, TarGz} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if err := archiveOf(t, kind).serve(&broken{httptest.NewRecorder(), 50}, r); !errors.Is(err, errLost) {
			t.Errorf("%s over a lost connection: %v", kind, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := archiveOf(t, kind).serve(httptest.NewRecorder(), r.WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s for a client that has left: %v", kind, err)
		}
	}
}
