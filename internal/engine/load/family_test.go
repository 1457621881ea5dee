package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// after returns a turn with a think time.
func after(d time.Duration, text string) bench.Turn {
	t := said(text)
	t.Delay = d
	return t
}

// spawning returns a turn that spawns children.
func spawning(text string, joinAt int, children ...*bench.Conversation) bench.Turn {
	t := said(text)
	t.Spawns = []bench.Spawn{{Children: children, JoinAt: joinAt}}
	return t
}

// forking returns a turn that forks.
func forking(text string, background bool, child *bench.Conversation) bench.Turn {
	t := said(text)
	t.Forks = []bench.Fork{{Child: child, Background: background}}
	return t
}

func TestFamilies(t *testing.T) {
	const sec = time.Second
	boss := func() *bench.Conversation {
		return talk("boss", spawning("split", 1, talk("w1", said("one")), talk("w2", after(200*ms, "two"))), said("merge"))
	}
	slowWorker := map[string][]reply{"two": {{takes: 5 * sec, text: "TWO"}}}
	tests := []struct {
		name string
		sc   scenario
		want string
		skip int64 // requests that were not sent
	}{
		{
			"a turn waits for the children that join at it", scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{boss()}, replies: slowWorker},
			`0s boss/0 [u:split]
1s w1/0 [u:one]
1.2s w2/0 [u:two]
6.2s boss/1 [u:split a:SPLIT u:merge]
`, 0,
		},
		{
			"a think time begins when the children have ended",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{
				talk("a", spawning("split", 2, talk("w", said("work"))), said("between"), after(3*sec, "merge")),
			}},
			`0s a/0 [u:split]
1s a/1 [u:split a:SPLIT u:between]
1s w/0 [u:work]
5s a/2 [u:split a:SPLIT u:between a:BETWEEN u:merge]
`, 0,
		},
		{
			"the slot is free when the last of the family has ended",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{
				talk("a", spawning("go", 0, talk("w", said("work"), said("more")))), talk("b", said("next")),
			}},
			`0s a/0 [u:go]
1s w/0 [u:work]
2s w/1 [u:work a:WORK u:more]
3s b/0 [u:next]
`, 0,
		},
		{
			"a fork goes on with the history of its parent, which ends",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{
				talk("a", forking("ask", false, talk("f", said("deeper")))),
			}},
			"0s a/0 [u:ask]\n1s f/0 [u:ask a:ASK u:deeper]\n", 0,
		},
		{
			"a fork in the background goes on beside its parent",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{
				talk("a", forking("ask", true, talk("f", said("deeper"))), said("on")),
			}},
			"0s a/0 [u:ask]\n1s a/1 [u:ask a:ASK u:on]\n1s f/0 [u:ask a:ASK u:deeper]\n", 0,
		},
		{
			"who waits for a child waits for its fork",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{
				talk("a", spawning("go", 1, talk("w", forking("work", false, talk("f", said("deeper"))))), said("merge")),
			}},
			`0s a/0 [u:go]
1s w/0 [u:work]
2s f/0 [u:work a:WORK u:deeper]
3s a/1 [u:go a:GO u:merge]
`, 0,
		},
		{
			"children before the first turn start with it",
			scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{{
				ID: "a", Turns: []bench.Turn{said("one")}, Before: []*bench.Conversation{talk("w", said("work"))},
			}}},
			"0s a/0 [u:one]\n0s w/0 [u:work]\n", 0,
		},
		{
			"an orchestrator starts each round when the one before has ended",
			scenario{phase: spec.Phase{Concurrency: 1, Requests: 3}, data: []*bench.Conversation{{ID: "o", Rounds: []bench.Round{
				{Think: 500 * ms, Children: []*bench.Conversation{talk("a", said("a")), talk("b", after(sec, "b"))}},
				{Think: sec, Children: []*bench.Conversation{talk("c", said("c"))}},
			}}}},
			"500ms a/0 [u:a]\n1.5s b/0 [u:b]\n3.5s c/0 [u:c]\n", 0,
		},
		{
			"the bound of requests holds for families", scenario{phase: spec.Phase{Concurrency: 1, Requests: 3}, data: []*bench.Conversation{boss()}, replies: slowWorker},
			"0s boss/0 [u:split]\n1s w1/0 [u:one]\n1.2s w2/0 [u:two]\n", 1,
		},
		{
			"the end of the phase ends the wait for children",
			scenario{phase: spec.Phase{Concurrency: 1, Duration: 3 * sec, Grace: 10 * sec}, data: []*bench.Conversation{boss()}, replies: slowWorker},
			"0s boss/0 [u:split]\n1s w1/0 [u:one]\n1.2s w2/0 [u:two]\n", 1,
		},
		{
			"the grace period cuts children",
			scenario{phase: spec.Phase{Concurrency: 1, Duration: 3 * sec, Grace: sec}, data: []*bench.Conversation{boss()}, replies: slowWorker},
			"0s boss/0 [u:split]\n1s w1/0 [u:one]\n1.2s w2/0 [u:two] FAILED\n", 1,
		},
		{
			"a join ignores failures", scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{boss()}, replies: map[string][]reply{"one": {{takes: sec, status: 500}}}},
			`0s boss/0 [u:split]
1s w1/0 [u:one] FAILED
1.2s w2/0 [u:two]
2.2s boss/1 [u:split a:SPLIT u:merge]
`, 0,
		},
		{
			"with fail fast a failed child ends its parent",
			scenario{phase: spec.Phase{Concurrency: 1}, sessions: spec.Sessions{FailFast: true}, data: []*bench.Conversation{boss()}, replies: map[string][]reply{"one": {{takes: sec, status: 500}}}},
			"0s boss/0 [u:split]\n1s w1/0 [u:one] FAILED\n1.2s w2/0 [u:two]\n", 1,
		},
		{
			"children of a failed turn do not start", scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{boss()}, replies: map[string][]reply{"split": {{takes: sec, status: 500}}}},
			"0s boss/0 [u:split] FAILED\n", 3,
		},
		{
			"requests of children take arrivals of an open loop",
			scenario{phase: spec.Phase{Concurrency: 1, Arrivals: func(yield func(time.Duration) bool) {
				for i := 0; yield(time.Duration(i) * 2 * sec); i++ {
					continue
				}
			}}, data: []*bench.Conversation{talk("a", spawning("go", 1, talk("w", said("work"))), said("merge"))}},
			"0s a/0 [u:go]\n2s w/0 [u:work]\n4s a/1 [u:go a:GO u:merge]\n", 0,
		},
		{
			"a replay starts families at the times of their roots",
			scenario{phase: spec.Phase{Starts: autoZero()}, data: []*bench.Conversation{
				talk("a", func() bench.Turn {
					turn := timed("go", 100*sec)
					turn.Spawns = []bench.Spawn{{Children: []*bench.Conversation{talk("w", timed("work", 103*sec))}, JoinAt: 1}}
					return turn
				}(), said("merge")),
				talk("b", timed("b", 101*sec)),
			}},
			"0s a/0 [u:go]\n1s b/0 [u:b]\n3s w/0 [u:work]\n4s a/1 [u:go a:GO u:merge]\n", 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &tt.sc
				sessions := int64(len(sc.data))
				if diff := cmp.Diff(tt.want, sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				st := sc.loaded.Stats(0)
				if st.SkippedTurns != tt.skip || st.SentSessions != sessions || st.CompletedSessions+st.CancelledSessions != sessions ||
					st.Sent != st.SessionTurns-tt.skip || st.InFlight() != 0 || (st.CancelledSessions > 0) != (tt.skip > 0) {
					t.Errorf("skipped %d, want %d; sent %d of %d; sessions %d: completed %d, cut %d",
						st.SkippedTurns, tt.skip, st.Sent, st.SessionTurns, st.SentSessions, st.CompletedSessions, st.CancelledSessions)
				}
				last, roots := time.Duration(0), map[string]bool{}
				for _, c := range sc.data {
					roots[c.ID] = true
				}
				for _, r := range sc.requests {
					last = max(last, r.at)
					if line := r.record.Lineage; (line == nil) != roots[r.record.ConversationID] || line != nil && (line.Depth < 1 || line.Root == r.record.CorrelationID) {
						t.Errorf("%v: lineage %+v", r, line)
					}
				}
				if end := st.SentEnd - st.Start; tt.skip == 0 && (end < last || st.SentEnd > st.RequestsEnd) {
					t.Errorf("everything was sent at %v, the last request at %v", end, last)
				}
			})
		})
	}
}

func TestTurnErrors(t *testing.T) {
	const sec = time.Second
	broken := reply{takes: sec, status: 500}
	data := []*bench.Conversation{talk("a", said("one"), after(sec, "two"), said("three")), talk("b", said("four"))}
	tests := []struct {
		name    string
		policy  spec.TurnError
		replies []reply // to the second turn
		want    string
	}{
		{"the session ends", spec.EndSession, []reply{broken}, `0s a/0 [u:one]
2s a/1 [u:one a:ONE u:two] FAILED
3s b/0 [u:four]
`},
		{"the session goes on without an answer", spec.Continue, []reply{broken}, `0s a/0 [u:one]
2s a/1 [u:one a:ONE u:two] FAILED
3s a/2 [u:one a:ONE u:two u:three]
4s b/0 [u:four]
`},
		{"the turn is sent again", spec.RetryTurn, []reply{broken, broken, {takes: sec, text: "TWO"}}, `0s a/0 [u:one]
2s a/1 [u:one a:ONE u:two] FAILED
3s a/1 [u:one a:ONE u:two] FAILED
4s a/1 [u:one a:ONE u:two]
5s a/2 [u:one a:ONE u:two a:TWO u:three]
6s b/0 [u:four]
`},
		{"the turn is sent again three times", spec.RetryTurn, []reply{broken}, `0s a/0 [u:one]
2s a/1 [u:one a:ONE u:two] FAILED
3s a/1 [u:one a:ONE u:two] FAILED
4s a/1 [u:one a:ONE u:two] FAILED
5s a/1 [u:one a:ONE u:two] FAILED
6s b/0 [u:four]
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &scenario{
					phase: spec.Phase{Concurrency: 1}, sessions: spec.Sessions{OnTurnError: tt.policy},
					data: data, replies: map[string][]reply{"two": tt.replies},
				}
				if diff := cmp.Diff(tt.want, sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				ids := map[string]bool{}
				for _, r := range sc.requests {
					ids[r.record.RequestID] = true
				}
				if len(ids) != len(sc.requests) {
					t.Errorf("%d ids for %d requests", len(ids), len(sc.requests))
				}
			})
		})
	}
}

func TestContextModes(t *testing.T) {
	for mode, want := range map[bench.ContextMode]string{
		bench.DeltasWithoutResponses:    "0s a/0 [u:one]\n1s a/1 [u:one a:ONE u:two]\n",
		bench.DeltasWithResponses:       "0s a/0 [u:one]\n1s a/1 [u:one u:two]\n",
		bench.MessageArrayWithResponses: "0s a/0 [u:one]\n1s a/1 [u:two]\n",
	} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := talk("a", said("one"), said("two"))
				c.Mode = mode
				sc := &scenario{phase: spec.Phase{Concurrency: 1}, data: []*bench.Conversation{c}}
				if diff := cmp.Diff(want, sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}
