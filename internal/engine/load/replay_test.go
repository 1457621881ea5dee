package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

const ms = time.Millisecond

// autoZero is a replay that starts with the first conversation.
func autoZero() spec.Starts { return spec.Starts{Replay: &spec.Replay{Auto: true, End: -1}} }

// TestReplayIsExact replays a thousand timestamps at ten times their speed.
func TestReplayIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const first = 1_700_000_000_000 * ms // a timestamp since 1970, as traces have them
	var data []*bench.Conversation
	var want []time.Duration
	at := first
	for i := range 1000 {
		data = append(data, talk(fmt.Sprint(i), timed("x", at)))
		want = append(want, (at-first)/10)
		if i%7 != 0 { // some are due at the same time
			at += time.Duration(random.IntN(250)) * ms
		}
	}
	synctest.Test(t, func(t *testing.T) {
		sc := &scenario{phase: spec.Phase{Starts: autoZero()}, sessions: spec.Sessions{Speedup: 10}, data: data}
		got := make([]time.Duration, len(want))
		for _, s := range sc.run(t.Context()) {
			if s.at != s.due || s.scheduled != s.due {
				t.Fatalf("conversation %d: due %v, scheduled %v, sent %v", s.record.SessionNum, s.due, s.scheduled, s.at)
			}
			if id := fmt.Sprint(s.record.SessionNum); s.record.ConversationID != id || s.record.CorrelationID != "fixed-schedule-"+id {
				t.Fatalf("session %s has conversation %s and correlation id %s", id, s.record.ConversationID, s.record.CorrelationID)
			}
			got[s.record.SessionNum] = s.due
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("due times (-want +got):\n%s", diff)
		}
		if len(sc.loaded.Warnings()) > 0 || sc.loaded.End() != bench.PhaseCompleted {
			t.Errorf("ended %s with %v", sc.loaded.End(), sc.loaded.Warnings())
		}
	})
}

func TestReplay(t *testing.T) {
	delayed := said("later")
	delayed.Delay = 2 * time.Second
	turns := talk("a", timed("one", 5*time.Second), timed("two", 5500*ms), timed("three", 9*time.Second), delayed, said("now"))
	four := []*bench.Conversation{
		talk("a", timed("a", 10*time.Second)), talk("b", timed("b", 11*time.Second)),
		talk("c", timed("c", 11*time.Second)), talk("d", timed("d", 14*time.Second)),
	}
	tests := []struct {
		name     string
		sc       scenario
		want     string
		warnings string
	}{
		{
			"a later turn is due at its own time or when the one before has returned, whichever is later; a delay counts from the return",
			scenario{phase: spec.Phase{Starts: autoZero()}, data: []*bench.Conversation{turns}},
			`0s a/0 [u:one]
1s a/1 [u:one a:ONE u:two]
4s a/2 [u:one a:ONE u:two a:TWO u:three]
7s a/3 [u:one a:ONE u:two a:TWO u:three a:THREE u:later]
8s a/4 [u:one a:ONE u:two a:TWO u:three a:THREE u:later a:LATER u:now]
`, "",
		},
		{
			"speed divides times and delays",
			scenario{phase: spec.Phase{Starts: autoZero()}, sessions: spec.Sessions{Speedup: 2}, data: []*bench.Conversation{turns}},
			`0s a/0 [u:one]
1s a/1 [u:one a:ONE u:two]
2s a/2 [u:one a:ONE u:two a:TWO u:three]
4s a/3 [u:one a:ONE u:two a:TWO u:three a:THREE u:later]
5s a/4 [u:one a:ONE u:two a:TWO u:three a:THREE u:later a:LATER u:now]
`, "",
		},
		{
			"without an automatic offset the times count from zero",
			scenario{phase: spec.Phase{Starts: spec.Starts{Replay: &spec.Replay{End: -1}}}, data: four[:2]},
			"10s a/0 [u:a]\n11s b/0 [u:b]\n", "",
		},
		{
			"the window is inclusive and its start is zero",
			scenario{phase: spec.Phase{Starts: spec.Starts{Replay: &spec.Replay{Start: 11 * time.Second, End: 14 * time.Second}}}, data: append(four[:4:4], talk("e", timed("e", 14*time.Second+1)))},
			"0s b/0 [u:b]\n0s c/0 [u:c]\n3s d/0 [u:d]\n", "",
		},
		{
			"a limit of concurrency keeps the due times",
			scenario{phase: spec.Phase{Starts: autoZero(), Concurrency: 1}, data: four, replies: map[string][]reply{"a": {{takes: 3 * time.Second, text: "A"}}}},
			"0s a/0 [u:a]\n1s at 3s b/0 [u:b]\n1s at 4s c/0 [u:c]\n4s at 5s d/0 [u:d]\n", "",
		},
		{
			"a bound of requests cuts the dataset in the order of its times",
			scenario{phase: spec.Phase{Starts: autoZero(), Requests: 2}, data: four},
			"0s a/0 [u:a]\n1s b/0 [u:b]\n",
			"phase p: the dataset was cut in the order of its timestamps after 2 requests, which is the bound of the phase",
		},
		{
			"a bound as large as the dataset cuts nothing",
			scenario{phase: spec.Phase{Starts: autoZero(), Requests: 4}, data: four},
			"0s a/0 [u:a]\n1s b/0 [u:b]\n1s c/0 [u:c]\n4s d/0 [u:d]\n", "",
		},
		{
			"the duration cuts the dataset",
			scenario{phase: spec.Phase{Starts: autoZero(), Duration: 3 * time.Second, Grace: -1}, data: four},
			"0s a/0 [u:a]\n1s b/0 [u:b]\n1s c/0 [u:c]\n", "",
		},
		{
			"a conversation out of order is due with the one in front of it",
			scenario{phase: spec.Phase{Starts: autoZero()}, data: []*bench.Conversation{four[1], four[3], four[0], talk("e", timed("e", 15*time.Second))}},
			"0s b/0 [u:b]\n3s a/0 [u:a]\n3s d/0 [u:d]\n4s e/0 [u:e]\n",
			"phase p: 1 conversations have a timestamp before that of the conversation in front of them; they were sent with it",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &tt.sc
				sc.phase.Name = "p"
				if diff := cmp.Diff(tt.want, sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				var warnings []string
				for _, w := range sc.loaded.Warnings() {
					warnings = append(warnings, w.Detail)
				}
				if got := strings.Join(warnings, "\n"); got != tt.warnings {
					t.Errorf("warnings %q, want %q", got, tt.warnings)
				}
				if end := sc.loaded.End(); end != bench.PhaseCompleted {
					t.Errorf("ended %s", end)
				}
			})
		})
	}
}

// TestDatasetEnds checks how phases end with their dataset.
func TestDatasetEnds(t *testing.T) {
	three := []*bench.Conversation{talk("a", said("a"), said("b")), talk("b", said("c")), talk("c", said("d"))}
	every := func(yield func(time.Duration) bool) {
		for i := 0; yield(time.Duration(i) * 600 * ms); i++ {
			continue
		}
	}
	fault := errors.New("trace.jsonl:7: no JSON object")
	open := []*bench.Conversation{talk("a", timed("a", 0)), talk("b", said("b"))}
	tests := []struct {
		name    string
		sc      scenario
		want    string
		end     bench.PhaseEnd
		problem string
	}{
		{
			"a closed loop ends with the sessions in flight", scenario{phase: spec.Phase{Concurrency: 2}, data: three},
			"0s a/0 [u:a]\n0s b/0 [u:c]\n1s a/1 [u:a a:A u:b]\n1s c/0 [u:d]\n", bench.PhaseCompleted, "",
		},
		{
			"an open loop ends with the sessions in flight", scenario{phase: spec.Phase{Arrivals: every}, data: three},
			"0s a/0 [u:a]\n600ms b/0 [u:c]\n1.2s a/1 [u:a a:A u:b]\n1.8s c/0 [u:d]\n", bench.PhaseCompleted, "",
		},
		{
			"arrivals that wait for a slot when the dataset ends have no session", scenario{phase: spec.Phase{Arrivals: every, Concurrency: 1}, data: three[1:]},
			"0s b/0 [u:c]\n600ms at 1s c/0 [u:d]\n", bench.PhaseCompleted, "",
		},
		{
			"an error ends the phase after what was read before", scenario{phase: spec.Phase{Concurrency: 1}, data: three[1:], fault: fault},
			"0s b/0 [u:c]\n1s c/0 [u:d]\n", bench.PhaseFailed, "read the dataset: trace.jsonl:7: no JSON object",
		},
		{
			"a replay needs timestamps", scenario{phase: spec.Phase{Starts: autoZero(), Grace: -1}, data: open},
			"0s a/0 [u:a]\n", bench.PhaseFailed,
			`read the dataset: conversation "b" has no timestamp: a phase of type fixed_schedule needs one for the first turn of every conversation`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &tt.sc
				if diff := cmp.Diff(tt.want, sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				problem := ""
				if err := sc.work.Err(); err != nil {
					problem = err.Error()
				}
				if end := sc.loaded.End(); end != tt.end || problem != tt.problem {
					t.Errorf("ended %s with %q, want %s with %q", end, problem, tt.end, tt.problem)
				}
				if st := sc.loaded.Stats(0); st.SentEnd == 0 || st.Sent != st.Completed || st.InFlight() != 0 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

// TestRestart: a phase that reads the dataset once begins with its first conversation,
// and so does the one after it. The others go on where the one before has ended.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var data []*bench.Conversation
		for i := range 5 {
			data = append(data, talk(fmt.Sprint(i), timed(fmt.Sprint(i), time.Duration(i)*time.Second)))
		}
		loop := spec.Phase{Concurrency: 1, Requests: 2}
		sc := &scenario{phase: loop, data: data}
		ids := func(phases ...spec.Phase) (all []string) {
			for i := range phases {
				if i > 0 {
					sc.loaded = NewPhase(sc.work, &phases[i], sc)
					sc.loaded.Begin()
				}
				before := len(sc.requests)
				sc.loaded.Run(t.Context())
				ids := ""
				for _, r := range sc.requests[before:] {
					ids += r.record.ConversationID
				}
				all = append(all, ids)
			}
			return all
		}
		sc.start()
		got := ids(loop, loop, spec.Phase{Starts: autoZero(), Once: true}, loop, spec.Phase{Concurrency: 1, Once: true})
		if diff := cmp.Diff([]string{"01", "23", "01234", "01", "01234"}, got); diff != "" {
			t.Errorf("conversations (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{true, false, true}, sc.restarts); diff != "" {
			t.Errorf("restarts (-want +got):\n%s", diff)
		}
	})
}

// TestUnusedSessions: what a phase has drawn and not started is there for the next one,
// once and in its order, whatever drives the phases.
func TestUnusedSessions(t *testing.T) {
	every := func(yield func(time.Duration) bool) {
		for i := 0; yield(time.Duration(i) * 100 * ms); i++ {
			continue
		}
	}
	phases := []spec.Phase{
		{Arrivals: every, Concurrency: 1, Duration: 2500 * ms, Grace: -1}, {Concurrency: 3, Duration: 1500 * ms, Grace: -1},
		{Arrivals: every, Requests: 70}, {Arrivals: every, Concurrency: 2, Requests: 5}, {Concurrency: 80, Requests: 90},
	}
	synctest.Test(t, func(t *testing.T) {
		sc := &scenario{phase: phases[0]}
		for i := range 1000 {
			sc.data = append(sc.data, talk(fmt.Sprint(i), said("x")))
		}
		sc.start()
		for i := range phases {
			if i > 0 {
				sc.loaded = NewPhase(sc.work, &phases[i], sc)
				sc.loaded.Begin()
			}
			sc.loaded.Run(t.Context())
		}
		seen := map[int64]bool{}
		for _, r := range sc.requests {
			if n := r.record.SessionNum; seen[n] || n >= int64(len(sc.requests)) || r.record.ConversationID != fmt.Sprint(n) {
				t.Errorf("session %d of %d has conversation %s, seen before: %v", n, len(sc.requests), r.record.ConversationID, seen[n])
			}
			seen[r.record.SessionNum] = true
		}
	})
}
