package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/run"
)

// crashEnv makes the test binary a process that changes runs until it is killed.
const crashEnv = "AIPERFD_STORE_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		if err := putForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// putForever changes runs and deletes every fourth, and prints what is durable.
func putForever(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // should the parent die first
	defer cancel()
	s, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		for revision := range int64(3) {
			r := newRun(n)
			r.Revision = revision
			if err := s.Put(ctx, r); err != nil {
				return err
			}
			fmt.Println("put", n, revision)
		}
		if n%4 == 0 {
			fmt.Println("deleting", n)
			if err := s.Delete(ctx, id(n)); err != nil {
				return err
			}
			fmt.Println("deleted", n)
		}
	}
}

// A killed process loses nothing that was reported as durable.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	for round := range 4 {
		durable, deleting, deleted := crash(t, filepath.Join(dir, fmt.Sprint(round)), 12+7*round)
		s := open(t, filepath.Join(dir, fmt.Sprint(round)))
		if len(s.Warnings()) > 0 {
			t.Errorf("warnings after a crash: %q", s.Warnings())
		}
		for n, revision := range durable {
			r, err := s.Get(t.Context(), id(n))
			switch {
			case deleted[n]:
				if !errors.Is(err, run.ErrNotFound) {
					t.Errorf("deleted run %d: %v, want %v", n, err, run.ErrNotFound)
				}
			case deleting[n] && errors.Is(err, run.ErrNotFound):
			case err != nil:
				t.Errorf("run %d is lost: %v", n, err)
			case r.Revision < revision || r.Revision > revision+1:
				t.Errorf("run %d has revision %d, was told of %d", n, r.Revision, revision)
			default:
				if _, err := ReadFolder(s.Dir(id(n))); err != nil {
					t.Errorf("copy of run %d: %v", n, err)
				}
			}
		}
		s.discarded.all.Wait()
		if left, err := os.ReadDir(filepath.Join(s.dir, trashFolder)); err != nil || len(left) > 0 {
			t.Errorf("trash = %v, %v; want it empty", left, err)
		}
	}
}

// crash runs a process that changes runs, kills it after some lines, and returns
// its output.
func crash(t *testing.T, dir string, lines int) (durable map[int]int64, deleting, deleted map[int]bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), crashEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	durable, deleting, deleted = map[int]int64{}, map[int]bool{}, map[int]bool{}
	in := bufio.NewScanner(out)
	for seen := 0; in.Scan(); seen++ {
		if seen == lines {
			if err := cmd.Process.Kill(); err != nil { // SIGKILL
				t.Fatal(err)
			}
		}
		var n int
		var revision int64
		switch word, rest, _ := strings.Cut(in.Text(), " "); word {
		case "put":
			_, err = fmt.Sscan(rest, &n, &revision)
			durable[n] = revision
		case "deleting":
			_, err = fmt.Sscan(rest, &n)
			deleting[n] = true
		case "deleted":
			_, err = fmt.Sscan(rest, &n)
			deleted[n] = true
		}
		if err != nil {
			t.Fatalf("line %q: %v", in.Text(), err)
		}
	}
	_ = cmd.Wait() // the state is checked instead
	if state := cmd.ProcessState.String(); state != "signal: killed" || len(durable) == 0 {
		t.Fatalf("process ended by %s after %d runs, not by our signal", state, len(durable))
	}
	return durable, deleting, deleted
}
