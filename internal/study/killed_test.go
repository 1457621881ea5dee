package study

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// killedStore keeps nothing from the first change on that has its mark, as if the process
// had been killed behind it.
type killedStore struct {
	run.Store
	last   func(*run.Run) bool
	killed atomic.Bool
}

func (s *killedStore) Put(ctx context.Context, r *run.Run) error {
	if s.killed.Load() {
		return nil
	}
	err := s.Store.Put(ctx, r)
	if s.last(r) {
		s.killed.Store(true)
	}
	return err
}

func (s *killedStore) Delete(ctx context.Context, id string) error {
	if s.killed.Load() {
		return nil
	}
	return s.Store.Delete(ctx, id)
}

// TestResumeCancelled: a study whose cancel was answered sends nothing more, wherever the
// process is killed after the answer: not if it was running, nor if it waited.
func TestResumeCancelled(t *testing.T) {
	const blocks = "sweep: {type: grid, parameters: {concurrency: [1, 2, 3]}}"
	for name, c := range map[string]struct {
		waits bool // behind another study
		after time.Duration
		want  string
	}{
		"first cell":  {false, time.Second, "cancelled enough 0 of 3, results true"},
		"second cell": {false, 15 * time.Second, "cancelled enough 1 of 3, results true"},
		"queued":      {true, time.Second, "cancelled cancelled while queued 0 of 3, results false"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t)
				whole := r.Store
				killed := &killedStore{Store: whole, last: func(r *run.Run) bool { return r.Study != nil && r.Cancelled != nil }}
				r.Store = killed
				s, stop := begin(t, r)
				if c.waits {
					submit(t, s, blocks)
				}
				parent := submit(t, s, blocks)
				time.Sleep(c.after)
				if _, changed, err := s.Cancel(t.Context(), parent.ID, run.CancelRequest{Reason: "enough"}); err != nil || !changed {
					t.Fatalf("cancel: changed %v, %v", changed, err)
				}
				if !killed.killed.Load() {
					t.Error("the cancel was answered before it was stored")
				}
				stop()
				time.Sleep(length)

				next := newRunner(t)
				next.Store, next.next = whole, 100
				s, stop = begin(t, next)
				defer stop()
				end := wait(t, s, parent.ID)
				_, err := os.Stat(filepath.Join(whole.Dir(parent.ID), "sweep_aggregate", "profile_export_aiperf_sweep.json"))
				got := fmt.Sprint(end.State, " ", end.StateReason, " ", end.Study.Done, " of ", end.Study.Total, ", results ", err == nil)
				if got != c.want {
					t.Errorf("study: %s, want %s", got, c.want)
				}
				if cells, err := cellsOf(t.Context(), next, parent.ID); err != nil || len(cells) > 2 {
					t.Errorf("%d cells, %v", len(cells), err)
				}
				for _, id := range next.submitted(t, parent.ID) {
					t.Errorf("cell %s was submitted after the cancel", id)
				}
				time.Sleep(10 * length) // the other study, and the runner of this test
			})
		})
	}
}

// submitted returns the cells of a study that this runner has queued.
func (r *runner) submitted(t *testing.T, parent string) (out []string) {
	t.Helper()
	cells, err := cellsOf(t.Context(), r, parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if c.ID > fmt.Sprintf("%032x", 100) {
			out = append(out, c.ID)
		}
	}
	return out
}

// TestSubmitKilled: a study that is found has its document, so that it goes on wherever the
// process was killed during the submit.
func TestSubmitKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		whole := r.Store
		planned := false
		r.Store = &killedStore{Store: whole, last: func(r *run.Run) bool {
			if r.Study == nil {
				return false
			}
			_, err := Stored(whole.Dir(r.ID))
			planned = err == nil
			return true
		}}
		s, stop := begin(t, r)
		parent := submit(t, s, "multiRun: {numRuns: 2}")
		if !planned {
			t.Error("the study was stored before its document")
		}
		stop()
		time.Sleep(length)
		next := newRunner(t)
		next.Store, next.next = whole, 100
		s, stop = begin(t, next)
		defer stop()
		if end := wait(t, s, parent.ID); end.State != bench.StateCompleted {
			t.Errorf("study: %s %s", end.State, end.StateReason)
		}
	})
}
