package verdict

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/measure"
)

// account is a phase of four streams, one after the other, in which every
// relation holds.
func account(t *testing.T) *Account {
	t.Helper()
	set, err := measure.NewSet(measure.Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}})
	if err != nil {
		t.Fatal(err)
	}
	y := new(Tally)
	const n, took = 4, 250 * msec
	for i := range n {
		r := record(100, 140, 170, 190, 240)
		at := time.Duration(i) * took
		for _, stamp := range []*time.Duration{&r.Stamps.Due, &r.Stamps.Permit, &r.Stamps.Start, &r.Stamps.Wrote, &r.Stamps.End} {
			*stamp += at
		}
		for j := range r.Answer.Chunks {
			r.Answer.Chunks[j].At += at
			r.Answer.Chunks[j].Tokens = 1
		}
		r.InputTokens, r.OutputTokens, r.TokenSource = tokens(7), tokens(5), bench.TokensServer
		r.Answer.Usage = &bench.Usage{Input: tokens(7), Output: tokens(5)}
		set.Observe(r)
		y.Observe(r)
	}
	stats := bench.PhaseStats{
		Name: "profiling", Kind: bench.Profiling, Start: time.Second, RequestsEnd: 2 * time.Second, Sent: n, Completed: n,
		Records: bench.RecordCounts{Success: n}, End: bench.PhaseCompleted,
	}
	began := time.Unix(1000, 0)
	return &Account{
		Results: set.Final(time.Second, stats), Counters: set.Counters(), Stats: stats, Window: time.Second,
		Start: began, End: began.Add(time.Second), Tally: y,
		Self: &Self{Window: time.Second, Step: 5 * msec, InFlight: n * (took + 2*msec), Ticks: lags(0, 200)},
	}
}

func set(t *testing.T, a *Account, tag string, s metric.Stat, v float64) {
	t.Helper()
	m := a.Results.Find(tag)
	if m == nil {
		t.Fatalf("no metric %s", tag)
	}
	m.Set(s, v)
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*testing.T, *Account)
		want  []string
	}{
		{"all agree", func(*testing.T, *Account) {}, nil},
		{"a request vanished", func(_ *testing.T, a *Account) { a.Stats.Sent++ }, []string{"requests-conserved"}},
		{"it is still in flight", func(_ *testing.T, a *Account) { a.Stats.Sent, a.Stats.RequestsEnd = 5, 0 }, nil},
		{"a record vanished", func(_ *testing.T, a *Account) { a.Counters.Success-- }, []string{"requests-conserved", "records-conserved"}},
		{"a cancellation counts as neither", func(_ *testing.T, a *Account) {
			a.Stats.Sent, a.Stats.Cancelled, a.Counters.Cancelled = 5, 1, 1
		}, nil},
		{"requests of a ramp are in no record", func(_ *testing.T, a *Account) {
			a.Stats.Sent, a.Stats.Completed, a.Stats.Records.Excluded = a.Stats.Sent+3, a.Stats.Completed+3, 3
		}, nil},
		{"a rate over another window", func(t *testing.T, a *Account) { set(t, a, "request_throughput", metric.Avg, 4.04) }, []string{"request-rate"}},
		{"a token rate over another window", func(t *testing.T, a *Account) { set(t, a, "output_token_throughput", metric.Avg, 21) }, []string{"token-rate"}},
		{"the file says another window", func(_ *testing.T, a *Account) { a.End = a.End.Add(msec) }, []string{"window"}},
		{"more in flight than the records say", func(_ *testing.T, a *Account) { a.Self.InFlight = 1300 * msec }, []string{"littles-law"}},
		{"fewer in flight than the records say", func(_ *testing.T, a *Account) { a.Self.InFlight = 700 * msec }, []string{"littles-law"}},
		{"within what sampling can miss", func(_ *testing.T, a *Account) { a.Self.InFlight += 4 * 5 * msec }, nil},
		{"the curve lost a request", func(t *testing.T, a *Account) { set(t, a, "effective_concurrency", metric.Avg, 0.75) }, []string{"concurrency-curve"}},
		{"a gap vanished", func(t *testing.T, a *Account) { set(t, a, "inter_chunk_latency", metric.Sum, 459) }, []string{"latency-sum"}},
		{"tokens by event and by usage", func(_ *testing.T, a *Account) { a.Tally.Observe(odd(4)) }, []string{"tokens-conserved"}},
		{"the last token has no text", func(_ *testing.T, a *Account) {
			r := odd(4)
			r.Answer.TailTokens = 1
			a.Tally.Observe(r)
		}, nil},
		{"more events than tokens", func(_ *testing.T, a *Account) {
			r := odd(2)
			r.Answer.Chunks[0].Tokens = 0 // so that events have no counts to compare
			a.Tally.Observe(r)
		}, []string{"events-within-tokens"}},
		{"an event before the one before it", func(_ *testing.T, a *Account) {
			r := odd(3)
			r.Answer.Chunks[1].At, r.Answer.Chunks[0].At = r.Answer.Chunks[0].At, r.Answer.Chunks[1].At
			a.Tally.Observe(r)
		}, []string{"events-in-order"}},
		{"p90 below p50", func(t *testing.T, a *Account) { set(t, a, "request_latency", metric.P90, 1) }, []string{"percentiles-in-order"}},
		{"p99 above the maximum", func(t *testing.T, a *Account) { set(t, a, "time_to_first_token", metric.P99, 1e9) }, []string{"percentiles-in-order"}},
	}
	tripped := map[string]bool{}
	for _, tt := range tests {
		for _, code := range tt.want {
			tripped[code] = true
		}
		t.Run(tt.name, func(t *testing.T) {
			a := account(t)
			tt.spoil(t, a)
			got := Check(a)
			var codes []string
			for _, w := range got.Warnings {
				// The records of some rows are in the tally only.
				if w.Code == "littles-law" && a.Tally.requests != 4 || w.Code == "concurrency-curve" && a.Tally.requests != 4 {
					continue
				}
				codes = append(codes, w.Code)
				if w.Phase != "profiling" || w.Detail == "" || w.Unit == "" || w.Expected == w.Observed {
					t.Errorf("warning %+v", w)
				}
			}
			if d := cmp.Diff(tt.want, codes); d != "" {
				t.Errorf("warnings (-want +got):\n%s%+v", d, got.Warnings)
			}
		})
	}
	for _, r := range relations() {
		if !tripped[r.code] {
			t.Errorf("no row trips %s", r.code)
		}
	}
}

// odd is a record with three events of a token each, and a separate usage block.
func odd(usage int) *bench.Record {
	r := record(100, 140, 170)
	for i := range r.Answer.Chunks {
		r.Answer.Chunks[i].Tokens = 1
	}
	r.Answer.Usage = &bench.Usage{Output: tokens(usage)}
	return r
}

// All relations are checked on a complete result; on an empty one those only that
// hold for nothing, too.
func TestChecked(t *testing.T) {
	got := Check(account(t))
	var all []string
	for _, r := range relations() {
		all = append(all, r.code)
	}
	if d := cmp.Diff(all, got.Checked); d != "" {
		t.Errorf("checked (-want +got):\n%s", d)
	}
	empty := Check(&Account{Tally: new(Tally)})
	if d := cmp.Diff([]string{"requests-conserved", "records-conserved"}, empty.Checked); d != "" {
		t.Errorf("checked of nothing (-want +got):\n%s", d)
	}
	joined := JoinChecks([]Checks{empty, got, {Warnings: []Discrepancy{{Code: "window"}}}})
	if !slices.Equal(joined.Checked, all) || len(joined.Warnings) != 1 {
		t.Errorf("joined: %+v", joined)
	}
}

// Sampling at steps of 5 ms does not show requests of 5 ms.
func TestLittlesLawNeedsLongRequests(t *testing.T) {
	a := account(t)
	a.Tally.residence = 4 * 8 * msec
	if got := Check(a).Checked; slices.Contains(got, "littles-law") {
		t.Errorf("checked: %v", got)
	}
}
