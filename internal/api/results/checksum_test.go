package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/api/respond"
)

// A file is read once for its checksum, however many clients ask for it, also in the next
// process, and again after it has changed.
func TestChecksums(t *testing.T) {
	dir, epoch := t.TempDir(), time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	write := func(name, text string, modified time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, modified, modified),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a.json", "{}", epoch)
	write("b/c.csv", "x\n", epoch)
	reads := 0
	list := func() []string {
		h := NewFiles(new(respond.Responder), nil, func(string) (*os.Root, error) { return os.OpenRoot(dir) })
		var clients sync.WaitGroup
		for range 30 {
			clients.Go(func() {
				f, err := h.openFolder("r")
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
		defer func() { reads += h.sums.hashed }()
		f, err := h.openFolder("r")
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
		reads int // so far
		want  string
	}{
		{"first", func() {}, 2, "a.json 44136fa3,b/c.csv 73cb3858"},
		{"next process", func() {}, 2, "a.json 44136fa3,b/c.csv 73cb3858"},
		{"changed", func() {
			write("a.json", "[]", epoch.Add(time.Nanosecond))
		}, 3, "a.json 4f53cda1,b/c.csv 73cb3858"},
		{"damaged", func() { write(checksumFile, "{", epoch) }, 5, "a.json 4f53cda1,b/c.csv 73cb3858"},
	}
	for _, step := range steps {
		step.do()
		if got := strings.Join(list(), ","); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		if got := reads; got != step.reads {
			t.Errorf("%s: %d files were read, want %d", step.name, got, step.reads)
		}
	}
}
