package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiperfd/internal/run"
)

// A run is found by its idempotency key until it is deleted, also in a database that was
// rebuilt from the folders.
func TestIdempotency(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	first, other, plain := newRun(1), newRun(2), newRun(3)
	first.Idempotency = &run.Idempotency{Key: "k", Body: "abc"}
	other.Idempotency = &run.Idempotency{Caller: "ci", Key: "k", Body: "def"}
	put(t, s, first, other, plain)
	put(t, s, first) // a change of state
	find := func(s run.Store, caller, key string, after time.Time) string {
		t.Helper()
		page, err := s.List(t.Context(), run.Query{Idempotency: &run.Idempotency{Caller: caller, Key: key}, CreatedAfter: after})
		if err != nil {
			t.Fatal(err)
		}
		ids := ""
		for _, r := range page.Runs {
			ids += r.ID + " " + r.Idempotency.Body + ";"
		}
		return ids
	}
	check := func(s run.Store) {
		t.Helper()
		for _, tt := range []struct {
			caller, key string
			after       time.Time
			want        string
		}{
			{"", "k", time.Time{}, id(1) + " abc;"}, {"ci", "k", time.Time{}, id(2) + " def;"}, {"", "x", time.Time{}, ""},
			{"", "k", first.CreatedAt, ""}, {"", "k", first.CreatedAt.Add(-1), id(1) + " abc;"},
		} {
			if got := find(s, tt.caller, tt.key, tt.after); got != tt.want {
				t.Errorf("runs of %q, %q after %v = %q, want %q", tt.caller, tt.key, tt.after, got, tt.want)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, databaseFile)); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	check(again)
	if err := again.Delete(t.Context(), id(1)); err != nil {
		t.Fatal(err)
	}
	if got := find(again, "", "k", time.Time{}); got != "" {
		t.Errorf("the key of a deleted run finds %q", got)
	}
	single := NewSingle(t.TempDir())
	put(t, single, first)
	if got := find(single, "", "k", time.Time{}); got != id(1)+" abc;" {
		t.Errorf("Single finds %q", got)
	}
}
