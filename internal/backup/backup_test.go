//go:build unix

package backup

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
)

var start = time.Date(2026, 5, 4, 10, 0, 0, 987654321, time.UTC)

func id(n int) string { return fmt.Sprintf("%032x", n) }

// newRun returns a run in a state.
func newRun(n int, state bench.State) *run.Run {
	r := &run.Run{
		ID: id(n), Name: fmt.Sprintf("run <%d>", n), Labels: map[string]string{"gpu": "a"}, State: state, CreatedAt: start,
		Models: []string{"m"}, Targets: []string{"http://x"}, Config: json.RawMessage(`{"benchmark":{"model":"m"}}`),
	}
	if state != bench.StateQueued {
		r.StartedAt = new(start.Add(time.Second))
	}
	if state.Terminal() {
		r.EndedAt = new(start.Add(time.Minute))
	}
	return r
}

// study returns a study and its cells.
func study(n int, state bench.State, cells int) []*run.Run {
	parent := newRun(n, state)
	parent.Study = &run.Study{Type: "grid", Total: cells, Done: cells}
	out := []*run.Run{parent}
	for i := range cells {
		c := newRun(n+1+i, state)
		c.Cell = &run.Cell{ParentID: parent.ID, Label: "run_0001", Folder: fmt.Sprint(i)}
		out = append(out, c)
	}
	return out
}

// folderFiles are the files that every run of these tests has.
func folderFiles() map[string]string {
	return map[string]string{
		".aiperf_results_ready.json": `{"ready":true}`, ".snapshot.json": "{}", "profile_export.jsonl": "{\"a\":1}\n",
		"phases/profiling/x.json": "{}", "empty.csv": "",
	}
}

// fill opens a data folder and puts runs with files into it. The store stays open, as
// that of a daemon does.
func fill(t *testing.T, runs ...*run.Run) (*store.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, r := range runs {
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for name, text := range folderFiles() {
			write := filepath.Join(s.Dir(r.ID), name)
			for _, err := range []error{
				os.MkdirAll(filepath.Dir(write), 0o700), os.WriteFile(write, []byte(text), 0o644), os.Chtimes(write, start, start),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return s, dir
}

// tree returns the regular files below a folder with their contents, and the times of
// those that are not dot files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		text := string(data)
		if info, fault := d.Info(); fault == nil && !strings.HasPrefix(d.Name(), ".") {
			text += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
		}
		out[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names returns what is in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// get returns a run that must be there.
func get(t *testing.T, s *store.Store, id string) *run.Run {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBackup(t *testing.T) {
	cells := study(20, bench.StateCompleted, 2)
	runs := append([]*run.Run{newRun(1, bench.StateCompleted), newRun(2, bench.StateRunning), newRun(3, bench.StateQueued)}, cells...)
	s, dir := fill(t, runs...)
	one := s.Dir(id(1))
	for _, err := range []error{
		os.Symlink("/etc/passwd", filepath.Join(one, "link.json")),
		syscall.Mkfifo(filepath.Join(one, "fifo.json"), 0o600),
		os.WriteFile(filepath.Join(one, ".profile_export.json.abc.tmp"), []byte("half"), 0o600),
		os.WriteFile(filepath.Join(s.Dir(id(2)), ".values-1"), []byte("half"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	target := t.TempDir()
	out, err := Create(t.Context(), dir, target, "test") // while s is open
	if err != nil {
		t.Fatal(err)
	}
	// The archive is private: it has prompts.
	if info, err := os.Stat(out.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("backup: %v, %v", info, err)
	}
	if got := names(t, target); len(got) != 1 || !strings.HasPrefix(got[0], "aiperfd-backup-") {
		t.Errorf("target has %q, want the backup alone", got)
	}
	prefix := "runs/" + id(1) + "/"
	if diff := cmp.Diff([]string{prefix + "fifo.json: it is not a regular file", prefix + "link.json: it is not a regular file"}, out.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	checked, err := Verify(t.Context(), out.Path)
	if err != nil {
		t.Fatal(err)
	}
	// 6 files per run, without the marker of the two that have not ended; and the index.
	if checked.Runs != 6 || checked.Files != 6*6-2+1 || checked.Files != out.Files || checked.Bytes != out.Bytes {
		t.Errorf("verified %+v, written %+v", checked, out)
	}

	restored := filepath.Join(t.TempDir(), "new", "data")
	if _, err := Restore(t.Context(), out.Path, restored, Unlimited()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aiperfd.db", "runs"}, names(t, restored)); diff != "" {
		t.Errorf("restored folder (-want +got):\n%s", diff)
	}
	again, err := store.Open(t.Context(), restored)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if w := again.Warnings(); len(w) > 0 {
		t.Errorf("warnings of the restored folder: %q", w)
	}
	for _, r := range runs {
		if diff := cmp.Diff(get(t, s, r.ID), get(t, again, r.ID)); diff != "" {
			t.Errorf("run %s (-want +got):\n%s", r.ID, diff)
		}
		want := tree(t, s.Dir(r.ID))
		delete(want, ".profile_export.json.abc.tmp")
		delete(want, ".values-1")
		if !r.State.Terminal() {
			delete(want, ".aiperf_results_ready.json")
		}
		if diff := cmp.Diff(want, tree(t, again.Dir(r.ID))); diff != "" {
			t.Errorf("files of run %s (-want +got):\n%s", r.ID, diff)
		}
	}
	if info, err := os.Stat(filepath.Join(restored, "aiperfd.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("restored index: %v, %v", info, err)
	}
}

// A run that is deleted while the backup is written is complete in it, or not there at all.
func TestBackupDuringDelete(t *testing.T) {
	var runs []*run.Run
	for n := range 40 {
		runs = append(runs, newRun(n+1, bench.StateCompleted))
	}
	s, dir := fill(t, runs...)
	deleted := make(chan error)
	go func() {
		var errs []error
		for n := range 40 {
			errs = append(errs, s.Delete(context.Background(), id(40-n)))
		}
		deleted <- errors.Join(errs...)
	}()
	out, err := Create(t.Context(), dir, filepath.Join(t.TempDir(), "b.tar.gz"), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	checked, err := Verify(t.Context(), out.Path)
	if err != nil {
		t.Fatal(err)
	}
	if want := 6*checked.Runs + 1; checked.Files != want {
		t.Errorf("%d runs have %d files, want %d", checked.Runs, checked.Files, want)
	}
}

// One damaged row does not keep the other runs from being saved: the copy in the folder
// stands in for it.
func TestBackupOfDamagedRow(t *testing.T) {
	s, dir := fill(t, newRun(1, bench.StateCompleted), newRun(2, bench.StateCompleted), newRun(3, bench.StateCompleted))
	want := get(t, s, id(2))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, archive.Database))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		if _, err := db.Exec("UPDATE runs SET run = '{' WHERE id = ?", id(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Close(), os.Remove(filepath.Join(s.Dir(id(3)), store.CopyFile))); err != nil {
		t.Fatal(err)
	}
	out, err := Create(t.Context(), dir, filepath.Join(t.TempDir(), "b.tar.gz"), "test")
	if err != nil {
		t.Fatal(err)
	}
	if out.Runs != 2 || len(out.Skipped) != 1 || !strings.HasPrefix(out.Skipped[0], "run "+id(3)+": its row and its copy are damaged") {
		t.Errorf("%d runs, skipped %q", out.Runs, out.Skipped)
	}
	restored := t.TempDir()
	if _, err := Restore(t.Context(), out.Path, restored, Unlimited()); err != nil {
		t.Fatal(err)
	}
	if got, err := store.ReadFolder(filepath.Join(restored, archive.Runs, id(2))); err != nil || got.Name != want.Name {
		t.Errorf("copy of the damaged row: %v, %v", got, err)
	}
}

// The folder of a run that is in the trash by now counts as gone, even if its files can
// still be read.
func TestFolderGone(t *testing.T) {
	s, _ := fill(t, newRun(1, bench.StateCompleted))
	dir := s.Dir(id(1))
	aside := dir + "-moved"
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(dir); !errors.Is(err, errGone) {
		t.Errorf("folder that was moved: %v, want %v", err, errGone)
	}
	if err := os.Symlink(aside, dir); err != nil { // a run that was moved to another disk
		t.Fatal(err)
	}
	f, err := openFolder(dir)
	if err != nil || len(f.files) != len(folderFiles()) {
		t.Fatalf("folder behind a link: %v, %v", f, err)
	}
	f.close()
}

// A process that was killed leaves at most one folder, which the next backup removes; a
// process that is still writing is not disturbed.
func TestPartial(t *testing.T) {
	_, dir := fill(t, newRun(1, bench.StateCompleted))
	target := t.TempDir()
	p, err := begin(filepath.Join(target, ".aiperfd-archive.partial"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file("archive"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	var used *store.InUseError
	if _, err := Create(t.Context(), dir, target, "test"); !errors.As(err, &used) {
		t.Errorf("two backups at once: %v, want an InUseError", err)
	}
	if err := p.lock.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), dir, target, "test"); err != nil {
		t.Error(err)
	}
	if got := names(t, target); len(got) != 1 {
		t.Errorf("target has %q, want the backup alone", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Create(ctx, dir, target, "test"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled backup: %v", err)
	}
	if got := names(t, target); len(got) != 1 {
		t.Errorf("a cancelled backup leaves %q", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	_, dir := fill(t, newRun(1, bench.StateCompleted))
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	if _, err := Create(t.Context(), dir, file, "test"); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, used, Unlimited()); err == nil || !strings.Contains(err.Error(), "is not empty: it has notes.txt") {
		t.Errorf("restore into a folder with files: %v", err)
	}
	if diff := cmp.Diff([]string{"notes.txt"}, names(t, used)); diff != "" {
		t.Errorf("the folder has changed (-want +got):\n%s", diff)
	}
	// What does not agree leaves nothing behind.
	for name, breakIt := range map[string]func(*store.Index) error{
		"rows without folders": func(*store.Index) error { return nil },
		"folders without rows": func(x *store.Index) error { return x.Remove(t.Context(), id(1)) },
	} {
		path := broken(t, dir, breakIt, name == "folders without rows")
		for what, try := range map[string]func() error{
			"verify":  func() error { _, err := Verify(t.Context(), path); return err },
			"restore": func() error { _, err := Restore(t.Context(), path, filepath.Join(used, "x"), Unlimited()); return err },
		} {
			if err := try(); err == nil || !strings.Contains(err.Error(), "does not agree with its") {
				t.Errorf("%s of a backup with %s: %v", what, name, err)
			}
		}
		if got := names(t, filepath.Join(used, "x")); len(got) > 0 {
			t.Errorf("a refused restore leaves %q", got)
		}
	}
}

// TestRestoreSchema: a database with more or less than the tables and indexes of aiperfd is
// refused; that of an earlier version is not.
func TestRestoreSchema(t *testing.T) {
	for name, test := range map[string]struct{ statement, want string }{
		"trigger":     {"CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM labels; END", `has a trigger "t" that is not part of the schema of aiperfd`},
		"view":        {"CREATE VIEW v AS SELECT * FROM runs", `has a view "v"`},
		"table":       {"CREATE TABLE more (x)", `has a table "more"`},
		"other table": {"ALTER TABLE labels ADD COLUMN more TEXT", `has a table "labels"`},
		"no table":    {"DROP TABLE idempotency_keys", "tables and indexes"},
		"as it is":    {"SELECT 1", ""},
	} {
		_, dir := fill(t, newRun(1, bench.StateCompleted))
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, archive.Database))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), test.statement)
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "b.tar.gz")
		if _, err := Create(t.Context(), dir, path, "test"); err != nil {
			t.Fatal(err)
		}
		for what, try := range map[string]func() error{
			"verify": func() error { _, err := Verify(t.Context(), path); return err },
			"restore": func() error {
				_, err := Restore(t.Context(), path, filepath.Join(t.TempDir(), "x"), Unlimited())
				return err
			},
		} {
			err := try()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s of a backup with %s: %v, want %q", what, name, err, test.want)
			}
		}
	}
}

// broken writes a backup whose index and folders do not agree.
func broken(t *testing.T, dir string, change func(*store.Index) error, folders bool) string {
	t.Helper()
	tmp := t.TempDir()
	live, err := store.OpenIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	path := filepath.Join(tmp, "db")
	if err := live.Copy(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	index, err := store.OpenIndexFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(change(index), index.Close()); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(tmp, "broken.tar.gz")
	_, err = write(t.Context(), out, archive.Header{Kind: archive.Backup, Created: start}, func(w *archive.Writer, _ *partial) (*Result, error) {
		if folders {
			row, err := live.Row(t.Context(), id(1))
			if err != nil {
				return nil, err
			}
			if _, err := addRun(w, row, dir); err != nil {
				return nil, err
			}
		}
		return new(Result), addIndex(w, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Verify finds a database that is damaged, although its checksum is right.
func TestVerifyDamagedIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := write(t.Context(), path, archive.Header{Kind: archive.Backup, Created: start}, func(w *archive.Writer, _ *partial) (*Result, error) {
		text := append([]byte("SQLite format 3\x00"), make([]byte, 8192)...)
		return new(Result), w.AddBytes(archive.Database, start, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), path); err == nil {
		t.Error("a damaged index is accepted")
	}
}
