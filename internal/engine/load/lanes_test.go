package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// recorded is a turn of a recorded session, with the pause before it.
func recorded(text string, at, api, pause time.Duration) bench.Turn {
	t := after(pause, text)
	t.Recorded = &bench.Recording{Start: at, End: at + api}
	return t
}

// traceA and traceB are the hand-made traces of the comparison with AIPerf 0.13. With critical,
// the pauses are those after the critical predecessor, otherwise AIPerf's.
func traceA(critical bool) *bench.Conversation {
	join := 600 * ms
	spawn := 200 * ms
	if !critical {
		join, spawn = 2*time.Second, 100*ms
	}
	sub := talk("A::sa:sub1", recorded("sub 0", 2700*ms, 400*ms, spawn), recorded("sub 1", 3400*ms, 500*ms, 300*ms))
	c := talk("A",
		recorded("main 0", 0, time.Second, 0), recorded("main 1", 1500*ms, time.Second, 500*ms),
		recorded("main 2", 4500*ms, 500*ms, join), recorded("main 3", 6*time.Second, 500*ms, time.Second),
		recorded("main 4", 30*time.Second, 500*ms, 23500*ms))
	c.Turns[1].Spawns = []bench.Spawn{{Children: []*bench.Conversation{sub}, JoinAt: 2}}
	c.Mode, sub.Mode = bench.MessageArrayWithResponses, bench.MessageArrayWithResponses
	return c
}

func traceB() *bench.Conversation {
	c := talk("B", recorded("one", 0, 200*ms, 0), recorded("two", 700*ms, 200*ms, 500*ms),
		recorded("three", 1400*ms, 200*ms, 500*ms), recorded("four", 2200*ms, 200*ms, 600*ms))
	c.Mode = bench.MessageArrayWithResponses
	return c
}

// lanePhase is a phase of recorded sessions whose lanes start at shares of their time.
func lanePhase(concurrency int, from, to float64) spec.Phase {
	return spec.Phase{Concurrency: concurrency, Starts: spec.Starts{Lanes: &spec.Lanes{Seed: 7, From: from, To: to}}}
}

// asRecorded are answers that take as long as those of a trace.
func asRecorded(roots ...*bench.Conversation) map[string][]reply {
	out := map[string][]reply{}
	for _, root := range roots {
		for c := range streamsOf(root) {
			for _, t := range c.Turns {
				out[t.Texts[0]] = []reply{{takes: t.Recorded.End - t.Recorded.Start, text: "ok"}}
			}
		}
	}
	return out
}

func TestLanes(t *testing.T) {
	const sec = time.Second
	all := asRecorded(traceA(true), traceB())
	tests := []struct {
		name string
		sc   scenario
		want string
	}{
		{
			"a server as fast as the recorded one gets a session as it was recorded",
			scenario{phase: lanePhase(1, 0, 0), data: []*bench.Conversation{traceA(true)}, replies: all},
			`0s A/0 [u:main 0]
1.5s A/1 [u:main 1]
2.7s A::sa:sub1/0 [u:sub 0]
3.4s A::sa:sub1/1 [u:sub 1]
4.5s A/2 [u:main 2]
6s A/3 [u:main 3]
30s A/4 [u:main 4]
`,
		},
		{
			"with AIPerf's rule a turn that joins follows at once",
			scenario{
				phase: lanePhase(1, 0, 0), sessions: spec.Sessions{JoinAtOnce: true},
				data: []*bench.Conversation{traceA(false)}, replies: all,
			},
			`0s A/0 [u:main 0]
1.5s A/1 [u:main 1]
2.6s A::sa:sub1/0 [u:sub 0]
3.3s A::sa:sub1/1 [u:sub 1]
3.8s A/2 [u:main 2]
5.3s A/3 [u:main 3]
29.3s A/4 [u:main 4]
`,
		},
		{
			// The instants are 3.100878285 s and 249.773560 ms.
			"lanes begin at their instants, and the main stream waits for the sub-agent",
			scenario{phase: lanePhase(2, 0.1, 0.15), data: []*bench.Conversation{traceA(true), traceB()}, replies: all},
			`299.121715ms A::sa:sub1/1 [u:sub 1]
450.226439ms B/1 [u:two]
1.150226439s B/2 [u:three]
1.399121715s A/2 [u:main 2]
1.950226439s B/3 [u:four]
2.899121715s A/3 [u:main 3]
26.899121715s A/4 [u:main 4]
`,
		},
		{
			"a burst sends the earliest request of each lane at once",
			scenario{
				phase: func() spec.Phase {
					p := lanePhase(2, 0.1, 0.15)
					p.Lanes.Start = spec.BurstLanes
					return p
				}(),
				data: []*bench.Conversation{traceA(true), traceB()}, replies: all,
			},
			`0s A::sa:sub1/1 [u:sub 1]
0s B/1 [u:two]
700ms B/2 [u:three]
1.1s A/2 [u:main 2]
1.5s B/3 [u:four]
2.6s A/3 [u:main 3]
26.6s A/4 [u:main 4]
`,
		},
		{
			"a ramp brings the lanes to work in shorter time, in the same order",
			scenario{
				phase: func() spec.Phase {
					p := lanePhase(2, 0.1, 0.15)
					p.Lanes.Start, p.Lanes.Ramp = spec.RampLanes, 225113222
					p.Requests = 3
					return p
				}(),
				data: []*bench.Conversation{traceA(true), traceB()}, replies: all,
			},
			`149.560859ms A::sa:sub1/1 [u:sub 1]
225.113222ms B/1 [u:two]
925.113222ms B/2 [u:three]
`,
		},
		{
			"a lane goes on with the next session from its beginning when all of the tree has ended",
			scenario{
				phase: func() spec.Phase {
					p := lanePhase(2, 0.1, 0.15)
					p.Requests = 10
					return p
				}(),
				data: []*bench.Conversation{traceA(true), traceB(), traceA(true), traceB()}, replies: all,
			},
			`299.121715ms A::sa:sub1/1 [u:sub 1]
450.226439ms B/1 [u:two]
1.150226439s B/2 [u:three]
1.399121715s A/2 [u:main 2]
1.950226439s B/3 [u:four]
2.150226439s A/0 [u:main 0]
2.899121715s A/3 [u:main 3]
3.650226439s A/1 [u:main 1]
4.850226439s A::sa:sub1/0 [u:sub 0]
5.550226439s A::sa:sub1/1 [u:sub 1]
`,
		},
		{
			"a stream in the background keeps its lane",
			scenario{
				phase: lanePhase(1, 0, 0), data: []*bench.Conversation{func() *bench.Conversation {
					c := talk("bg", recorded("go", 0, sec, 0))
					c.Turns[0].Spawns = []bench.Spawn{{Children: []*bench.Conversation{talk("w", recorded("work", sec, 5*sec, 0))}}}
					return c
				}(), talk("next", recorded("on", 0, sec, 0))},
				replies: map[string][]reply{"work": {{takes: 5 * sec, text: "done"}}},
			},
			"0s bg/0 [u:go]\n1s w/0 [u:work]\n6s next/0 [u:on]\n",
		},
		{
			"a session whose main stream has ended is entered by its children",
			scenario{
				phase: lanePhase(1, 0.9, 0.9), data: []*bench.Conversation{func() *bench.Conversation {
					c := talk("bg", recorded("go", 0, sec, 0))
					c.Turns[0].Spawns = []bench.Spawn{{Children: []*bench.Conversation{
						talk("w", recorded("work", sec, sec, 0), recorded("more", 10*sec, sec, 8*sec)),
					}}}
					return c
				}(), talk("next", recorded("on", 0, sec, 0))},
			},
			"1s w/1 [u:more]\n2s next/0 [u:on]\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, tt.sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				st := tt.sc.loaded.Stats(0)
				if st.InFlight() != 0 || st.Sent != st.SessionTurns-st.SkippedTurns || st.Sent != int64(len(tt.sc.requests)) ||
					st.CompletedSessions+st.CancelledSessions != st.SentSessions {
					t.Errorf("sent %d of %d, %d skipped; sessions: %d started, %d completed, %d cut",
						st.Sent, st.SessionTurns, st.SkippedTurns, st.SentSessions, st.CompletedSessions, st.CancelledSessions)
				}
			})
		})
	}
}

// Primers go out at the distances of the recording, with one token, and the phase that follows
// plays the same sessions.
func TestPrimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := scenario{phase: lanePhase(2, 0.1, 0.15), data: []*bench.Conversation{traceA(true), traceB()}, replies: asRecorded(traceA(true), traceB())}
		sc.phase.Kind, sc.phase.Sessions, sc.phase.Lanes.Primers = bench.Warmup, 2, true
		got := sc.transcript(t)
		const want = `0s A/1 [u:main 1]
1.2s A::sa:sub1/0 [u:sub 0]
1.351104724s B/0 [u:one]
`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("primers (-want +got):\n%s", diff)
		}
		ids := map[string]string{}
		for _, r := range sc.requests {
			ids[r.record.ConversationID] = r.record.CorrelationID
		}
		if st := sc.loaded.Stats(0); st.Sent != 3 || st.SessionTurns != 3 || st.SkippedTurns != 0 || st.CompletedSessions != 2 {
			t.Errorf("statistics of the primers: %+v", st)
		}
		phase := lanePhase(2, 0.1, 0.15)
		next := NewPhase(sc.work, &phase, &sc)
		sc.loaded, sc.requests = next, nil
		next.Begin()
		next.Run(context.Background())
		var lines []string
		for _, r := range sc.requests {
			lines = append(lines, fmt.Sprint(r.due, " ", r.record.ConversationID, "/", r.record.Turn))
			if r.record.CorrelationID != ids[r.record.ConversationID] {
				t.Errorf("stream %s has the id %s; its primer had %s", r.record.ConversationID, r.record.CorrelationID, ids[r.record.ConversationID])
			}
		}
		slices.Sort(lines)
		const played = `1.150226439s B/2 1.399121715s A/2 1.950226439s B/3 2.899121715s A/3 26.899121715s A/4 299.121715ms A::sa:sub1/1 450.226439ms B/1`
		if got := strings.Join(lines, " "); got != played {
			t.Errorf("played\n%s, want\n%s", got, played)
		}
	})
}

// The primer of a main stream that fails ends the phase; that of another stream leaves it cold.
// The limit of idle time holds for primers too: a long time before the instant of a session is no reason to wait.
func TestIdlePrimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := talk("C", recorded("c0", 0, time.Second, 0), recorded("c1", 1000*time.Second, time.Second, 999*time.Second))
		sc := scenario{phase: lanePhase(2, 0.5, 0.5), data: []*bench.Conversation{long, traceB()}, replies: asRecorded(long, traceB())}
		sc.phase.Kind, sc.phase.Sessions, sc.phase.Lanes.Primers, sc.phase.Lanes.Idle = bench.Warmup, 2, true, 3*time.Second
		got := sc.transcript(t)
		const want = "0s C/0 [u:c0]\n4s B/1 [u:two]\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("primers (-want +got):\n%s", diff)
		}
		if idle := sc.loaded.env.idle; idle.working != 0 || len(idle.waits) != 0 {
			t.Errorf("%d at work, %d wait after the end", idle.working, len(idle.waits))
		}
	})
}

// A cache warm-up plays on after the primers, without pauses and for answers of one token. The next phase goes on where
// each stream has come to, after its pause, and a lane whose session was just over begins with the next one.
func TestCacheWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := []*bench.Conversation{traceA(true), traceB(), talk("C", recorded("c0", 0, time.Second, 0))}
		sc := scenario{phase: lanePhase(2, 0.1, 0.15), data: data, replies: asRecorded(data...)}
		sc.phase.Kind, sc.phase.Sessions, sc.phase.Lanes.Primers = bench.Warmup, 2, true
		sc.transcript(t)
		ids := map[string]string{}
		for _, r := range sc.requests {
			ids[r.record.ConversationID] = r.record.CorrelationID
		}
		perform := func(change func(p *spec.Phase)) string {
			phase := lanePhase(2, 0.1, 0.15)
			change(&phase)
			sc.loaded, sc.requests = NewPhase(sc.work, &phase, &sc), nil
			sc.loaded.Begin()
			sc.loaded.Run(context.Background())
			var lines []string
			for _, r := range sc.requests {
				lines = append(lines, fmt.Sprint(r.due, " ", r.record.ConversationID, "/", r.record.Turn))
				if id, primed := ids[r.record.ConversationID]; primed && r.record.CorrelationID != id {
					t.Errorf("stream %s has the id %s; its primer had %s", r.record.ConversationID, r.record.CorrelationID, id)
				}
			}
			slices.Sort(lines)
			return strings.Join(lines, " ")
		}
		short := perform(func(p *spec.Phase) {
			p.Kind, p.Requests = bench.Warmup, 3
			p.Lanes.CacheWarmup, p.Lanes.Start = true, spec.BurstLanes
		})
		if want := "0s A::sa:sub1/1 0s B/1 200ms B/2"; short != want {
			t.Errorf("cache warm-up\n%s, want\n%s", short, want)
		}
		played := perform(func(p *spec.Phase) { p.Lanes.Resumed = true })
		if want := "2.1s A/3 26.1s A/4 600ms A/2 600ms B/3 800ms C/0"; played != want {
			t.Errorf("played\n%s, want\n%s", played, want)
		}
	})
}

// Streams that had ended when a session was entered stay ended after a cache warm-up.
func TestCacheWarmupKeepsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sec = time.Second
		c := talk("P", recorded("p0", 0, sec, 0), recorded("p1", 4*sec, sec, sec), recorded("p2", 9*sec, sec, 4*sec), recorded("p3", 10*sec, sec, 0))
		child := talk("w", recorded("w0", 2*sec, sec, sec))
		c.Turns[0].Spawns = []bench.Spawn{{Children: []*bench.Conversation{child}, JoinAt: 1}}
		c.Mode, child.Mode = bench.MessageArrayWithResponses, bench.MessageArrayWithResponses
		sc := scenario{phase: lanePhase(1, 0.5, 0.6), data: []*bench.Conversation{c}, replies: asRecorded(c)}
		sc.phase.Kind, sc.phase.Requests, sc.phase.Lanes.CacheWarmup = bench.Warmup, 1, true
		if got, want := sc.transcript(t), "0s P/2 [u:p2]\n"; got != want {
			t.Errorf("cache warm-up %q, want %q", got, want)
		}
		phase := lanePhase(1, 0, 0)
		phase.Lanes.Resumed = true
		sc.loaded, sc.requests = NewPhase(sc.work, &phase, &sc), nil
		sc.loaded.Begin()
		sc.loaded.Run(context.Background())
		if len(sc.requests) != 1 || sc.requests[0].record.Turn != 3 {
			t.Errorf("played %v, want the last turn", sc.requests)
		}
	})
}

func TestPrimersFail(t *testing.T) {
	for text, fails := range map[string]bool{"main 1": true, "sub 0": false} {
		synctest.Test(t, func(t *testing.T) {
			sc := scenario{phase: lanePhase(1, 0.1, 0.15), data: []*bench.Conversation{traceA(true)}, replies: map[string][]reply{text: {{takes: time.Second, status: 500}}}}
			sc.phase.Kind, sc.phase.Sessions, sc.phase.Lanes.Primers = bench.Warmup, 1, true
			sc.run(t.Context())
			err := sc.work.Err()
			if (err != nil) != fails || (sc.loaded.End() == bench.PhaseFailed) != fails || (sc.loaded.env.primers.cold.Load() == 1) == fails {
				t.Errorf("%s fails: error %v, end %v, %d cold", text, err, sc.loaded.End(), sc.loaded.env.primers.cold.Load())
			}
		})
	}
}

// A limit of idle time moves all that waits by the same amount, and only if nothing is due
// within the limit.
func TestIdleLimit(t *testing.T) {
	const sec = time.Second
	all := asRecorded(traceA(true), traceB())
	tests := []struct {
		name  string
		limit time.Duration
		tree  time.Duration // limit of each session
		data  []*bench.Conversation
		want  string
		warn  string
	}{
		{
			"one lane: what follows a long pause is earlier", 3 * sec, 0, []*bench.Conversation{traceA(true)},
			"0s A/0 1.5s A/1 2.7s A::sa:sub1/0 3.4s A::sa:sub1/1 4.5s A/2 6s A/3 9.5s A/4",
			"phase : idle time beyond 3s was left out; times: 1, sum: 20.5s",
		},
		{
			"two lanes: their distances stay", 3 * sec, 0, []*bench.Conversation{traceA(true), func() *bench.Conversation {
				return talk("C", recorded("c0", 0, sec, 0), recorded("c1", 32*sec, sec, 31*sec))
			}()},
			"0s A/0 0s C/0 1.5s A/1 2.7s A::sa:sub1/0 3.4s A::sa:sub1/1 4.5s A/2 6s A/3 9.5s A/4 11.5s C/1",
			"phase : idle time beyond 3s was left out; times: 1, sum: 20.5s",
		},
		{
			"no jump in the gap before a sub-agent, nor while another lane is at work", 23500 * ms, 0, []*bench.Conversation{traceA(true), traceB()},
			"0s A/0 0s B/0 700ms B/1 1.4s B/2 1.5s A/1 2.2s B/3 2.7s A::sa:sub1/0 3.4s A::sa:sub1/1 4.5s A/2 6s A/3 30s A/4",
			"",
		},
		{
			"a session whose streams all wait is earlier, and no other one", 0, 3 * sec, []*bench.Conversation{traceA(true), func() *bench.Conversation {
				return talk("C", recorded("c0", 0, sec, 0), recorded("c1", 3500*ms, sec, 2500*ms), recorded("c2", 10*sec, sec, 5500*ms))
			}()},
			"0s A/0 0s C/0 1.5s A/1 2.7s A::sa:sub1/0 3.4s A::sa:sub1/1 3.5s C/1 4.5s A/2 6s A/3 7.5s C/2 9.5s A/4",
			"phase : idle time of single sessions beyond 3s was left out; times: 2, sum: 23s",
		},
		{
			"a pause of a session is left out while its children wait, and its own goes on", 0, 2 * sec, []*bench.Conversation{func() *bench.Conversation {
				c := talk("P", recorded("p0", 0, sec, 0), recorded("p1", 20*sec, sec, 0))
				c.Turns[0].Spawns = []bench.Spawn{{Children: []*bench.Conversation{talk("w", recorded("w0", 9*sec, sec, 8*sec))}, JoinAt: 1}}
				return c
			}()},
			"0s P/0 3s w/0 4s P/1",
			"phase : idle time of single sessions beyond 2s was left out; times: 1, sum: 6s",
		},
		{
			"both limits", 2 * sec, 20 * sec, []*bench.Conversation{traceA(true), talk("C", recorded("c0", 0, sec, 0), recorded("c1", 40*sec, sec, 39*sec))},
			"0s A/0 0s C/0 1.5s A/1 2.7s A::sa:sub1/0 3.4s A::sa:sub1/1 4.5s A/2 6s A/3 8.5s C/1 11.5s A/4",
			"phase : idle time beyond 2s was left out; times: 2, sum: 15s" +
				"phase : idle time of single sessions beyond 20s was left out; times: 2, sum: 22.5s",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := scenario{phase: lanePhase(len(tt.data), 0, 0), data: tt.data, replies: all}
				sc.phase.Lanes.Idle, sc.phase.Lanes.TreeIdle = tt.limit, tt.tree
				sc.transcript(t)
				slices.SortStableFunc(sc.requests, func(a, b sent) int {
					if a.due != b.due {
						return int(a.due - b.due)
					}
					return strings.Compare(a.record.ConversationID, b.record.ConversationID)
				})
				var lines []string
				for _, r := range sc.requests {
					lines = append(lines, fmt.Sprint(r.due, " ", r.record.ConversationID, "/", r.record.Turn))
					if r.at != r.due {
						t.Errorf("%v was sent at %v", r, r.at)
					}
				}
				if got := strings.Join(lines, " "); got != tt.want {
					t.Errorf("requests\n%s, want\n%s", got, tt.want)
				}
				warn := ""
				for _, w := range sc.loaded.Warnings() {
					warn += w.Detail
				}
				if warn != tt.warn {
					t.Errorf("warning %q, want %q", warn, tt.warn)
				}
				if idle := sc.loaded.env.idle; idle.working != 0 || len(idle.waits) != 0 {
					t.Errorf("%d at work, %d wait after the end", idle.working, len(idle.waits))
				}
			})
		})
	}
}
