package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, newRun(1), newRun(2))
	if err := os.WriteFile(filepath.Join(s.Dir(id(1)), "artifact"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), id(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Dir(id(1))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder of a deleted run: %v, want nothing", err)
	}
	s.discarded.all.Wait()
	if left, err := os.ReadDir(filepath.Join(dir, trashFolder)); err != nil || len(left) > 0 {
		t.Errorf("trash = %v, %v; want it empty", left, err)
	}
	if _, err := s.Get(t.Context(), id(1)); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("Get = %v, want %v", err, run.ErrNotFound)
	}
	for _, name := range []string{id(1), "../runs", "", id(9)} {
		if err := s.Delete(t.Context(), name); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Delete(%q) = %v, want %v", name, err, run.ErrNotFound)
		}
	}
	if err := os.RemoveAll(s.Dir(id(2))); err != nil { // by hand
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), id(2)); err != nil {
		t.Errorf("Delete of a run without folder = %v", err)
	}
	if page, err := s.List(t.Context(), run.Query{}); err != nil || page.Total != 0 {
		t.Errorf("%d runs are left, %v", page.Total, err)
	}
}

func TestDeleteFails(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, newRun(1))
	if _, err := s.write.Exec("CREATE TRIGGER keep BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'kept'); END"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), id(1)); err == nil || !strings.Contains(err.Error(), "kept") {
		t.Errorf("Delete = %v, want the database's error", err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(id(1)), CopyFile)); err != nil {
		t.Errorf("the folder did not come back: %v", err)
	}
}

// A deletion that was interrupted between its two halves is completed.
func TestTrashAtOpen(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(1), newRun(2))
	if err := os.Rename(s.Dir(id(1)), filepath.Join(dir, "trash", id(1))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "trash", id(2)), 0o700); err != nil { // of an earlier life of run 2
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if _, err := s.Get(t.Context(), id(1)); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("Get of a run in the trash = %v, want %v", err, run.ErrNotFound)
	}
	get(t, s, id(2))
	s.discarded.all.Wait()
	left, err := os.ReadDir(filepath.Join(dir, "trash"))
	if err != nil || len(left) != 0 {
		t.Errorf("trash = %v, %v; want it empty", left, err)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir)
	var used *InUseError
	if !errors.As(err, &used) || used.PID != fmt.Sprint(os.Getpid()) {
		t.Errorf("second Open = %v, want an InUseError of this process", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?#%41", "data")
	s := open(t, dir)
	r := newRun(1)
	put(t, s, r)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{databaseFile, LockFile, filepath.Join(runsFolder, id(1), CopyFile)} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(s.Dir(id(1)), CopyFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema string
		Run    run.Run
		Config json.RawMessage
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	r.Config = nil
	if diff := cmp.Diff(*r, doc.Run); diff != "" || doc.Schema != "aiperfd-run/1" || len(doc.Config) == 0 {
		t.Errorf("copy of the run (-want +got), schema %s, config %s:\n%s", doc.Schema, doc.Config, diff)
	}
}

func TestNewerSchema(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings()) != 0 {
		t.Errorf("warnings of a new store: %q", s.Warnings())
	}
	var version int
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	newest := filepath.Base(files[len(files)-1])
	if err := s.write.QueryRow("SELECT max(version_id) FROM goose_db_version").Scan(&version); err != nil ||
		!strings.HasPrefix(newest, fmt.Sprintf("%05d_", version)) {
		t.Errorf("schema version = %d, %v; want that of %s", version, err, newest)
	}
	if _, err := s.write.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "newer aiperfd: its schema is 99") {
		t.Errorf("Open = %v, want an error about the newer schema", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, databaseFile+".corrupt-*")); len(aside) > 0 {
		t.Error("the newer database was put aside")
	}
}

// Power can only be lost safely if SQLite runs as we think.
func TestPragmas(t *testing.T) {
	s := open(t, t.TempDir())
	for _, db := range []*sql.DB{s.write, s.read} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
			var got string
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s = %s, %v; want %s", pragma, got, err, want)
			}
		}
	}
	if _, err := s.read.Exec("DELETE FROM runs"); err == nil {
		t.Error("a connection for reading wrote")
	}
}

func TestSingleDelete(t *testing.T) {
	dir := t.TempDir()
	s := NewSingle(dir)
	put(t, s, newRun(1))
	if err := s.Delete(t.Context(), id(1)); err == nil || errors.Is(err, run.ErrNotFound) {
		t.Errorf("Delete = %v, want a refusal", err)
	}
	if err := s.Delete(t.Context(), id(2)); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("Delete of no run = %v, want %v", err, run.ErrNotFound)
	}
	if s.Dir(id(1)) != dir || s.Dir(id(2)) != dir {
		t.Errorf("Dir = %s, %s; want %s", s.Dir(id(1)), s.Dir(id(2)), dir)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != CopyFile {
		t.Errorf("folder = %v, %v; want only %s", left, err, CopyFile)
	}
}

// Both stores return the same pages for the same runs and queries.
func TestListSame(t *testing.T) {
	disk, memory := open(t, t.TempDir()), NewSingle(t.TempDir())
	words := []string{"", "a", "B", "ab", "Ab c", "é", "É%"}
	next := 0
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom(words)
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			return start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "minute")) * time.Minute)
		})
		for range rapid.IntRange(0, 2).Draw(rt, "new runs") {
			next++
			r := &run.Run{
				ID: id(next%40 + 1), Name: word.Draw(rt, "name"), Notes: word.Draw(rt, "notes"), CreatedAt: moment.Draw(rt, "created"),
				State:  rapid.SampledFrom([]bench.State{bench.StateQueued, bench.StateRunning, bench.StateFailed}).Draw(rt, "state"),
				Models: []string{word.Draw(rt, "model")}, Targets: []string{word.Draw(rt, "target")},
				Labels: map[string]string{word.Draw(rt, "label"): word.Draw(rt, "value")}, Origin: run.Origin{Version: "v"},
			}
			if rapid.Bool().Draw(rt, "ended") {
				r.StartedAt, r.EndedAt = new(moment.Draw(rt, "started at")), new(moment.Draw(rt, "ended at"))
				r.Summary = &run.Summary{LatencyP99: new(rapid.Float64Range(0, 2).Draw(rt, "latency"))}
			}
			put(t, disk, r)
			put(t, memory, r)
		}
		q := run.Query{
			Sort: rapid.SampledFrom([]run.Sort{
				run.SortDefault, run.SortCreated, run.SortStarted, run.SortEnded, run.SortName, run.SortDuration,
				"request_latency_p99_ms",
			}).Draw(rt, "sort"),
			Descending: rapid.Bool().Draw(rt, "descending"), Limit: rapid.IntRange(1, 5).Draw(rt, "limit"),
		}
		switch rapid.IntRange(0, 6).Draw(rt, "filter") {
		case 0:
			q.States = []bench.State{bench.StateQueued, bench.StateRunning}
		case 1:
			q.Model = word.Draw(rt, "q.model")
		case 2:
			q.Target = word.Draw(rt, "q.target")
		case 3:
			q.Text = word.Draw(rt, "q.text")
		case 4:
			q.CreatedAfter, q.CreatedBefore = moment.Draw(rt, "q.after"), moment.Draw(rt, "q.before")
		case 5:
			q.Labels = []run.LabelFilter{{
				Name: word.Draw(rt, "q.label"), Value: word.Draw(rt, "q.value"),
				AnyValue: rapid.Bool().Draw(rt, "any"), Not: rapid.Bool().Draw(rt, "not"),
			}}
		}
		for {
			a, errA := disk.List(t.Context(), q)
			b, errB := memory.List(t.Context(), q)
			if errA != nil || errB != nil {
				rt.Fatal(errA, errB)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				rt.Fatalf("pages of %+v (-memory +disk):\n%s", q, diff)
			}
			if q.Cursor = a.Next; q.Cursor == "" {
				return
			}
		}
	})
}

// A page of the list is read in its order, and the runs of few states by their index: the
// effort does not grow with the history.
func TestListPlan(t *testing.T) {
	s := open(t, t.TempDir())
	active := []bench.State{bench.StateQueued, bench.StateRunning}
	for name, tt := range map[string]struct {
		query run.Query
		want  string
	}{
		"newest": {run.Query{TopLevel: true}, "SCAN runs"},
		"summary": {
			run.Query{TopLevel: true, Sort: "time_to_first_token_p99_ms", Descending: true},
			"SEARCH runs USING COVERING INDEX runs_time_to_first_token_p99_ms (time_to_first_token_p99_ms>?)",
		},
		"summary and state": {
			run.Query{TopLevel: true, States: active, Sort: "time_to_first_token_p99_ms"},
			"SEARCH runs USING COVERING INDEX runs_time_to_first_token_p99_ms (time_to_first_token_p99_ms>?)",
		},
		"active": {run.Query{TopLevel: true, States: active}, "SEARCH runs USING COVERING INDEX runs_state (state=?)"},
	} {
		q, err := check(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		statement, args := q.page()
		type step struct {
			id, parent, unused int
			detail             string
		}
		plan, err := scanAll(t.Context(), s.read, func(p *step) []any { return []any{&p.id, &p.parent, &p.unused, &p.detail} },
			"EXPLAIN QUERY PLAN "+statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(plan, func(p step) bool { return p.detail == tt.want }) {
			t.Errorf("%s: %+v, want %s", name, plan, tt.want)
		}
	}
}
