package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/run"
)

// Runs of all kinds of folders are found, and the cells of a study are not among the roots.
func TestFolders(t *testing.T) {
	top := t.TempDir()
	put(t, NewSingle(filepath.Join(top, "single")), newRun(1))
	tree, err := OpenTree(filepath.Join(top, "study"))
	if err != nil {
		t.Fatal(err)
	}
	study, child := newRun(2), newRun(3)
	child.Cell = &run.Cell{ParentID: study.ID, Folder: "concurrency_4"}
	put(t, tree, study)
	put(t, tree, child)

	f, err := OpenFolders([]string{filepath.Join(top, "study"), filepath.Join(top, "single")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Roots(), []string{id(1), id(2)}; !slices.Equal(got, want) {
		t.Errorf("Roots = %v, want %v", got, want)
	}
	for id, want := range map[string]string{id(1): "single", id(2): "study", id(3): "study/concurrency_4"} {
		if got := f.Dir(id); got != filepath.Join(top, filepath.FromSlash(want)) {
			t.Errorf("Dir(%s) = %s, want %s", id, got, want)
		}
		if r, err := f.Get(t.Context(), id); err != nil || r.ID != id || len(r.Config) == 0 {
			t.Errorf("Get(%s) = %v, %v; want it with its configuration", id, r, err)
		}
	}
	page, err := f.List(t.Context(), run.Query{Parent: id(2)})
	if err != nil || len(page.Runs) != 1 || page.Runs[0].ID != id(3) {
		t.Errorf("List of the cells = %v, %v", page.Runs, err)
	}
	if f.Put(t.Context(), newRun(4)) == nil || f.Delete(t.Context(), id(1)) == nil {
		t.Error("a change was accepted")
	}
	only, err := OpenFolders([]string{filepath.Join(top, "study", "concurrency_4")})
	if err != nil || !slices.Equal(only.Roots(), []string{id(3)}) {
		t.Errorf("the folder of one cell: %v", err)
	}
}

// All folders without a run are named at once.
func TestFoldersWithout(t *testing.T) {
	top := t.TempDir()
	torn := filepath.Join(top, "torn")
	if err := os.MkdirAll(torn, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, CopyFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	_, err := OpenFolders([]string{empty, filepath.Join(top, "missing"), torn})
	for _, want := range []string{empty + " contains no run", "missing: there is no such folder", "torn/.run.json: decode run"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want it to contain %q", err, want)
		}
	}
}

func TestFolderIn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, newRun(1))
	if got, err := FolderIn(dir, id(1)); err != nil || got != s.Dir(id(1)) {
		t.Errorf("FolderIn = %s, %v; want %s", got, err, s.Dir(id(1)))
	}
	for _, name := range []string{id(2), "../runs/" + id(1), ""} {
		if _, err := FolderIn(dir, name); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("FolderIn of %q = %v, want %v", name, err, run.ErrNotFound)
		}
	}
}
