package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/run"
)

// sameRuns checks that a store holds the runs 1 to n.
func sameRuns(t *testing.T, s *Store, n int) {
	t.Helper()
	page, err := s.List(t.Context(), run.Query{Sort: run.SortCreated})
	if err != nil || page.Total != n {
		t.Fatalf("%d runs, %v; want %d", page.Total, err, n)
	}
	for i := range n {
		want, got := newRun(i+1), get(t, s, id(i+1))
		want.Config, got.Config = compact(t, want.Config), compact(t, got.Config)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i+1, diff)
		}
	}
	page, err = s.List(t.Context(), run.Query{Labels: []run.LabelFilter{{Name: "n", Value: "2"}}, Model: "m2"})
	if err != nil || page.Total != 1 {
		t.Errorf("%d runs by label and model, %v; want 1", page.Total, err)
	}
}

// compact removes white space, which the copy in the folder does not keep.
func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRebuild(t *testing.T) {
	for name, harm := range map[string]struct {
		do    func(t *testing.T, db string)
		warns []string
	}{
		"lost": {func(t *testing.T, db string) { remove(t, db, "", "-wal", "-shm") }, []string{"rebuilt from the folders of 3 runs"}},
		"log without database": {func(t *testing.T, db string) {
			remove(t, db, "")
			if err := os.WriteFile(db+"-wal", []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"rebuilt from the folders of 3 runs"}},
		"empty": {func(t *testing.T, db string) {
			if err := os.Truncate(db, 0); err != nil {
				t.Fatal(err)
			}
		}, []string{"rebuilt from the folders of 3 runs"}},
		"no database": {func(t *testing.T, db string) {
			if err := os.WriteFile(db, bytes.Repeat([]byte("garbage "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"was damaged", "rebuilt from the folders of 3 runs"}},
		"bad pages": {func(t *testing.T, db string) {
			data, err := os.ReadFile(db)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(data); i++ {
				data[i] ^= 0x55
			}
			if err := os.WriteFile(db, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"was damaged", "rebuilt from the folders of 3 runs"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, newRun(1), newRun(2), newRun(3))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			harm.do(t, filepath.Join(dir, databaseFile))
			s = open(t, dir)
			sameRuns(t, s, 3)
			if len(s.Warnings()) != len(harm.warns) {
				t.Fatalf("warnings = %q, want %d", s.Warnings(), len(harm.warns))
			}
			for i, want := range harm.warns {
				if !strings.Contains(s.Warnings()[i], want) {
					t.Errorf("warning %q does not hold %q", s.Warnings()[i], want)
				}
			}
			aside, err := filepath.Glob(filepath.Join(dir, databaseFile+".corrupt-*"))
			if err != nil || (len(aside) > 0) != (len(harm.warns) == 2) {
				t.Errorf("kept aside: %v, %v", aside, err)
			}
			put(t, s, newRun(4))
		})
	}
}

func remove(t *testing.T, db string, suffixes ...string) {
	t.Helper()
	for _, suffix := range suffixes {
		if err := os.Remove(db + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Folders that hold no usable copy of a run are reported and left alone.
func TestRebuildBadFolders(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(1), newRun(2))
	for name, text := range map[string]string{id(7): "", id(8): "{", id(9): `{"schema":"aiperfd-run/2"}`} {
		if err := os.Mkdir(s.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir(name), CopyFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, runsFolder, "notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(filepath.Join(s.Dir(id(1)), CopyFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(id(7)), CopyFile), copied, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, databaseFile), "", "-wal", "-shm")
	s = open(t, dir)
	sameRuns(t, s, 2)
	warnings := strings.Join(s.Warnings(), "\n")
	for _, want := range []string{id(7) + " was not added to the list of runs: decode run: it is not the run of this folder", id(8), id(9), "2 runs"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings do not hold %q:\n%s", want, warnings)
		}
	}
}
