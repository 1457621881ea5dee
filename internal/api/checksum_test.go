package api

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperfd/internal/api/checksum"
)

// A file is read once for its checksum, however many clients ask for it, also in the next
// process, and again after it has changed.
func TestChecksums(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{markerReady: `{"ready":true}`, "a.json": "{}", "b/c.csv": "x\n"})
	var reads atomic.Int64
	list := func() []string {
		h := &fileHandler{base: ts.base}
		h.sums.Hash = func(r io.Reader) (string, error) {
			reads.Add(1)
			return checksum.SHA256(r)
		}
		var clients sync.WaitGroup
		for range 30 {
			clients.Go(func() {
				f, err := h.openFolder(idDone)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				files, err := h.describe(f)
				if err != nil || len(files) != 2 {
					t.Errorf("describe = %v, %v", files, err)
				}
			})
		}
		clients.Wait()
		f, err := h.openFolder(idDone)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files, err := h.describe(f)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, file := range files {
			out = append(out, file.Name+" "+file.SHA256[:8])
		}
		return out
	}
	steps := []struct {
		name  string
		do    func()
		reads int64 // so far
		want  string
	}{
		{"first", func() {}, 2, "a.json 44136fa3,b/c.csv 73cb3858"},
		{"next process", func() {}, 2, "a.json 44136fa3,b/c.csv 73cb3858"},
		{"changed", func() {
			path := filepath.Join(ts.fake.dir, idDone, "a.json")
			if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, epoch, epoch.Add(time.Nanosecond)); err != nil {
				t.Fatal(err)
			}
		}, 3, "a.json 4f53cda1,b/c.csv 73cb3858"},
		{"damaged", func() { ts.fake.writeArtifacts(t, idDone, map[string]string{checksum.File: "{"}) }, 5, "a.json 4f53cda1,b/c.csv 73cb3858"},
	}
	for _, step := range steps {
		step.do()
		if got := strings.Join(list(), ","); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		if got := reads.Load(); got != step.reads {
			t.Errorf("%s: %d files were read, want %d", step.name, got, step.reads)
		}
	}
}
