//go:build unix

package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
)

var limits = archive.Limits{Files: 1000, Bytes: 1 << 20}

// exported returns an archive of runs of a data folder.
func exported(t *testing.T, dir string, ids ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs.tar.gz")
	if _, err := Export(t.Context(), dir, file, ids, "test"); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestImport(t *testing.T) {
	runs := append([]*run.Run{newRun(1, bench.StateCompleted), newRun(2, bench.StateFailed)}, study(20, bench.StateCompleted, 2)...)
	from, dir := fill(t, runs...)
	file := exported(t, dir, id(20), id(1), id(20))
	if out, err := Verify(t.Context(), file); err != nil || out.Runs != 4 || out.Files != 4*6 {
		t.Errorf("verify = %+v, %v", out, err)
	}
	want := &Imported{Added: []string{id(1), id(20), id(21), id(22)}}

	// Into a folder that nobody uses.
	idle := filepath.Join(t.TempDir(), "idle")
	if got, err := Import(t.Context(), idle, file, limits); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("import = %+v, %v, want %+v", got, err, want)
	}
	s, err := store.Open(t.Context(), idle)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
	// And beside a process that has the folder open, and sees the runs at once.
	used, usedDir := fill(t, newRun(3, bench.StateRunning))
	if got, err := Import(t.Context(), usedDir, file, limits); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("import beside a daemon = %+v, %v, want %+v", got, err, want)
	}
	for _, to := range []*store.Store{s, used} {
		for _, id := range want.Added {
			if diff := cmp.Diff(get(t, from, id), get(t, to, id)); diff != "" {
				t.Errorf("run %s (-want +got):\n%s", id, diff)
			}
			if diff := cmp.Diff(tree(t, from.Dir(id)), tree(t, to.Dir(id))); diff != "" {
				t.Errorf("files of run %s (-want +got):\n%s", id, diff)
			}
		}
		page, err := to.List(t.Context(), run.Query{Parent: id(20), Labels: []run.LabelFilter{{Name: "gpu", Value: "a"}}})
		if err != nil || page.Total != 2 {
			t.Errorf("cells: %d, %v, want 2", page.Total, err)
		}
	}
	// Once more: nothing changes.
	again := &Imported{Unchanged: want.Added}
	if got, err := Import(t.Context(), usedDir, file, limits); err != nil || !cmp.Equal(got, again) {
		t.Errorf("second import = %+v, %v, want %+v", got, err, again)
	}
	if diff := cmp.Diff([]string{"aiperfd.db", "aiperfd.db-shm", "aiperfd.db-wal", "aiperfd.lock", "runs", "trash"}, names(t, usedDir)); diff != "" {
		t.Errorf("data folder (-want +got):\n%s", diff)
	}
}

func TestExportRefuses(t *testing.T) {
	_, dir := fill(t, append(study(20, bench.StateCompleted, 1), newRun(1, bench.StateRunning))...)
	file := filepath.Join(t.TempDir(), "x.tar.gz")
	_, err := Export(t.Context(), dir, file, []string{id(1), id(21), "../x"}, "test")
	want := id(1) + ": the run is running; only runs that have ended can be exported\n" +
		id(21) + ": the run belongs to the study " + id(20) + "; export the study\n../x: run not found"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
	if _, err := Export(t.Context(), t.TempDir(), file, []string{id(1)}, "test"); err == nil || !strings.Contains(err.Error(), "is not a data folder") {
		t.Errorf("export of another folder: %v", err)
	}
}

// A run that is there with other content is never replaced, and nothing else is added.
func TestImportOfAnotherRun(t *testing.T) {
	_, dir := fill(t, newRun(1, bench.StateCompleted), newRun(2, bench.StateCompleted))
	file := exported(t, dir, id(1), id(2))
	for name, change := range map[string]func(s *store.Store) error{
		"another name": func(s *store.Store) error {
			r := newRun(2, bench.StateCompleted)
			r.Name = "mine"
			return s.Put(context.Background(), r)
		},
		"another configuration": func(s *store.Store) error {
			r := newRun(2, bench.StateCompleted)
			r.Config = []byte(`{}`)
			return s.Put(context.Background(), r)
		},
		"another file": func(s *store.Store) error {
			return os.WriteFile(filepath.Join(s.Dir(id(2)), "profile_export.jsonl"), []byte("{\"a\":2}\n"), 0o600)
		},
		"a longer file": func(s *store.Store) error {
			return os.WriteFile(filepath.Join(s.Dir(id(2)), "profile_export.jsonl"), []byte("{\"a\":1}\n\n"), 0o600)
		},
		"one more file": func(s *store.Store) error {
			return os.WriteFile(filepath.Join(s.Dir(id(2)), "more"), nil, 0o600)
		},
	} {
		to, toDir := fill(t, newRun(2, bench.StateCompleted))
		if err := change(to); err != nil {
			t.Fatal(err)
		}
		want := tree(t, to.Dir(id(2)))
		_, err := Import(t.Context(), toDir, file, limits)
		if err == nil || !strings.Contains(err.Error(), "run "+id(2)+" is there already, and differs") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, tree(t, to.Dir(id(2)))); diff != "" {
			t.Errorf("%s: the run has changed (-want +got):\n%s", name, diff)
		}
		if got := names(t, filepath.Join(toDir, "runs")); len(got) != 1 {
			t.Errorf("%s: runs are %q", name, got)
		}
		if _, err := os.Stat(store.ImportDir(toDir)); err == nil {
			t.Errorf("%s: the folder of the import is left", name)
		}
	}
}

// What an archive says of its runs is not believed.
func TestImportHostile(t *testing.T) {
	good := func(n int) string { return document(newRun(n, bench.StateCompleted)) }
	running := document(newRun(1, bench.StateRunning))
	cell := document(study(20, bench.StateCompleted, 1)[1])
	path := func(n int, name string) string { return "runs/" + id(n) + "/" + name }
	for _, tt := range []struct {
		name   string
		kind   archive.Kind
		listed []string
		files  map[string]string
		want   string
	}{
		{"not ended", "", []string{id(1)}, map[string]string{path(1, ".run.json"): running}, `its state is "running"`},
		{"a run of another folder", "", []string{id(1)}, map[string]string{path(1, ".run.json"): good(2)}, "it is not the run of this folder"},
		{"no run", "", []string{id(1)}, map[string]string{path(1, "x"): ""}, "the archive lacks .run.json of run " + id(1)},
		{"not JSON", "", []string{id(1)}, map[string]string{path(1, ".run.json"): "{"}, "decode run"},
		{"not listed", "", []string{id(1)}, map[string]string{path(1, ".run.json"): good(1), path(2, ".run.json"): good(2)}, "does not have the runs that it lists"},
		{"listed only", "", []string{id(1), id(2)}, map[string]string{path(1, ".run.json"): good(1)}, "does not have the runs that it lists"},
		{"cell without its study", "", []string{id(21)}, map[string]string{path(21, ".run.json"): cell}, "belongs to the study " + id(20)},
		{"an index", "", nil, map[string]string{"aiperfd.db": ""}, "does not belong into an archive"},
		{"the lock", "", nil, map[string]string{"aiperfd.lock": ""}, "does not belong into an archive"},
		{"a folder that is no id", "", nil, map[string]string{"runs/x/.run.json": ""}, "does not belong into an archive"},
		{"a file in runs", "", nil, map[string]string{"runs/x": ""}, "does not belong into an archive"},
		{"a file as folder", "", []string{id(1)}, map[string]string{path(1, "a"): "", path(1, "a/b"): "", path(1, ".run.json"): good(1)}, "file exists"},
		{"a backup", archive.Backup, nil, map[string]string{"aiperfd.db": ""}, "is a backup of a whole data folder"},
	} {
		file := filepath.Join(t.TempDir(), "x.tar.gz")
		kind := tt.kind
		if kind == "" {
			kind = archive.Selected
		}
		_, err := write(t.Context(), file, archive.Header{Kind: kind, Created: start, Runs: tt.listed}, func(w *archive.Writer, _ *partial) (*Result, error) {
			for _, name := range slices.Sorted(maps.Keys(tt.files)) {
				if err := w.AddBytes(name, start, []byte(tt.files[name])); err != nil {
					return nil, err
				}
			}
			return new(Result), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := Import(t.Context(), dir, file, limits); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if got := names(t, filepath.Join(dir, "runs")); len(got) > 0 {
			t.Errorf("%s: runs are %q", tt.name, got)
		}
		if _, err := os.Stat(store.ImportDir(dir)); err == nil {
			t.Errorf("%s: the folder of the import is left", tt.name)
		}
	}
}

// document returns the description of a run in an archive.
func document(r *run.Run) string {
	data, err := json.Marshal(map[string]any{"schema": "aiperfd-run/1", "run": r, "config": r.Config})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A process that is killed between the renames and the end of the transaction leaves
// complete folders without rows. The next import, or the next start of a daemon, adds them.
func TestImportGoesOn(t *testing.T) {
	_, dir := fill(t, study(20, bench.StateCompleted, 1)...)
	file := exported(t, dir, id(20))
	for _, daemon := range []bool{false, true} {
		t.Run(fmt.Sprintf("daemon %v", daemon), func(t *testing.T) {
			s, to := fill(t)
			// As a kill leaves it: one folder moved, one prepared, no row.
			p, err := begin(store.ImportDir(to))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := unpack(t.Context(), file, p.dir, limits); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(p.file("runs"), id(21)), s.Dir(id(21))); err != nil {
				t.Fatal(err)
			}
			if err := p.lock.Close(); err != nil {
				t.Fatal(err)
			}
			if daemon {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = store.Open(t.Context(), to); err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if diff := cmp.Diff([]string{"run " + id(21) + " was added to the list of runs: its folder was there"}, s.Warnings()); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				if _, err := os.Stat(store.ImportDir(to)); err == nil {
					t.Error("the folder of the import is left")
				}
				get(t, s, id(21))
			}
			if _, err := Import(t.Context(), to, file, limits); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{id(20), id(21)} {
				get(t, s, id)
				if got := len(tree(t, s.Dir(id))); got != 6 {
					t.Errorf("run %s has %d files, want 6", id, got)
				}
			}
			if _, err := os.Stat(store.ImportDir(to)); err == nil {
				t.Error("the folder of the import is left")
			}
			if got := names(t, filepath.Join(to, "trash")); len(got) > 0 {
				t.Errorf("trash has %q", got)
			}
		})
	}
}
