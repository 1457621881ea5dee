package verdict

import (
	"slices"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

// soundRules are those of a scenario that a run of a hundred seconds over two lanes keeps.
func soundRules() *Rules {
	return &Rules{
		Scenario: "s@1", SHA256: "abc", Duration: 90 * time.Second, Silence: 60 * time.Second, Overflow: 0.01, Errors: 0.01, Cold: 0.01,
		Lanes: 0.95, Output: 0.99, Input: 0.99, Coverage: 0.95, Traces: 3, Concurrency: 2,
	}
}

// played returns a run in which two lanes send 100 requests each, one per second; change is called with each record, and
// drops it if it returns false.
func played(change func(i int, rec *bench.Record) bool) *Played {
	p := &Played{
		Replay: new(Replay), Primers: new(Replay), Client: OK, Cache: Consistent, Dataset: "d", Source: "org/d", Revision: "c0ffee", Traces: 3,
		From: time.Second, Until: 101 * time.Second,
	}
	for i := range 100 {
		for lane := range 2 {
			rec := replayed(lane, i)
			if change == nil || change(i, rec) {
				p.Replay.Observe(rec)
			}
		}
		p.Primers.Observe(replayed(0, i))
	}
	return p
}

// replayed returns the request of a lane in a second.
func replayed(lane, second int) *bench.Record {
	start := time.Duration(second+1) * time.Second
	tokens := func(n bench.Tokens) *bench.Tokens { return &n }
	return &bench.Record{
		Lane: lane + 1, SessionNum: int64(lane), Stamps: bench.Stamps{Start: start, End: start + time.Second},
		Content: bench.Content{RequestedTokens: 10}, ClientInput: tokens(10_000),
		Answer: bench.Answer{Usage: &bench.Usage{Input: tokens(10_040), Output: tokens(10)}, Chunks: []bench.Chunk{{At: start + time.Second/2}}},
	}
}

// TestValidity: one fault fails one check, and no other one.
func TestValidity(t *testing.T) {
	failed := func(class bench.Class, every int) func(int, *bench.Record) bool {
		return func(i int, rec *bench.Record) bool {
			if i%every == 0 {
				rec.Answer = bench.Answer{Failure: &bench.Failure{Class: class}}
			}
			return true
		}
	}
	for _, tt := range []struct {
		want   string
		change func(int, *bench.Record) bool
		fault  func(r *Rules, p *Played)
	}{
		{"", nil, nil},
		{"", nil, func(_ *Rules, p *Played) { p.Client = Suspect }},
		{"", nil, func(_ *Rules, p *Played) { p.Traces = 0 }}, // not a whole pass
		{"unsafe_override", nil, func(r *Rules, _ *Played) { r.Overridden = []string{"x"} }},
		{"run_cancelled", nil, func(_ *Rules, p *Played) { p.Cancelled = true }},
		{"context_overflow_rate_exceeded", failed(bench.ContextOverflow, 50), func(r *Rules, _ *Played) { r.Errors = 0.1 }},
		{"errors", failed(bench.ServerError, 50), nil},
		{"corpus", nil, func(_ *Rules, p *Played) { p.Revision = "" }},
		{"corpus", nil, func(_ *Rules, p *Played) { p.Traces = 2 }},
		{"kept", nil, func(r *Rules, _ *Played) { r.Deviations = map[string][]string{"kept": {"x"}} }},
		{"kept", nil, func(_ *Rules, p *Played) { p.LeftOut = "1 record" }},
		{"ratios", nil, func(r *Rules, _ *Played) { r.Deviations = map[string][]string{"ratios": {"x"}} }},
		{"settings", nil, func(r *Rules, _ *Played) { r.Deviations = map[string][]string{"settings": {"x"}} }},
		{"duration", nil, func(r *Rules, _ *Played) { r.Duration = 101 * time.Second }},
		{"client", nil, func(_ *Rules, p *Played) { p.Client = Invalid }},
		{"client", nil, func(_ *Rules, p *Played) { p.Client = Unknown }},
		{"lanes", func(i int, rec *bench.Record) bool { return i >= 10 || rec.Lane == 1 }, nil},
		{"primed", nil, func(_ *Rules, p *Played) {
			rec := replayed(0, 1)
			rec.Answer.Failure = &bench.Failure{Class: bench.ServerError}
			p.Primers.Observe(rec)
			p.Primers.Observe(rec)
		}},
		{"output", func(i int, rec *bench.Record) bool { *rec.Answer.Usage.Output -= bench.Tokens(i % 2); return true }, nil},
		{"output", func(_ int, rec *bench.Record) bool { rec.Content.RequestedTokens = 0; return true }, nil},
		{"input", func(i int, rec *bench.Record) bool { *rec.Answer.Usage.Input += bench.Tokens(i % 2 * 600); return true }, nil},
		{"input", func(_ int, rec *bench.Record) bool { rec.ClientInput = nil; return true }, nil},
		{"coverage", func(i int, _ *bench.Record) bool { return i < 90 }, nil},
		{"silence", func(i int, _ *bench.Record) bool { return i < 20 || i > 85 }, nil},
		{"cache", nil, func(_ *Rules, p *Played) { p.Cache = Contradicted }},
	} {
		r, p := soundRules(), played(tt.change)
		if tt.fault != nil {
			tt.fault(r, p)
		}
		want := []string{}
		if tt.want != "" {
			want = append(want, tt.want)
		}
		if v := JudgeValidity(r, p); !slices.Equal(v.Reasons(), want) || v.Valid != (tt.want == "") {
			t.Errorf("%q: valid %v, reasons %q: %+v", tt.want, v.Valid, v.Reasons(), v.Failed())
		}
	}
}

// TestBusyLanes: a lane is busy from its first request to the end of the session that no other one follows.
func TestBusyLanes(t *testing.T) {
	var r Replay
	for session, at := range [][2]time.Duration{{0, 40}, {10, 100}, {60, 70}} {
		lane := 1 + session%2 // the third session follows the first one
		r.Observe(&bench.Record{
			Lane: lane, SessionNum: int64(session),
			Stamps: bench.Stamps{Start: (at[0] + 1) * time.Second, End: (at[1] + 1) * time.Second},
		})
	}
	from, until := time.Second, 101*time.Second
	for need, want := range []float64{1, 1, 0.7} { // both from 10 to 40 and from 60 on
		if got := r.busy(need, from, until); got != want {
			t.Errorf("%d lanes for %v of the time, want %v", need, got, want)
		}
	}
}
