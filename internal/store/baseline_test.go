package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/run"
)

func TestBaselines(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBaselines(s)
	if _, err := b.Get(ctx, "main"); !errors.Is(err, run.ErrNoBaseline) {
		t.Errorf("get of nothing: %v", err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := run.Revision{Runs: []string{"a"}, Key: run.BaselineKey{Workload: "w", Target: "t", Host: "h"}, Created: at, By: "ci", Note: "n"}
	for i, want := range []string{"main", "main", "dev"} {
		got, err := b.Add(ctx, want, first)
		if err != nil || got.Number != []int{1, 2, 1}[i] {
			t.Fatalf("add %d: %+v, %v", i, got, err)
		}
	}
	if _, err := b.Add(ctx, "../main", first); !errors.Is(err, run.ErrBaselineName) {
		t.Errorf("a bad name: %v", err)
	}
	// Another process sees them, beside this one and after it.
	beside, err := Attach(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := NewBaselines(beside).List(ctx); err != nil || len(got) != 2 || got[0].Name != "dev" || len(got[1].Revisions) != 2 {
		t.Errorf("beside: %+v, %v", got, err)
	}
	if err := errors.Join(beside.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b = NewBaselines(s)
	got, err := b.Get(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	second := first
	first.Number, second.Number = 1, 2
	if diff := cmp.Diff(&run.Baseline{Name: "main", Revisions: []run.Revision{first, second}}, got); diff != "" {
		t.Error(diff)
	}
	// The number of a revision that is removed is not given again while others stay.
	if err := b.Remove(ctx, "main", 1); err != nil {
		t.Fatal(err)
	}
	if again, err := b.Add(ctx, "main", first); err != nil || again.Number != 3 {
		t.Errorf("after a removal: %+v, %v", again, err)
	}
	if err := b.Remove(ctx, "main", 1); !errors.Is(err, run.ErrNoBaseline) {
		t.Errorf("removed twice: %v", err)
	}
	if err := b.Remove(ctx, "main", 0); err != nil {
		t.Error(err)
	}
	if list, err := b.List(ctx); err != nil || len(list) != 1 {
		t.Errorf("at the end: %v, %v", list, err)
	}
}

// Revisions that are added at once get numbers of their own.
func TestBaselinesAtOnce(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := NewBaselines(s)
	const n = 20
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := b.Add(ctx, "main", run.Revision{Runs: []string{"a"}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := b.Get(ctx, "main")
	if err != nil || len(got.Revisions) != n || got.Newest().Number != n {
		t.Errorf("%+v, %v", got, err)
	}
}
