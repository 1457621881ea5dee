package load

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// cancelled performs sessions of two turns in a number of slots and returns the first
// turns and the second turns that were cancelled, and the counters of the phase.
func cancelled(t *testing.T, sessions, slots int, share float64) (set map[string]bool, stats bench.PhaseStats) {
	sc := scenario{phase: spec.Phase{
		Concurrency: slots, Sessions: int64(sessions), Grace: -1,
		Cancellation: &spec.Cancellation{Share: share, After: 300 * time.Millisecond},
	}}
	for i := range sessions {
		id := fmt.Sprintf("c%d", i)
		sc.data = append(sc.data, talk(id, said(id+" a"), said(id+" b")))
	}
	set = map[string]bool{}
	for _, r := range sc.run(t.Context()) {
		took := r.ended - r.at
		switch f := r.record.Answer.Failure; {
		case f == nil && took == time.Second:
		case f != nil && f.Class == bench.CancelledByTest && took == 300*time.Millisecond:
			set[fmt.Sprintf("%s/%d", r.record.ConversationID, r.record.Turn)] = true
		default:
			t.Fatalf("%v took %v: %v", r, took, f)
		}
	}
	return set, sc.loaded.Stats(0)
}

// Which requests are cancelled does not depend on when they are sent; they are neither
// completed nor cut, and end their session.
func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, share = 2000, 0.3
		one, _ := cancelled(t, n, 1, share)
		many, stats := cancelled(t, n, 64, share)
		if diff := cmp.Diff(one, many); diff != "" {
			t.Errorf("other requests with 64 slots than with 1:\n%s", diff)
		}
		first, second := 0, 0
		for i := range n {
			switch {
			case many[fmt.Sprintf("c%d/0", i)]:
				first++
			case many[fmt.Sprintf("c%d/1", i)]:
				second++
			}
		}
		near := func(name string, got, of int) {
			if want, sigma := share*float64(of), math.Sqrt(share*(1-share)*float64(of)); math.Abs(float64(got)-want) > 3*sigma {
				t.Errorf("%s: %d of %d are cancelled, want %v ± %.0f", name, got, of, want, 3*sigma)
			}
		}
		near("first turns", first, n)
		near("second turns", second, n-first)
		want := bench.PhaseStats{
			Sent: int64(n + n - first), Completed: int64(n + n - first - len(many)), Interruptions: bench.Interruptions{CancelledByTest: int64(len(many))},
			SkippedTurns: int64(first), SentSessions: n, CompletedSessions: int64(n - first), CancelledSessions: int64(first),
		}
		got := bench.PhaseStats{
			Sent: stats.Sent, Completed: stats.Completed, Cancelled: stats.Cancelled, Interruptions: stats.Interruptions,
			SkippedTurns: stats.SkippedTurns, SentSessions: stats.SentSessions, CompletedSessions: stats.CompletedSessions, CancelledSessions: stats.CancelledSessions,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if stats.InFlight() != 0 {
			t.Errorf("%d in flight", stats.InFlight())
		}
	})
}

func TestNoCancellationWithoutATest(t *testing.T) {
	var none *spec.Cancellation
	if got := none.Of(&bench.Record{}, 0); got.On {
		t.Errorf("%+v", got)
	}
}
