package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// threePhases are phases that follow one another without a gap.
const threePhases = `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: true, useServerTokenCount: true}
` + fileData + `
  phases:
    - {name: even, kind: profiling, type: constant, rate: 10, requests: 10}
    - {name: random, kind: profiling, type: poisson, rate: 20, requests: 10, seamless: true}
    - {name: loop, kind: profiling, type: concurrency, concurrency: 4, requests: 8, seamless: true}
`

// A seamless phase starts when the one before has sent everything. Answers that are still
// missing belong to their own phase, and their slots are not free meanwhile.
func TestSeamlessPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.run(threePhases)
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if r.State != bench.StateCompleted || err != nil {
			t.Fatalf("%s: %v; %v", r.State, r.Error, err)
		}
		for i, n := range []int64{10, 10, 8} {
			st := &snap.Phases[i].Stats
			if st.Index != i || st.Sent != n || st.Completed != n || st.Records.Success != n || st.End != bench.PhaseCompleted {
				t.Errorf("phase %d: %+v", i, st)
			}
			if m := snap.Phases[i].Metrics.Find("request_count"); m == nil {
				t.Errorf("phase %d has no metrics", i)
			}
			if st.RequestsEnd <= st.SentEnd {
				t.Errorf("phase %s has sent until %v and waited until %v", st.Name, st.SentEnd, st.RequestsEnd)
			}
			if i == 0 {
				continue
			}
			if before := &snap.Phases[i-1].Stats; st.Start != before.SentEnd || st.Start >= before.RequestsEnd {
				t.Errorf("phase %s started at %v; %s had sent everything at %v and ended at %v", st.Name, st.Start, before.Name, before.SentEnd, before.RequestsEnd)
			}
		}
		lines := b.records(r.ID)
		count := map[string]int{}
		for i := range lines {
			m := &lines[i].Metadata
			count[m.Phase]++
			if m.Phase != "loop" {
				continue
			}
			alive := 0
			for j := range lines {
				if o := &lines[j].Metadata; o.StartNs <= m.StartNs && o.EndNs > m.StartNs {
					alive++
				}
			}
			if alive > 4 {
				t.Errorf("%d requests in flight when one of the loop starts, want at most its concurrency, 4", alive)
			}
		}
		if count["even"] != 10 || count["random"] != 10 || count["loop"] != 8 {
			t.Errorf("records %v", count)
		}
		first, last := snap.Phases[0].Stats.Start, snap.Phases[2].Stats.RequestsEnd
		if got, want := b.value(r.ID, "request_throughput", "avg"), 28/(last-first).Seconds(); got < want*0.999 || got > want*1.001 {
			t.Errorf("throughput %v, want that of all phases over their common window, %v", got, want)
		}
		b.stop()
	})
}

// While two phases are performed, snapshots show both.
func TestSeamlessProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		id := b.submit(threePhases)
		time.Sleep(1300 * time.Millisecond)
		snap, err := b.engine.Snapshot(t.Context(), id)
		if err != nil || len(snap.Phases) != 2 {
			t.Fatalf("%d phases, want 2; %v", len(snap.Phases), err)
		}
		even, random := &snap.Phases[0].Stats, &snap.Phases[1].Stats
		if even.InFlight() == 0 || random.InFlight() == 0 || even.End != "" || even.SentEnd == 0 || random.SentEnd != 0 {
			t.Errorf("even %+v\nrandom %+v", even, random)
		}
		b.wait(id)
		b.stop()
	})
}

// A cancel stops all phases that are performed, and none begins afterwards.
func TestSeamlessCancel(t *testing.T) {
	for _, force := range []bool{false, true} {
		t.Run(fmt.Sprintf("force %t", force), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, time.Second, 0), nil)
				id := b.submit(threePhases)
				time.Sleep(1200 * time.Millisecond)
				if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{Force: force}); err != nil {
					t.Fatal(err)
				}
				r := b.wait(id)
				snap, err := b.engine.Snapshot(t.Context(), id)
				if err != nil || r.State != bench.StateCancelled || len(snap.Phases) != 2 {
					t.Fatalf("%s with %d phases, want cancelled with 2; %v", r.State, len(snap.Phases), err)
				}
				for i := range snap.Phases {
					st := &snap.Phases[i].Stats
					if st.End != bench.PhaseCancelled || st.InFlight() != 0 || force != (st.Cancelled > 0) || st.Returned() != st.Sent {
						t.Errorf("%+v", st)
					}
				}
				b.stop()
			})
		})
	}
}

// The phases of users and of a closed loop draw from one dataset in its order, also if the
// one takes over from the other while conversations go on.
func TestSeamlessDataset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.run(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: synthetic, isl: 5, osl: 2, turns: 2}
  tokenizer: {name: builtin}
  phases:
    - {name: loop, kind: profiling, type: concurrency, concurrency: 3, sessions: 5}
    - {name: users, kind: profiling, type: user_centric, users: 2, rate: 2, sessions: 4, seamless: true}
    - {name: even, kind: profiling, type: constant, sessionRate: 5, duration: 2, seamless: true}
`)
		if r.State != bench.StateCompleted {
			t.Fatalf("%s: %v", r.State, r.Error)
		}
		seen := map[int64]string{}
		lines := b.records(r.ID)
		for i := range lines {
			m := &lines[i].Metadata
			if other, ok := seen[m.SessionNum]; ok && other != m.Phase {
				t.Errorf("session %d in %s and %s", m.SessionNum, other, m.Phase)
			}
			seen[m.SessionNum] = m.Phase
		}
		var order []int64
		for num := range seen {
			order = append(order, num)
		}
		slices.Sort(order)
		var phases []string
		for i, num := range order {
			if int64(i) != num {
				t.Fatalf("sessions %v: one is missing", order)
			}
			if n := len(phases); n == 0 || phases[n-1] != seen[num] {
				phases = append(phases, seen[num])
			}
		}
		if got := strings.Join(phases, " "); got != "loop users even" {
			t.Errorf("sessions of %s, want those of one phase after the other", got)
		}
		b.stop()
	})
}
