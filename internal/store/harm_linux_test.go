//go:build linux

package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// tmpfs mounts a small file system of its own. The test is skipped if this process may
// not mount.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mount tmpfs: %v; this test needs a process that may mount", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 4096); err == nil; {
		_, err = f.Write(piece)
	}
	if !full(err) {
		t.Fatalf("fill the disk: %v", err)
	}
}

// pings checks whether Ping fails with a text; "" = it works.
func pings(t *testing.T, s *Store, want string) {
	t.Helper()
	err := s.Ping(t.Context())
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("Ping = %v, want %q", err, want)
	}
}

// A new data folder cannot be made on a full disk, and the error says what is missing.
func TestNewFolderOnFullDisk(t *testing.T) {
	disk := tmpfs(t, "size=1m")
	fill(t, filepath.Join(disk, "filler"))
	s, err := Open(t.Context(), filepath.Join(disk, "data"))
	if err == nil {
		t.Fatal("a data folder was made on a full disk", s.Close())
	}
	if want := "the disk is full, and a new data folder needs some"; !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want %q", err, want)
	}
}

func TestDiskFull(t *testing.T) {
	disk := tmpfs(t, "size=4m")
	dir := filepath.Join(disk, "data")
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(1), newRun(2))
	if err := os.WriteFile(filepath.Join(s.Dir(id(1)), "records"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	pings(t, s, "")
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	pings(t, s, "no space left on device")
	big := newRun(3)
	big.Notes = strings.Repeat("x", 1<<20)
	if err := s.Put(t.Context(), big); !full(err) {
		t.Errorf("Put on a full disk = %v, want that the disk is full", err)
	}
	if _, err := s.Get(t.Context(), id(3)); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("Get of a run that was refused = %v, want %v", err, run.ErrNotFound)
	}
	if err := testutil.CollectAndCompare(s.metrics.errors, strings.NewReader(`# HELP aiperfd_store_errors_total Operations of the store that failed.
# TYPE aiperfd_store_errors_total counter
aiperfd_store_errors_total{operation="delete"} 0
aiperfd_store_errors_total{operation="get"} 0
aiperfd_store_errors_total{operation="list"} 0
aiperfd_store_errors_total{operation="ping"} 1
aiperfd_store_errors_total{operation="put"} 1
`)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir) // a restart on a full disk is no reason to lose the API
	if page, err := s.List(t.Context(), run.Query{}); err != nil || page.Total != 2 {
		t.Errorf("%d runs on a full disk, %v; want 2", page.Total, err)
	}
	if err := s.Delete(t.Context(), id(1)); err != nil {
		t.Errorf("Delete on a full disk = %v", err)
	}
	s.discarded.all.Wait()
	pings(t, s, "")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(4))
	if page, err := s.List(t.Context(), run.Query{}); err != nil || page.Total != 2 {
		t.Errorf("%d runs after a deletion on a full disk, %v; want 2", page.Total, err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir := filepath.Join(tmpfs(t, "size=4m"), "data")
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(1))
	// The kernel refuses to make a disk read-only while files are open for writing, so
	// that the same disk is put over it.
	for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY} {
		if err := unix.Mount(dir, dir, "", flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	pings(t, s, "read-only file system")
	if err := s.Put(t.Context(), newRun(2)); !errors.Is(err, unix.EROFS) {
		t.Errorf("Put on a read-only disk = %v, want %v", err, unix.EROFS)
	}
	get(t, s, id(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("Open of a read-only folder = %v, want its reason", err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	pings(t, s, "")
	put(t, s, newRun(2))
}

func TestFolderGone(t *testing.T) {
	base := t.TempDir()
	dir, away := filepath.Join(base, "data"), filepath.Join(base, "away")
	s := open(t, dir)
	put(t, s, newRun(1))
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(dir, away)
	pings(t, s, "data folder is gone")
	if err := s.Put(t.Context(), newRun(2)); err == nil {
		t.Error("Put without a folder succeeded")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pings(t, s, "data folder was replaced")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	move(away, dir)
	pings(t, s, "")
	move(filepath.Join(dir, databaseFile), away)
	pings(t, s, "database is gone")
	if err := os.WriteFile(filepath.Join(dir, databaseFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pings(t, s, "database was replaced")
	move(away, filepath.Join(dir, databaseFile))
	pings(t, s, "")
	move(filepath.Join(dir, runsFolder), away)
	pings(t, s, "no such file or directory")
}

// A database that is damaged while it is open is reported until it is rebuilt.
func TestDamageWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		put(t, s, newRun(n+1))
	}
	if _, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, databaseFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0x55}, len(data)-4096), 4096); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := s.disconnect(); err != nil { // and with it what is cached
		t.Fatal(err)
	}
	if s.write, err = sql.Open("sqlite", source(path, "")); err != nil {
		t.Fatal(err)
	}
	s.read = s.write
	if _, err := s.List(t.Context(), run.Query{Limit: 500}); err == nil {
		t.Fatal("List of a damaged database succeeded")
	}
	pings(t, s, "database is damaged and is rebuilt at the next start")
	s.read = nil
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if page, err := s.List(t.Context(), run.Query{}); err != nil || page.Total != 200 {
		t.Errorf("%d runs after the restart, %v; want 200", page.Total, err)
	}
	pings(t, s, "")
}

// Rows that refer to no run mean that the database cannot be believed.
func TestRowsWithoutRun(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, newRun(1), newRun(2), newRun(3))
	for _, statement := range []string{"PRAGMA foreign_keys = 0", "INSERT INTO labels VALUES ('nobody', 'a', 'b')"} {
		if _, err := s.write.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	sameRuns(t, s, 3)
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "table labels has rows without a run") {
		t.Errorf("warnings = %s", w)
	}
}

// One broken entry hides no other run, and is shown as far as it can be read.
func TestBrokenRow(t *testing.T) {
	for name, broken := range map[string]struct {
		document, config string
		withoutCopy      bool
		want             string
	}{
		"half":                    {`{"id":"0`, "", false, "this is the copy in its folder"},
		"other type":              {`{"id":"` + id(2) + `","state":[]}`, "", false, "this is the copy in its folder"},
		"null":                    {`null`, "", false, "it is the entry of another run"},
		"another run":             {`{"id":"` + id(3) + `"}`, "", false, "it is the entry of another run"},
		"half, folder gone":       {`{`, "", true, "this is what is left of it"},
		"empty, folder gone":      {``, "{", true, "this is what is left of it"},
		"configuration is broken": {``, `{"half":`, false, "this is the copy in its folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, newRun(1), newRun(2), newRun(3))
			if _, err := s.write.Exec("UPDATE runs SET run = ?, config = ?, state = 'running' WHERE id = ?", broken.document, broken.config, id(2)); err != nil {
				t.Fatal(err)
			}
			if broken.withoutCopy {
				if err := os.RemoveAll(s.Dir(id(2))); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			var listed []run.Run
			for q := (run.Query{Limit: 1, Sort: run.SortEnded}); ; {
				page, err := s.List(t.Context(), q)
				if err != nil || page.Total != 3 {
					t.Fatalf("%d runs, %v; want 3", page.Total, err)
				}
				listed = append(listed, page.Runs...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			if len(listed) != 3 || listed[1].ID != id(2) {
				t.Fatalf("runs on pages = %+v, want 3, the second is broken", listed)
			}
			for _, r := range []*run.Run{&listed[1], get(t, s, id(2))} {
				want := newRun(2)
				last := r.Warnings[len(r.Warnings)-1]
				if r.State != bench.StateRunning || !r.CreatedAt.Equal(want.CreatedAt) || !r.EndedAt.Equal(*want.EndedAt) ||
					!strings.EqualFold(r.Name, want.Name) || last.Code != warnBroken || !strings.Contains(last.Detail, broken.want) {
					t.Errorf("broken run = %+v, want what is known of it and a warning with %q", r, broken.want)
				}
				if _, err := json.Marshal(r.Config); err != nil {
					t.Errorf("configuration of a broken run: %v", err)
				}
			}
			// The next change repairs the entry.
			r := get(t, s, id(2))
			put(t, s, r)
			if diff := cmp.Diff(r.Warnings, get(t, s, id(2)).Warnings); diff != "" {
				t.Errorf("warnings after a change (-before +after):\n%s", diff)
			}
		})
	}
}

// The lock is on the folder: removing the lock file does not admit a second process.
func TestLockWithoutFile(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if err := os.Remove(filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir)
	if _, ok := errors.AsType[*InUseError](err); !ok {
		t.Fatalf("second Open = %v, want an InUseError", err)
	}
	if _, err := os.Stat(filepath.Join(dir, LockFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused process made a lock file: %v", err)
	}
}
