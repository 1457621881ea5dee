package store

import (
	"os"
	"path/filepath"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
)

// A kill leaves files under their temporary names, which the next Open removes; it touches
// no file of somebody else.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	active := newRun(2)
	active.State = bench.StateExporting
	put(t, s, newRun(1), active)
	ended, phase := s.Dir(id(1)), filepath.Join(s.Dir(id(2)), "phases", "profiling")
	if err := os.MkdirAll(phase, 0o700); err != nil {
		t.Fatal(err)
	}
	remain := []string{
		filepath.Join(ended, "a.json"), filepath.Join(ended, "a.3k9.tmp"), filepath.Join(ended, ".a.tmp"),
		filepath.Join(ended, ".a.json.3-9.tmp"), filepath.Join(ended, ".a.json.3k9.tmp.csv"),
	}
	vanish := []string{
		filepath.Join(ended, "..run.json.288sso3vxvg97.tmp"), filepath.Join(phase, ".profile_export.csv.1.tmp"),
		filepath.Join(s.Dir(id(2)), ".profile_export_aiperf.json.3w5e11264sgsf.tmp"),
	}
	for _, name := range append(remain, vanish...) {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	for _, name := range remain {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%v", err)
		}
	}
	for _, name := range vanish {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

// A kill in a Put leaves an empty folder without a row, which the next Open removes.
// Folders with files of somebody stay.
func TestEmptyFolders(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), newRun(1)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir(s.Dir(id(2)), 0o700), os.Mkdir(s.Dir(id(3)), 0o700),
		os.WriteFile(filepath.Join(s.Dir(id(3)), "notes.txt"), nil, 0o600),
		os.Mkdir(s.Dir(id(4)), 0o700), os.WriteFile(filepath.Join(s.Dir(id(4)), StudyFile), nil, 0o600),
		os.Mkdir(s.Dir(id(5)), 0o700), os.WriteFile(filepath.Join(s.Dir(id(5)), "."+StudyFile+".1.tmp"), nil, 0o600), s.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: false, 5: false} {
		if _, err := os.Stat(s.Dir(id(n))); (err == nil) != want {
			t.Errorf("folder %d: %v, want it there: %v", n, err, want)
		}
	}
	if len(s.Warnings()) > 0 {
		t.Errorf("warnings: %q", s.Warnings())
	}
}

// The folder of a run that has not ended is never taken into the list: a daemon would
// perform the run.
func TestFolderOfQueuedRun(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(1)
	r.State = bench.StateQueued
	if err := os.Mkdir(s.Dir(r.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeRun(s.Dir(r.ID), r, durable.Private); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if len(s.Warnings()) != 1 {
		t.Errorf("warnings: %q, want one", s.Warnings())
	}
	if _, err := s.Get(t.Context(), r.ID); err == nil {
		t.Error("the run is in the list")
	}
}
