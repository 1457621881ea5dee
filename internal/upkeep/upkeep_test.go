package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// bed is an upkeep of a real store.
type bed struct {
	*Upkeep
	store *store.Store
	free  int64
	bad   atomic.Pointer[error] // of deletions
}

// Delete deletes a run and, if it is a study, its cells.
func (b *bed) Delete(ctx context.Context, id string, _ bool) error {
	if bad := b.bad.Load(); bad != nil {
		return *bad
	}
	cells, err := b.store.List(ctx, run.Query{Parent: id})
	if err != nil {
		return err
	}
	for i := range cells.Runs {
		if err := b.store.Delete(ctx, cells.Runs[i].ID); err != nil {
			return err
		}
	}
	return b.store.Delete(ctx, id)
}

func (b *bed) List(ctx context.Context, q run.Query) (run.Page, error) { return b.store.List(ctx, q) }
func (b *bed) Dir(id string) string                                    { return b.store.Dir(id) }
func (b *bed) Free() (int64, error)                                    { return b.free, nil }

func newBed(t *testing.T, rules Rules) *bed {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{store: s, free: 5000}
	if b.Upkeep, err = New(Options{Rules: rules, Runs: b, Disk: b, Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	return b
}

func id(n int) string { return fmt.Sprintf("%032x", n) }

// put stores a run that ended n minutes ago, with a file.
func (b *bed) put(t *testing.T, n, bytes int, change func(*run.Run)) {
	t.Helper()
	ended := time.Now().Add(-time.Duration(n) * time.Minute)
	r := &run.Run{ID: id(n), State: bench.StateCompleted, CreatedAt: ended, StartedAt: &ended, EndedAt: &ended}
	if change != nil {
		change(r)
	}
	if err := b.store.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.store.Dir(r.ID), "records"), make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// left returns the numbers of the runs that are there.
func (b *bed) left(t *testing.T) []int {
	t.Helper()
	page, err := b.store.List(t.Context(), run.Query{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, r := range page.Runs {
		var n int
		if _, err := fmt.Sscanf(r.ID, "%x", &n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// Each rule deletes the oldest runs that it does not keep: not those that have not ended,
// not pinned ones, and studies as a whole.
func TestRules(t *testing.T) {
	for name, test := range map[string]struct {
		rules Rules
		want  []int
	}{
		"none":           {Rules{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"runs":           {Rules{MaxRuns: 2}, []int{1, 2, 5, 8, 9}},
		"runs, with all": {Rules{MaxRuns: 5}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"study is next":  {Rules{MaxRuns: 3}, []int{1, 2, 3, 4, 5, 6, 8, 9}},
		"age":            {Rules{MaxAge: 150 * time.Second}, []int{1, 2, 5, 8, 9}},
		"bytes":          {Rules{MaxBytes: 250 << 10}, []int{1, 2, 5, 8, 9}},
		"bytes, more":    {Rules{MaxBytes: 550 << 10}, []int{1, 2, 3, 4, 5, 6, 8, 9}},
		"all":            {Rules{MaxRuns: 1000, MaxAge: time.Hour, MaxBytes: 150 << 10}, []int{1, 5, 8, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, test.rules)
			const size = 100 << 10
			b.put(t, 1, size, nil)
			b.put(t, 2, size, nil)
			b.put(t, 3, size, func(r *run.Run) { r.Study = &run.Study{} })
			b.put(t, 4, size, func(r *run.Run) { r.Cell = &run.Cell{ParentID: id(3)} })
			b.put(t, 5, size, func(r *run.Run) { r.Pinned = true })
			b.put(t, 6, size, func(r *run.Run) { r.Cell = &run.Cell{ParentID: id(3)} })
			b.put(t, 7, size, nil)
			b.put(t, 8, size, func(r *run.Run) { r.State, r.EndedAt = bench.StateRunning, nil })
			b.put(t, 9, size, func(r *run.Run) { r.State, r.StartedAt, r.EndedAt = bench.StateQueued, nil, nil })
			for range 2 {
				if err := b.apply(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, b.left(t)); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Runs are deleted when their own time has passed, unless they are pinned; a study with its
// cells.
func TestExpiry(t *testing.T) {
	b := newBed(t, Rules{})
	ttl := func(d time.Duration) func(*run.Run) { return func(r *run.Run) { r.TTL = d } }
	b.put(t, 5, 1, ttl(4*time.Minute))
	b.put(t, 6, 1, ttl(7*time.Minute))
	b.put(t, 7, 1, func(r *run.Run) { r.TTL, r.Pinned = time.Second, true })
	b.put(t, 8, 1, func(r *run.Run) { r.TTL, r.State, r.EndedAt = time.Second, bench.StateRunning, nil })
	b.put(t, 9, 1, func(r *run.Run) { r.TTL, r.Study = time.Second, &run.Study{} })
	b.put(t, 10, 1, func(r *run.Run) { r.Cell = &run.Cell{ParentID: id(9)} })
	b.put(t, 11, 1, ttl(1<<63-1))
	if err := b.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{6, 7, 8, 11}, b.left(t)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	b.put(t, 7, 1, ttl(time.Second)) // unpinned
	if err := b.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{6, 8, 11}, b.left(t)); diff != "" {
		t.Errorf("runs after the unpinning (-want +got):\n%s", diff)
	}
}

// More runs than one page are deleted at once.
func TestManyRuns(t *testing.T) {
	b := newBed(t, Rules{MaxRuns: 5})
	for n := range 2*pageSize + 30 {
		b.put(t, n+1, 1, nil)
	}
	if err := b.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, b.left(t)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// As many old runs as may be deleted at once are no reason for a warning.
func TestOldRunsWithinLimit(t *testing.T) {
	b := newBed(t, Rules{MaxAge: time.Hour})
	var log bytes.Buffer
	b.Log = zerolog.New(&log)
	for n := range agedAtOnce {
		b.put(t, 100+n, 1, nil)
	}
	b.put(t, 1, 1, nil)
	if err := b.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(b.left(t)); got != 1 || strings.Contains(log.String(), "slowly") {
		t.Errorf("%d runs are left, want 1; the log has %q", got, &log)
	}
}

// A clock that jumps does not delete everything at once, and the log says why runs are
// deleted slowly, once.
func TestClockJump(t *testing.T) {
	for name, rules := range map[string]Rules{"age": {MaxAge: time.Hour}, "own time": {}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, rules)
			var log bytes.Buffer
			b.Log = zerolog.New(&log)
			for n := range 3*agedAtOnce - 5 {
				b.put(t, 60*24*3650+n, 1, func(r *run.Run) {
					if rules.MaxAge == 0 {
						r.TTL = time.Hour
					}
				})
			}
			b.put(t, 1, 1, nil)
			for i, want := range []int{2*agedAtOnce - 4, agedAtOnce - 4, 1} {
				if err := b.apply(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := len(b.left(t)); got != want {
					t.Errorf("%d runs after %d minutes, want %d", got, i, want)
				}
			}
			if n := strings.Count(log.String(), "in case the system clock is wrong"); n != 1 {
				t.Errorf("%d warnings, want 1:\n%s", n, &log)
			}
		})
	}
}

// The rules are applied every minute. An error does not end that.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Rules{MaxRuns: 1})
		b.put(t, 1, 1, nil)
		b.put(t, 2, 1, nil)
		b.bad.Store(new(errors.New("disk on fire")))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			b.Run(ctx)
			close(ended)
		}()
		time.Sleep(150 * time.Second)
		if got := b.failed.Load(); got != 3 {
			t.Errorf("%d failures in 150 s, want 3", got)
		}
		b.bad.Store(nil)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]int{1}, b.left(t)); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		// A run that cannot be deleted now is tried again later, not at once.
		b.bad.Store(&run.ErrPinned)
		b.put(t, 3, 1, nil)
		time.Sleep(time.Minute)
		cancel()
		<-ended
	})
}

func TestAdmit(t *testing.T) {
	b := newBed(t, Rules{MinFree: 6000})
	if err := b.Admit(); !errors.Is(err, run.ErrDiskFull) || !strings.Contains(err.Error(), "5000 bytes are free, --min-free-disk is 6000") {
		t.Errorf("Admit = %v, want %v with the numbers", err, run.ErrDiskFull)
	}
	b.free = 6000
	if err := b.Admit(); err != nil {
		t.Errorf("Admit = %v", err)
	}
	b = newBed(t, Rules{})
	b.free = 0
	if err := b.Admit(); err != nil {
		t.Errorf("Admit without a rule = %v", err)
	}
}

func TestMetrics(t *testing.T) {
	b := newBed(t, Rules{MaxRuns: 1, MinFree: 70})
	b.put(t, 1, 1, nil)
	b.put(t, 2, 1, nil)
	if err := b.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.Upkeep)
	want := `# HELP aiperfd_disk_free_bytes Free space on the disk of the data directory; absent if it cannot be read.
# TYPE aiperfd_disk_free_bytes gauge
aiperfd_disk_free_bytes 5000
# HELP aiperfd_disk_min_free_bytes Free space below which new runs are refused.
# TYPE aiperfd_disk_min_free_bytes gauge
aiperfd_disk_min_free_bytes 70
# HELP aiperfd_disk_reserve_bytes Free space below which runs stop recording; absent without a minimum of free space.
# TYPE aiperfd_disk_reserve_bytes gauge
aiperfd_disk_reserve_bytes 7
# HELP aiperfd_retention_deleted_runs_total Runs and studies deleted by the rules of retention.
# TYPE aiperfd_retention_deleted_runs_total counter
aiperfd_retention_deleted_runs_total 1
# HELP aiperfd_retention_errors_total Attempts to apply the rules of retention that failed.
# TYPE aiperfd_retention_errors_total counter
aiperfd_retention_errors_total 0
`
	if err := testutil.GatherAndCompare(registry, bytes.NewBufferString(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}
