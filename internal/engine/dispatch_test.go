package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tenTexts is a dataset of ten conversations of one turn.
func tenTexts() string {
	var rows []string
	for i := range 10 {
		rows = append(rows, fmt.Sprintf("{text: t%d, output_length: 1}", i))
	}
	return "  dataset: {type: file, format: single_turn, records: [" + strings.Join(rows, ", ") + "]}"
}

// Sessions are built ahead, but they are the same in the same order: one is
// neither lost at the end of a phase nor drawn twice when more are started at
// once than were built.
func TestPreparedSessionsKeepTheirOrder(t *testing.T) {
	tests := []struct {
		name, warmup, load string
		warm, measured     int
	}{
		{"a phase that ends by its duration leaves sessions to the next one",
			"type: concurrency, concurrency: 2, duration: 0.25", "type: concurrency, concurrency: 1, requests: 9", 6, 9},
		{"more start at once than are built ahead",
			"type: concurrency, concurrency: 100, requests: 150", "type: concurrency, concurrency: 200, requests: 200", 150, 200},
		{"in an open loop",
			"type: constant, rate: 100, requests: 70", "type: poisson, rate: 1000, requests: 300", 70, 300},
		{"in an open loop with a backlog",
			"type: constant, rate: 100, duration: 1.005, concurrency: 1", "type: constant, rate: 100, requests: 100, concurrency: 2", 10, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
				r := b.run(strings.Replace(document(tt.load, tenTexts()), "  phases:\n",
					"  phases:\n    - {name: warmup, kind: warmup, "+tt.warmup+"}\n", 1))
				lines := b.records(r.ID)
				if got, want := len(lines), tt.warm+tt.measured; got != want {
					t.Fatalf("%d requests, want %d", got, want)
				}
				seen := map[int64]bool{}
				first := ""
				for i, l := range lines {
					m := l.Metadata
					if seen[m.SessionNum] || m.SessionNum >= int64(len(lines)) {
						t.Errorf("session %d is there twice, or one before it was left out", m.SessionNum)
					}
					seen[m.SessionNum] = true
					if first == "" {
						first = m.ConversationID
					}
					if again := m.SessionNum%10 == 0; again != (m.ConversationID == first) {
						t.Errorf("session %d plays %s; sessions 0, 10, 20 … play %s", m.SessionNum, m.ConversationID, first)
					}
					if want := map[bool]string{true: "warmup", false: "profiling"}[i < tt.warm]; m.Phase != want {
						t.Errorf("request %d is in phase %s, want %s", i, m.Phase, want)
					}
				}
				b.stop()
			})
		})
	}
}

// Each later turn of a session takes its own arrival; the bound applies in the middle
// of sessions, and every permitted request is sent.
func TestOpenLoopConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
		r := b.run(document("type: constant, rate: 4, requests: 7",
			`  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 4, isl: 16, osl: 1, turns: 3}`))
		check(t, b.transcript(r.ID, "schedule_lag"), `
profiling s0.0 0s-100ms 0
profiling s0.1 250ms-350ms 0
profiling s0.2 500ms-600ms 0
profiling s1.0 750ms-850ms 0
profiling s1.1 1s-1.1s 0
profiling s1.2 1.25s-1.35s 0
profiling s2.0 1.5s-1.6s 0`)
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if st := snap.Phases[0].Stats; st.Sent != 7 || st.Completed != 7 || st.SkippedTurns != 2 || st.SentSessions != 3 {
			t.Errorf("phase = %+v", st)
		}
		b.stop()
	})
}

// With a slot for each of two sessions, what waits is due when it was, and goes
// out in that order, performed by the sessions that end.
func TestOpenLoopBacklogIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 300*time.Millisecond, 0), nil)
		r := b.run(document("type: constant, rate: 20, concurrency: 2, requests: 6", tenTexts()))
		check(t, b.transcript(r.ID, "schedule_lag", "corrected_request_latency"), `
profiling s0.0 0s-300ms 0 300
profiling s1.0 50ms-350ms 0 300
profiling s2.0 300ms-600ms 200 500
profiling s3.0 350ms-650ms 200 500
profiling s4.0 600ms-900ms 400 700
profiling s5.0 650ms-950ms 400 700`)
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if st := snap.Phases[0].Stats; st.BacklogMax != 4 || st.Backlog != 0 {
			t.Errorf("backlog = %d, at most %d; want 0 and 4", st.Backlog, st.BacklogMax)
		}
		b.stop()
	})
}
