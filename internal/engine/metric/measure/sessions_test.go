package measure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// turnLines returns a few statistics of each turn, as lines.
func turnLines(groups []metric.Results) string {
	var out strings.Builder
	for i, rs := range groups {
		fmt.Fprint(&out, i, ":")
		for _, c := range []struct {
			tag  string
			stat metric.Stat
		}{
			{"request_count", metric.Avg}, {"error_request_count", metric.Avg}, {"turn_latency", metric.Avg}, {"turn_latency", metric.Max},
			{"cache_hit_ratio", metric.Avg}, {"session_latency", metric.Avg},
		} {
			if m := rs.Find(c.tag); m != nil {
				v, _ := m.Get(c.stat)
				fmt.Fprintf(&out, " %s=%.4g", c.tag, v)
			}
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// Conversations overlap; one of them fails, and one has a single turn.
func TestSessions(t *testing.T) {
	const ms = time.Millisecond
	record := func(id string, turn, turns int, start, latency time.Duration, cached bench.Tokens) *bench.Record {
		input := bench.Tokens(100)
		r := &bench.Record{CorrelationID: id, Turn: turn, Turns: turns, Stamps: bench.Stamps{Start: start, End: start + latency}}
		r.Answer.Chunks = []bench.Chunk{{At: start + latency}}
		r.Answer.Usage = &bench.Usage{Input: &input, Cached: &cached}
		return r
	}
	failed := func(r *bench.Record) *bench.Record {
		r.Answer.Failure = &bench.Failure{Class: bench.ServerError}
		return r
	}
	part := func(records ...*bench.Record) Part {
		s, err := NewSet(Options{Caps: bench.Caps{ProducesTokens: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			s.Observe(r)
		}
		return Part{Set: s, Window: time.Second}
	}
	first := part(
		record("a", 0, 2, 100*ms, 50*ms, 0), record("b", 0, 3, 110*ms, 70*ms, 0),
		record("single", 0, 1, 100*ms, 500*ms, 100),
		record("a", 1, 2, 400*ms, 100*ms, 80), // 100 to 500
		failed(record("b", 1, 3, 300*ms, 10*ms, 0)),
		record("b", 2, 3, 350*ms, 30*ms, 50), // goes on, without a session latency
	)
	second := part(record("c", 0, 2, 100*ms, 50*ms, 20), record("c", 1, 2, 150*ms, 50*ms, 90), record("d", 0, 2, 200*ms, 10*ms, 0))
	if n := len(first.Set.sessions) + len(second.Set.sessions); n != 1 {
		t.Errorf("%d conversations are followed, want that of d", n)
	}
	all, err := Pool(first, second)
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string][2]float64{ // count, average
		"session_latency": {2, 250}, "session_turns": {2, 2}, "turn_latency": {7, 360.0 / 7}, "cache_hit_ratio": {7, 2.4 / 7},
	} {
		m := all.Find(tag)
		if m == nil {
			t.Errorf("%s is absent", tag)
			continue
		}
		if got, _ := m.Get(metric.Avg); float64(m.Count) != want[0] || fmt.Sprintf("%.9g", got) != fmt.Sprintf("%.9g", want[1]) {
			t.Errorf("%s: %d values, %v on average; want %v", tag, m.Count, got, want)
		}
	}
	want := `0: request_count=4 turn_latency=45 turn_latency=70 cache_hit_ratio=0.05
1: request_count=2 error_request_count=1 turn_latency=75 turn_latency=100 cache_hit_ratio=0.85 session_latency=250
2: request_count=1 turn_latency=30 turn_latency=30 cache_hit_ratio=0.5
`
	if diff := cmp.Diff(want, turnLines(ByTurn(first, second))); diff != "" {
		t.Error(diff)
	}

	single := part(record("single", 0, 1, 100*ms, 500*ms, 100))
	if ByTurn(single) != nil || single.Set.Final(time.Second, bench.PhaseStats{}).Find("turn_latency") != nil {
		t.Error("a conversation of one turn has metrics of turns")
	}
}

// The turns that have metrics of their own are bounded.
func TestManyTurns(t *testing.T) {
	s, err := NewSet(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		r := &bench.Record{CorrelationID: "x", Turn: i, Turns: 50, Stamps: bench.Stamps{Start: time.Second, End: 2 * time.Second}}
		r.Answer.Chunks = []bench.Chunk{{At: 2 * time.Second}}
		s.Observe(r)
	}
	turns := ByTurn(Part{Set: s, Window: time.Second})
	if len(turns) != mostTurns {
		t.Fatalf("%d turns, want %d", len(turns), mostTurns)
	}
	if n, _ := turns[mostTurns-1].Find("request_count").Get(metric.Avg); n != 50-mostTurns+1 {
		t.Errorf("the last has %v requests, want %d", n, 50-mostTurns+1)
	}
}
