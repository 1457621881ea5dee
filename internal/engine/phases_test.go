package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
)

// Phases of every kind follow one another, warm-ups with the type that they have, and each
// has its own requests and results.
func TestFivePhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
		r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: synthetic, isl: 5, osl: 2, turns: 3, turnDelay: 1000}
  tokenizer: {name: builtin}
  phases:
    - {name: fill, kind: warmup, type: user_centric, users: 2, rate: 4, sessions: 3}
    - {name: fast, kind: warmup, type: constant, rate: 10, requests: 5}
    - {name: users, kind: profiling, type: user_centric, users: 4, rate: 8, duration: 4.95}
    - {name: between, kind: warmup, type: concurrency, concurrency: 3, requests: 3}
    - {name: sessions, kind: profiling, type: constant, sessionRate: 2, sessions: 4}
`)
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if r.State != bench.StateCompleted || err != nil {
			t.Fatalf("%s: %v; %v", r.State, r.Error, err)
		}
		var got []string
		for i := range snap.Phases {
			st := &snap.Phases[i].Stats
			got = append(got, fmt.Sprintf("%s %s %d: %d sent in %d sessions, %d skipped, at most %d at a time, %s", st.Name, st.Kind, st.ProfilingIndex, st.Sent,
				st.SentSessions, st.SkippedTurns, st.Arrivals.LiveMax, st.End))
		}
		want := []string{
			"fill warmup -1: 7 sent in 3 sessions, 0 skipped, at most 2 at a time, completed",
			"fast warmup -1: 5 sent in 5 sessions, 10 skipped, at most 5 at a time, completed",
			"users profiling 0: 40 sent in 16 sessions, 3 skipped, at most 4 at a time, completed",
			"between warmup -1: 3 sent in 3 sessions, 6 skipped, at most 0 at a time, completed",
			"sessions profiling 1: 12 sent in 4 sessions, 0 skipped, at most 4 at a time, completed",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if n := b.value(r.ID, "request_count", "avg"); n != 52 {
			t.Errorf("%v requests in the result, want those of the profiling phases, 52", n)
		}
		b.stop()
	})
}

// More arrivals than may wait end a run; what was measured is kept.
func TestSaturationAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.run(document("type: constant, rate: 10, concurrency: 2, saturation: abort, saturationLimit: 5, duration: 60", fileData))
		const want = "stopped after 800 ms: more than 5 arrivals waited for a slot (saturation abort): 8 were due and 2 were sent, with a concurrency of 2"
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != "saturated" || r.Error.Message != want {
			t.Fatalf("%s, %+v\nwant %s", r.State, r.Error, want)
		}
		if n := b.value(r.ID, "request_count", "avg"); n != 2 {
			t.Errorf("%v requests in the result, want 2", n)
		}
		b.stop()
	})
}
