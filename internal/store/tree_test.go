package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Another process finds the study and its cells, and only cells can be deleted.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	parent, cell := newRun(1), newRun(2)
	parent.Config, cell.Config = []byte(`{"a":1}`), nil
	parent.State, parent.Study = bench.StateRunning, &run.Study{Type: "grid", Total: 2, Done: 1}
	cell.Cell = &run.Cell{ParentID: id(1), Label: "run_0001", Folder: "profile_runs/trial_0001/concurrency_4"}
	outside := newRun(3)
	outside.Cell = &run.Cell{ParentID: id(1), Folder: "../elsewhere"}
	put(t, s, parent, cell, outside)
	if got, want := s.Dir(id(2)), filepath.Join(dir, "profile_runs", "trial_0001", "concurrency_4"); got != want {
		t.Errorf("Dir of a cell = %s, want %s", got, want)
	}
	if got := s.Dir(id(3)); got != dir {
		t.Errorf("Dir of a cell outside the study = %s, want %s", got, dir)
	}
	put(t, s, parent)
	for _, torn := range []string{"torn", "foreign"} {
		if err := os.MkdirAll(filepath.Join(dir, torn), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, torn, CopyFile), []byte(`{"schema": "aiperfd-run/1", "run": {"id"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	again, err := OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []*run.Run{parent, cell} {
		if diff := cmp.Diff(want, get(t, again, want.ID)); diff != "" {
			t.Errorf("run of the earlier process (-put +got):\n%s", diff)
		}
	}
	if err := again.Delete(t.Context(), id(2)); err != nil {
		t.Errorf("Delete of a cell = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "profile_runs", "trial_0001", "concurrency_4")); !os.IsNotExist(err) {
		t.Errorf("the folder of a deleted cell: %v", err)
	}
	if err := again.Delete(t.Context(), id(1)); err == nil {
		t.Error("Delete of a study succeeded")
	}
}
