package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// start is when the first run of a test was created.
var start = time.Date(2026, 5, 4, 10, 0, 0, 120_000_001, time.UTC)

// id returns the n-th id.
func id(n int) string { return fmt.Sprintf("%032x", n) }

// newRun returns the n-th run, with everything set.
func newRun(n int) *run.Run {
	at := start.Add(time.Duration(n) * time.Minute)
	return &run.Run{
		ID: id(n), Name: fmt.Sprint("Run ", n), Labels: map[string]string{"gpu": "h100", "n": fmt.Sprint(n)},
		Notes: "a \"note\" <1>", State: bench.StateCompleted, StateReason: "r", CreatedAt: at,
		StartedAt: new(at.Add(time.Second)), EndedAt: new(at.Add(time.Duration(100-n) * time.Second)), Origin: run.Origin{Via: "api", Version: "0.1.0", CLICommand: "aiperfd profile", Seed: 1 << 60},
		Models: []string{"m", "m", fmt.Sprint("m", n%3)}, Targets: []string{"http://a:1", "http://b"},
		Endpoint: "chat", Streaming: true, Concurrency: new(8), Rate: new(1.5),
		Credentials: run.Credentials{Headers: []string{"X-Key"}},
		Summary:     &run.Summary{Requests: 1 << 53, LatencyP99: new(1.25), TTFTP99: new(float64(n*(6-n)) + 0.125)},
		Error:       &run.Error{Code: run.NoSuccess, Message: "m", Phase: "p"},
		Warnings:    []bench.Warning{{Pointer: "/a", Code: "c", Detail: "d"}}, Revision: 5,
		Config: json.RawMessage(`{"b":  [1, 2.0, "<é>"], "a":null}`),
	}
}

// eachStore runs a test on every store.
func eachStore(t *testing.T, f func(t *testing.T, s run.Store)) {
	t.Helper()
	t.Run("Store", func(t *testing.T) { f(t, open(t, t.TempDir())) })
	t.Run("Tree", func(t *testing.T) {
		s, err := OpenTree(filepath.Join(t.TempDir(), "a", "b"))
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
	})
	t.Run("Single", func(t *testing.T) { f(t, NewSingle(filepath.Join(t.TempDir(), "a", "b"))) })
}

// open opens a store until the end of the test.
func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func put(t *testing.T, s run.Store, runs ...*run.Run) {
	t.Helper()
	for _, r := range runs {
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t *testing.T, s run.Store, id string) *run.Run {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("Get(%s) = %v", id, err)
	}
	return r
}

func TestPutGet(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		full, bare := newRun(1), &run.Run{ID: id(2), State: bench.StateQueued, CreatedAt: start}
		put(t, s, full, bare)
		for _, want := range []*run.Run{full, bare} {
			if diff := cmp.Diff(want, get(t, s, want.ID)); diff != "" {
				t.Errorf("run (-put +got):\n%s", diff)
			}
		}
		changed := newRun(1)
		changed.State, changed.Revision, changed.Labels, changed.Models, changed.Config = bench.StateFailed, 6, nil, nil, json.RawMessage(`{}`)
		put(t, s, changed)
		if diff := cmp.Diff(changed, get(t, s, id(1))); diff != "" {
			t.Errorf("replaced run (-put +got):\n%s", diff)
		}
		page, err := s.List(t.Context(), run.Query{Labels: []run.LabelFilter{{Name: "gpu", AnyValue: true}}})
		if err != nil || page.Total != 0 {
			t.Errorf("runs with a label that was removed: %d, %v; want none", page.Total, err)
		}
		if _, err := s.Get(t.Context(), id(3)); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Get of no run = %v, want %v", err, run.ErrNotFound)
		}
		if err := s.Put(t.Context(), &run.Run{}); err == nil {
			t.Error("Put of a run without id succeeded")
		}
		info, err := os.Stat(s.Dir(id(1)))
		_, daemon := s.(*Store) // its folders are nobody else's business
		if err != nil || !info.IsDir() || daemon && info.Mode().Perm() != 0o700 || !filepath.IsAbs(s.Dir(id(1))) {
			t.Errorf("Dir = %s: %v, %v; want an absolute folder, of a daemon with mode 0700", s.Dir(id(1)), info, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping = %v", err)
		}
	})
}

func TestListFilters(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		for n := range 6 {
			put(t, s, newRun(n))
		}
		odd := newRun(6)
		odd.Name, odd.Notes, odd.State, odd.Labels = "ÄRGER 100%_x", "", bench.StateQueued, map[string]string{"gpu": ""}
		odd.Models, odd.Targets, odd.StartedAt, odd.EndedAt, odd.Summary = nil, nil, nil, nil, nil
		put(t, s, odd)
		label := func(f ...run.LabelFilter) run.Query { return run.Query{Labels: f} }
		for name, c := range map[string]struct {
			q    run.Query
			want []int
		}{
			"all":             {run.Query{}, []int{6, 5, 4, 3, 2, 1, 0}},
			"default sort":    {run.Query{Descending: false}, []int{6, 5, 4, 3, 2, 1, 0}},
			"states":          {run.Query{States: []bench.State{bench.StateQueued, bench.StateFailed}}, []int{6}},
			"label value":     {label(run.LabelFilter{Name: "n", Value: "3"}), []int{3}},
			"label empty":     {label(run.LabelFilter{Name: "gpu"}), []int{6}},
			"label any":       {label(run.LabelFilter{Name: "n", AnyValue: true}), []int{5, 4, 3, 2, 1, 0}},
			"label absent":    {label(run.LabelFilter{Name: "n", AnyValue: true, Not: true}), []int{6}},
			"label not":       {label(run.LabelFilter{Name: "n", Value: "3", Not: true}), []int{6, 5, 4, 2, 1, 0}},
			"labels":          {label(run.LabelFilter{Name: "gpu", Value: "h100"}, run.LabelFilter{Name: "n", Value: "2"}), []int{2}},
			"model":           {run.Query{Model: "m1"}, []int{4, 1}},
			"target":          {run.Query{Target: "http://b"}, []int{5, 4, 3, 2, 1, 0}},
			"text in name":    {run.Query{Text: "rUN 2"}, []int{2}},
			"text in notes":   {run.Query{Text: `"NOTE" <`}, []int{5, 4, 3, 2, 1, 0}},
			"text unicode":    {run.Query{Text: "ärger"}, []int{6}},
			"text is literal": {run.Query{Text: "%_"}, []int{6}},
			"text nowhere":    {run.Query{Text: "x\na"}, nil},
			"after":           {run.Query{CreatedAfter: start.Add(4 * time.Minute)}, []int{6, 5}},
			"before":          {run.Query{CreatedBefore: start.Add(2 * time.Minute)}, []int{1, 0}},
			"between":         {run.Query{CreatedAfter: start.Add(-time.Hour), CreatedBefore: start.Add(1)}, []int{0}},
			"created":         {run.Query{Sort: run.SortCreated}, []int{0, 1, 2, 3, 4, 5, 6}},
			"started":         {run.Query{Sort: run.SortStarted, Descending: true}, []int{6, 5, 4, 3, 2, 1, 0}},
			"ended":           {run.Query{Sort: run.SortEnded}, []int{0, 1, 2, 3, 4, 5, 6}},
			"by the summary":  {run.Query{Sort: "time_to_first_token_p99_ms"}, []int{0, 1, 5, 2, 4, 3}},
			"and descending":  {run.Query{Sort: "time_to_first_token_p99_ms", Descending: true}, []int{3, 4, 2, 5, 1, 0}},
			"duration":        {run.Query{Sort: run.SortDuration}, []int{5, 4, 3, 2, 1, 0, 6}},
			"name":            {run.Query{Sort: run.SortName, Descending: true}, []int{6, 5, 4, 3, 2, 1, 0}},
		} {
			t.Run(name, func(t *testing.T) {
				page, err := s.List(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, numbers(t, page.Runs)); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
				if page.Total != len(c.want) || page.Next != "" {
					t.Errorf("total = %d, next = %q; want %d and none", page.Total, page.Next, len(c.want))
				}
				for _, r := range page.Runs {
					if r.Config != nil {
						t.Error("a run in a list has its configuration")
					}
				}
			})
		}
	})
}

// numbers returns the numbers of runs; each must be whole.
func numbers(t *testing.T, runs []run.Run) (out []int) {
	t.Helper()
	for _, r := range runs {
		var n int
		if _, err := fmt.Sscanf(r.ID, "%x", &n); err != nil {
			t.Fatal(err)
		}
		if r.CreatedAt.IsZero() || r.Version == "" {
			t.Errorf("run %d came back in part: %+v", n, r)
		}
		out = append(out, n)
	}
	return out
}

// The cells of a study are found by their study, and left out of a list of what stands
// alone.
func TestListStudies(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		parent := newRun(1)
		parent.Study = &run.Study{Type: "grid", Total: 2}
		put(t, s, newRun(0), parent)
		for n := 2; n < 4; n++ {
			r := newRun(n)
			r.Cell = &run.Cell{ParentID: id(1), Trial: n - 2, Folder: fmt.Sprint("cell_", n)}
			put(t, s, r)
		}
		for name, c := range map[string]struct {
			q    run.Query
			want []string
		}{
			"all":                {run.Query{Sort: run.SortCreated}, []string{id(0), id(1), id(2), id(3)}},
			"cells":              {run.Query{Sort: run.SortCreated, Parent: id(1)}, []string{id(2), id(3)}},
			"cells of no study":  {run.Query{Parent: id(0)}, nil},
			"top level":          {run.Query{Sort: run.SortCreated, TopLevel: true}, []string{id(0), id(1)}},
			"runs":               {run.Query{Sort: run.SortCreated, Kind: run.KindRun}, []string{id(0), id(2), id(3)}},
			"studies":            {run.Query{Kind: run.KindSweep}, []string{id(1)}},
			"runs at the top":    {run.Query{Kind: run.KindRun, TopLevel: true}, []string{id(0)}},
			"studies of studies": {run.Query{Kind: run.KindSweep, Parent: id(1)}, nil},
		} {
			page, err := s.List(t.Context(), c.q)
			var got []string
			for _, r := range page.Runs {
				got = append(got, r.ID)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		for n := range 7 {
			r := newRun(n)
			r.Name = "same" // the id decides
			put(t, s, r)
		}
		for _, sort := range []run.Sort{run.SortDefault, run.SortCreated, run.SortName, run.SortDuration, "time_to_first_token_p99_ms"} {
			q := run.Query{Sort: sort, Limit: 3, Descending: true}
			var got []int
			for i := 0; ; i++ {
				page, err := s.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					put(t, s, newRun(50), newRun(51)) // new runs do not move the pages
				}
				for _, n := range numbers(t, page.Runs) {
					if n < 50 {
						got = append(got, n)
					}
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			for _, n := range []int{50, 51} {
				if err := s.Delete(t.Context(), id(n)); err != nil {
					if _, ok := s.(*Store); ok {
						t.Fatal(err)
					}
				}
			}
			want := []int{6, 5, 4, 3, 2, 1, 0}
			if sort == "time_to_first_token_p99_ms" {
				want = []int{3, 4, 2, 5, 1, 6, 0}
			}
			if sort == run.SortDuration {
				want = []int{0, 1, 2, 3, 4, 5, 6}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("all pages by %q (-want +got):\n%s", sort, diff)
			}
		}
	})
}

func TestListErrors(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		put(t, s, newRun(1), newRun(2))
		page, err := s.List(t.Context(), run.Query{Limit: 1, Model: "m"})
		if err != nil || page.Next == "" {
			t.Fatalf("List = %+v, %v; want a next page", page, err)
		}
		for name, q := range map[string]run.Query{
			"of another filter": {Limit: 1, Cursor: page.Next},
			"of another sort":   {Limit: 1, Model: "m", Sort: run.SortName, Cursor: page.Next},
			"of another order":  {Limit: 1, Model: "m", Sort: run.SortCreated, Cursor: page.Next},
			"no base64":         {Cursor: "!"},
			"no JSON":           {Cursor: "AAAA"},
			"empty JSON":        {Cursor: "e30"},
		} {
			if _, err := s.List(t.Context(), q); !errors.Is(err, run.ErrBadCursor) {
				t.Errorf("cursor %s: %v, want %v", name, err, run.ErrBadCursor)
			}
		}
		q := run.Query{Limit: 500, Model: "m", Cursor: page.Next} // another page size is fine
		if page, err := s.List(t.Context(), q); err != nil || len(page.Runs) != 1 || page.Total != 2 {
			t.Errorf("next page = %+v, %v; want 1 run of 2", page, err)
		}
		for _, q := range []run.Query{{Limit: -1}, {Limit: 501}, {Sort: "color"}} {
			if _, err := s.List(t.Context(), q); err == nil {
				t.Errorf("List(%+v) succeeded", q)
			}
		}
	})
}

func TestContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		put(t, s, newRun(1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, getErr := s.Get(ctx, id(1))
		_, listErr := s.List(ctx, run.Query{})
		for name, err := range map[string]error{
			"Put": s.Put(ctx, newRun(2)), "Get": getErr, "List": listErr, "Ping": s.Ping(ctx),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context = %v, want %v", name, err, context.Canceled)
			}
		}
		if _, err := s.Get(t.Context(), id(2)); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Get of a run whose Put failed = %v, want %v", err, run.ErrNotFound)
		}
	})
}

// Many goroutines change and list runs; each sees its own last change.
func TestConcurrent(t *testing.T) {
	eachStore(t, func(t *testing.T, s run.Store) {
		const workers, changes = 8, 10
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := range changes {
					r := newRun(w)
					r.Revision = int64(i)
					if err := s.Put(t.Context(), r); err != nil {
						t.Errorf("Put: %v", err)
					}
					got, err := s.Get(t.Context(), r.ID)
					if err != nil || got.Revision != r.Revision {
						t.Errorf("Get after Put = %+v, %v; want revision %d", got, err, i)
					}
					page, err := s.List(t.Context(), run.Query{Labels: []run.LabelFilter{{Name: "n", Value: fmt.Sprint(w)}}})
					if err != nil || page.Total != 1 {
						t.Errorf("List = %d, %v; want 1 run", page.Total, err)
					}
				}
			})
		}
		all.Wait()
	})
}

func BenchmarkPut(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := 0
	for b.Loop() {
		n++
		if err := s.Put(b.Context(), newRun(n%1000)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	const all = 10_000
	s, err := Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for n := range all {
		if err := s.Put(b.Context(), newRun(n)); err != nil {
			b.Fatal(err)
		}
	}
	for _, sort := range []run.Sort{run.SortDefault, "time_to_first_token_p99_ms"} {
		b.Run("sort="+string(sort), func(b *testing.B) {
			for b.Loop() {
				page, err := s.List(b.Context(), run.Query{Sort: sort, Descending: true, TopLevel: true})
				if err != nil || page.Total != all {
					b.Fatal(page.Total, err)
				}
			}
		})
	}
}
