package study

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// twoTrials is a study that takes twenty seconds.
const twoTrials = "multiRun: {numRuns: 2}\n"

// startOrder returns studies in the order in which they started.
func startOrder(t *testing.T, s *Service, ids ...string) []string {
	t.Helper()
	started := map[string]time.Time{}
	for _, id := range ids {
		r := wait(t, s, id)
		if r.State != bench.StateCompleted {
			t.Errorf("study %s is %s: %s", id, r.State, r.StateReason)
		}
		started[id] = *r.StartedAt
	}
	slices.SortFunc(ids, func(a, b string) int { return started[a].Compare(started[b]) })
	return ids
}

// Studies start by priority and submission, also if it changes, after a pause and after a
// restart; one that waits for its time does not delay the others.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		s, stop := begin(t, r)
		at := time.Now().Add(time.Hour).UTC()
		first := submit(t, s, twoTrials).ID
		synctest.Wait()
		later := submit(t, s, "metadata: {priority: 100, startAfter: '"+at.Format(time.RFC3339)+"'}\n"+twoTrials).ID
		low := submit(t, s, "metadata: {priority: -1}\n"+twoTrials).ID
		normal := submit(t, s, twoTrials).ID
		high := submit(t, s, "metadata: {priority: 5}\n"+twoTrials).ID
		raised := submit(t, s, twoTrials).ID
		if _, err := s.Update(t.Context(), raised, func(r *run.Run) error { r.Priority = 6; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.Pause(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		wait(t, s, first) // active when the pause began
		time.Sleep(time.Minute)
		stop()
		s, stop = begin(t, r)
		defer func() { stop() }()
		time.Sleep(time.Minute)
		for _, id := range []string{low, normal, high, raised, later} {
			if q, err := s.Get(t.Context(), id); err != nil || q.State != bench.StateQueued {
				t.Errorf("study %s of a paused queue is %s, %v", id, q.State, err)
			}
		}
		if err := s.Pause(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		want := []string{raised, high, normal, low, later}
		if got := startOrder(t, s, low, normal, high, raised, later); !slices.Equal(got, want) {
			t.Errorf("order of starts %v, want %v", got, want)
		}
		if late := wait(t, s, later).StartedAt.Sub(at.Truncate(time.Second)); late < 0 || late > time.Second {
			t.Errorf("started %v after its time", late)
		}
	})
}

// The deadline of a study counts for all its cells together.
func TestStudyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := begin(t, newRunner(t))
		defer stop()
		id := submit(t, s, "metadata: {deadline: 25}\nmultiRun: {numRuns: 9}\n").ID
		in := submit(t, s, "metadata: {deadline: 25}\n"+twoTrials).ID
		end := wait(t, s, id)
		if end.State != bench.StateFailed || end.Error == nil || end.Error.Code != run.DeadlinePassed {
			t.Errorf("%s, %+v; want failed by the deadline", end.State, end.Error)
		}
		if took := end.EndedAt.Sub(*end.StartedAt); took < 25*time.Second || took > 26*time.Second {
			t.Errorf("it took %v", took)
		}
		if next := wait(t, s, in); next.State != bench.StateCompleted {
			t.Errorf("the study behind it is %s: %v", next.State, next.Error)
		}
	})
}

// A study starts when its first run does, which may wait for others, and its deadline counts from then. One whose runs
// never started has no start.
func TestStudyStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		r.idle = time.Minute
		s, stop := begin(t, r)
		defer stop()
		queued := time.Now()
		id := submit(t, s, "metadata: {deadline: 85}\n"+twoTrials).ID
		time.Sleep(59 * time.Second)
		if q, err := s.Get(t.Context(), id); err != nil || q.State != bench.StateRunning || q.StartedAt != nil {
			t.Errorf("before its first run has started it is %s, started at %v, %v", q.State, q.StartedAt, err)
		}
		time.Sleep(2 * time.Second)
		if q, err := s.Get(t.Context(), id); err != nil || q.StartedAt == nil || q.StartedAt.Sub(queued) != time.Minute {
			t.Errorf("started at %v, %v; want a minute after %v", q.StartedAt, err, queued)
		}
		// Two runs of ten seconds, and the minute for which the second one waits.
		if end := wait(t, s, id); end.State != bench.StateCompleted || end.StartedAt.Sub(queued) != time.Minute {
			t.Errorf("%s: %v, started at %v; want completed within its deadline", end.State, end.Error, end.StartedAt)
		}
		gone := submit(t, s, twoTrials).ID
		time.Sleep(time.Second)
		if _, _, err := s.Cancel(t.Context(), gone, run.CancelRequest{}); err != nil {
			t.Fatal(err)
		}
		if end := wait(t, s, gone); end.State != bench.StateCancelled || end.StartedAt != nil {
			t.Errorf("%s, started at %v; want cancelled before it started", end.State, end.StartedAt)
		}
		time.Sleep(r.idle + length) // the runner ends
	})
}

// An update reaches queued, active and ended studies, and changes nothing if it fails.
func TestUpdateStudy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		s, stop := begin(t, r)
		defer stop()
		active, queued := submit(t, s, twoTrials).ID, submit(t, s, twoTrials).ID
		synctest.Wait()
		refused := errors.New("refused")
		rename := func(id, name string) {
			t.Helper()
			_, err := s.Update(t.Context(), id, func(r *run.Run) error { r.Name = "x"; return refused })
			if !errors.Is(err, refused) {
				t.Errorf("Update = %v, want %v", err, refused)
			}
			changed, err := s.Update(t.Context(), id, func(r *run.Run) error { r.Name = name; return nil })
			if err != nil {
				t.Fatal(err)
			}
			stored, err := r.Get(context.Background(), id)
			if err != nil || stored.Name != name || stored.Revision != changed.Revision {
				t.Errorf("the store has %q with revision %d, %v; want %q with %d", stored.Name, stored.Revision, err, name, changed.Revision)
			}
		}
		rename(active, "a")
		rename(queued, "b")
		if end := wait(t, s, active); end.Name != "a" || end.State != bench.StateCompleted {
			t.Errorf("at the end: %q, %s", end.Name, end.State)
		}
		rename(active, "c")
		if end := wait(t, s, queued); end.Name != "b" {
			t.Errorf("at the end: %q", end.Name)
		}
	})
}
