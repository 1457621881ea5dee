package load

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// The users at the start of a phase, as AIPerf 0.13 has them: "order:turns", in the order
// in which they start.
func TestHistory(t *testing.T) {
	tests := []struct {
		users int
		mean  float64
		want  string
	}{
		{1, 5, "0:all"},
		{2, 2, "0:all 1:1"},
		{15, 20, "0:all 1:6 2:11 3:16 4:2 5:7 6:12 7:17 8:3 9:8 10:13 11:18 12:4 13:9 14:14"}, // AIPerf's documentation
		{4, 3, "0:all 1:1 2:1 3:2"},         // 4 and 2 have a common divisor
		{6, 5, "0:all 1:1 2:2 3:2 4:3 5:4"}, // 6 and 4, step 5
		{3, 2.5, "0:all 1:1 2:1"},           // half to even, as in Python
		{5, 1, "0:all 1:1 2:1 3:1 4:1"},     // at least one gap
	}
	for _, tt := range tests {
		order := make([]string, tt.users)
		for _, b := range history(tt.users, tt.mean) {
			turns := "all"
			if b.turns > 0 {
				turns = fmt.Sprint(b.turns)
			}
			if order[b.order] != "" {
				t.Errorf("%d users, %v turns: two with order %d", tt.users, tt.mean, b.order)
			}
			order[b.order] = fmt.Sprintf("%d:%s", b.order, turns)
		}
		if diff := cmp.Diff(tt.want, strings.Join(order, " ")); diff != "" {
			t.Errorf("%d users, %v turns (-want +got):\n%s", tt.users, tt.mean, diff)
		}
	}
}

// talks returns conversations a, b, c, … with the same number of turns.
func talks(n, turns int) (out []*bench.Conversation) {
	for i := range n {
		name := string(rune('a' + i))
		c := talk(name)
		for k := range turns {
			turn := said(fmt.Sprintf("%s%d", name, k))
			turn.Delay = 100 * time.Second // users have a gap of their own
			c.Turns = append(c.Turns, turn)
		}
		out = append(out, c)
	}
	return out
}

// starting returns a phase of users.
func starting(count int, rate float64) spec.Phase {
	return spec.Phase{
		Kind: bench.Profiling, Grace: -1,
		Starts: spec.Starts{Users: &spec.Users{
			Count: count, Rate: rate, Gap: time.Duration(float64(count) / rate * float64(time.Second)),
		}},
	}
}

// late makes the first request of a conversation take so long.
func late(text string, takes time.Duration) map[string][]reply {
	return map[string][]reply{text: {{takes: takes, text: "LATE"}}}
}

func TestUsers(t *testing.T) {
	tests := []struct {
		name    string
		phase   func(p *spec.Phase)
		replies map[string][]reply
		want    string
		live    int64
	}{
		{
			// 2 users, one request per second: their turns are 2 s apart. The second user has one turn left.
			"each user keeps its gap", func(p *spec.Phase) { p.Requests = 8 }, nil, `
0s a/0 [u:a0]
1s b/0 [u:b0]
2s a/1 [u:a0 a:A0 u:a1]
3s c/0 [u:c0]
4s a/2 [u:a0 a:A0 u:a1 a:A1 u:a2]
5s c/1 [u:c0 a:C0 u:c1]
6s d/0 [u:d0]
7s c/2 [u:c0 a:C0 u:c1 a:C1 u:c2]
`, 2,
		},
		{
			// The answer to a1 comes at 7 s: a2 is sent at once, and the successor d starts as planned.
			"a late answer moves a user, not its successor", func(p *spec.Phase) { p.Requests = 9 }, late("a1", 5*time.Second), `
0s a/0 [u:a0]
1s b/0 [u:b0]
2s a/1 [u:a0 a:A0 u:a1]
3s c/0 [u:c0]
5s c/1 [u:c0 a:C0 u:c1]
6s d/0 [u:d0]
7s a/2 [u:a0 a:A0 u:a1 a:LATE u:a2]
7s c/2 [u:c0 a:C0 u:c1 a:C1 u:c2]
8s d/1 [u:d0 a:D0 u:d1]
`, 3,
		},
		{
			// d starts when a has finished, at 8 s, and not before a's gap is over.
			"a fixed population", func(p *spec.Phase) { p.Requests, p.Users.OnCompletion = 9, true }, late("a1", 5*time.Second), `
0s a/0 [u:a0]
1s b/0 [u:b0]
2s a/1 [u:a0 a:A0 u:a1]
3s c/0 [u:c0]
5s c/1 [u:c0 a:C0 u:c1]
7s a/2 [u:a0 a:A0 u:a1 a:LATE u:a2]
7s c/2 [u:c0 a:C0 u:c1 a:C1 u:c2]
9s d/0 [u:d0]
9s e/0 [u:e0]
`, 2,
		},
		{
			"a cap holds users back", func(p *spec.Phase) { p.Sessions, p.Concurrency = 3, 1 }, nil, `
0s a/0 [u:a0]
1s at 5s b/0 [u:b0]
2s a/1 [u:a0 a:A0 u:a1]
3s at 6s c/0 [u:c0]
4s a/2 [u:a0 a:A0 u:a1 a:A1 u:a2]
7s c/1 [u:c0 a:C0 u:c1]
9s c/2 [u:c0 a:C0 u:c1 a:C1 u:c2]
`, 1,
		},
		{
			"a cap drops users", func(p *spec.Phase) { p.Sessions, p.Concurrency, p.Backlog.Saturation = 2, 1, spec.DropArrivals }, nil, `
0s a/0 [u:a0]
2s a/1 [u:a0 a:A0 u:a1]
4s a/2 [u:a0 a:A0 u:a1 a:A1 u:a2]
6s d/0 [u:d0]
8s d/1 [u:d0 a:D0 u:d1]
10s d/2 [u:d0 a:D0 u:d1 a:D1 u:d2]
`, 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &scenario{phase: starting(2, 1), data: talks(26, 3), replies: tt.replies}
				tt.phase(&sc.phase)
				if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), sc.transcript(t)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if st := sc.loaded.Stats(0); st.Arrivals.LiveMax != tt.live {
					t.Errorf("at most %d users at a time, want %d", st.Arrivals.LiveMax, tt.live)
				}
			})
		})
	}
}

// Users of two runs have different ids.
func TestUserIDs(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			sc := &scenario{phase: starting(2, 1), data: talks(26, 3)}
			sc.phase.Sessions = 3
			for _, r := range sc.run(t.Context()) {
				if r.record.Turn == 0 {
					ids[r.record.CorrelationID] = true
				}
			}
		})
	}
	if len(ids) != 6 {
		t.Errorf("%d ids of 6 users", len(ids))
	}
}

// A session that a phase of users prepared and did not start has all its turns in the
// next phase.
func TestUsersLeaveWholeConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := &scenario{phase: starting(4, 1), data: talks(26, 3)}
		sc.phase.Sessions = 1
		sc.run(t.Context())
		next := spec.Phase{Kind: bench.Profiling, Concurrency: 1, Sessions: 3, Grace: -1}
		sc.sessions.Speedup = 1e6 // of delays
		sc.work.requests.Sessions = sc.sessions
		sc.requests = nil
		sc.loaded = NewPhase(sc.work, &next, sc)
		sc.loaded.Begin()
		sc.loaded.Run(t.Context())
		if len(sc.requests) != 9 {
			t.Errorf("%d requests of 3 sessions of 3 turns: %v", len(sc.requests), sc.requests)
		}
	})
}

// Users take turns, so that their conversations must have some.
func TestUsersNeedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := &scenario{phase: starting(2, 1), data: talks(26, 1)}
		sc.phase.Sessions = 3
		if n := len(sc.run(t.Context())); n != 0 || sc.loaded.End() != bench.PhaseFailed {
			t.Errorf("%d requests, %s", n, sc.loaded.End())
		}
		if err := sc.work.Err(); err == nil || !strings.HasPrefix(err.Error(), "no conversation has a second turn") {
			t.Errorf("error %v", err)
		}
	})
}
