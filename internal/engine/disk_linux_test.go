package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/mock"
)

// leave fills a disk until n bytes are free.
func leave(t *testing.T, dir string, n int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, max(0, int64(s.Bavail)*s.Bsize-n))); err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// A run whose disk fills measures to its end. Its record files stop early enough for the
// results, end at a complete line, and are said to be incomplete.
func TestDiskFills(t *testing.T) {
	for name, test := range map[string]struct {
		left  int64 // bytes of the disk, after a third of the run
		state bench.State
	}{
		"nearly":     {600 << 10, bench.StateCompleted},
		"completely": {0, bench.StateFailed}, // the results cannot be written
	} {
		t.Run(name, func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
				t.Skipf("mount tmpfs: %v; this test needs a process that may mount", err)
			}
			defer unix.Unmount(disk, unix.MNT_DETACH)
			synctest.Test(t, func(t *testing.T) {
				b := newBedWith(t, mock.Options{TTFT: mock.ConstDelay(50 * time.Millisecond), ITL: mock.ConstDelay(time.Millisecond)}, nil,
					func(o *engine.Options) {
						o.DiskReserve = 1 << 20
						o.Monitor = monitor.Options{Ticker: monitor.NewTimer, Host: still{}}
					})
				b.store.dir = disk
				id := b.submit(`
randomSeed: 1
benchmark:
  model: m
  endpoint: {url: http://mock, type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 11}]}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 500}]
`)
				time.Sleep(10 * time.Second)
				leave(t, disk, test.left)
				time.Sleep(5 * time.Second)
				if r, err := b.engine.Get(t.Context(), id); err != nil || !strings.Contains(r.StateReason, "disk is nearly full") {
					t.Errorf("state reason on a full disk = %q, %v", r.StateReason, err)
				}
				r := b.wait(id)
				if r.State != test.state || r.Summary.Requests != 500 {
					t.Fatalf("run = %s (%s) with %d requests, want %s with 500", r.State, r.StateReason, r.Summary.Requests, test.state)
				}
				var warned bool
				for _, w := range r.Warnings {
					warned = warned || w.Code == "disk-full" && strings.Contains(w.Detail, "profile_export.jsonl lacks the last")
				}
				if !warned {
					t.Errorf("warnings = %v, want disk-full", r.Warnings)
				}
				data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").Records))
				lines := strings.Count(string(data), "\n")
				// 166 requests end in 10 s, and those of the last second may not be written yet.
				if err != nil || lines < 145 || lines > 300 || !strings.HasSuffix(string(data), "}\n") {
					t.Errorf("%d records, %v; want those of the first part, complete", lines, err)
				}
				if test.state != bench.StateCompleted {
					return
				}
				marker, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.ReadyMarker))
				if err != nil || !strings.Contains(string(marker), `"partial":true,"failed_exporters":["profile_export.jsonl"]`) {
					t.Errorf("marker = %s, %v; want that the records are incomplete", marker, err)
				}
			})
		})
	}
}

// TestRecoverFullDisk: a run that was interrupted stays while the disk is too full for its
// results, however often that is tried, and the queue waits for it. It has its results when
// there is space.
func TestRecoverFullDisk(t *testing.T) {
	for name, free := range map[string]int64{"completely": 0, "nearly": 12 << 10} {
		t.Run(name, func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
				t.Skipf("mount tmpfs: %v; this test needs a process that may mount", err)
			}
			defer unix.Unmount(disk, unix.MNT_DETACH)
			recoverFullDisk(t, disk, free)
		})
	}
}

func recoverFullDisk(t *testing.T, disk string, free int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem, left := crashed(t)
		if err := os.CopyFS(disk, os.DirFS(mem.dir)); err != nil {
			t.Fatal(err)
		}
		mem.dir = disk
		queued := *left
		queued.ID, queued.State, queued.StartedAt = strings.Repeat("f", 32), bench.StateQueued, nil
		if err := mem.Put(t.Context(), &queued); err != nil {
			t.Fatal(err)
		}
		leave(t, disk, free)
		e, end := start(t, engine.Options{Store: mem})
		time.Sleep(span(time.Hour))
		r, err := e.Get(t.Context(), left.ID)
		if err != nil || r.State != bench.StateExporting || !strings.Contains(r.StateReason, "the disk is full") {
			t.Errorf("on the full disk the run is %s (%s), %v", r.State, r.StateReason, err)
		}
		if r, err := e.Get(t.Context(), queued.ID); err != nil || r.State != bench.StateQueued {
			t.Errorf("the queued run is %s, %v", r.State, err)
		}
		end() // which changes nothing
		e, _ = start(t, engine.Options{Store: mem})
		time.Sleep(time.Minute)
		if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
			t.Fatal(err)
		}
		r, err = e.Wait(t.Context(), left.ID)
		if err != nil || r.State != bench.StateFailed || r.Summary == nil || r.Summary.Requests != 7 ||
			slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "no-partial-results" }) {
			t.Errorf("with space the run is %s, summary %+v, warnings %+v, %v; want 7 requests", r.State, r.Summary, r.Warnings, err)
		}
		if r, err := e.Wait(t.Context(), queued.ID); err != nil || r.StartedAt == nil {
			t.Errorf("the queued run is %s, %v; want it performed", r.State, err)
		}
	})
}
