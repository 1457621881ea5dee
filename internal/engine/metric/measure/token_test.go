package measure

import (
	"math"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
)

// TestUncountedTokens: without the server's counts, content events are equally large.
func TestUncountedTokens(t *testing.T) {
	r := handRecord()
	r.TokenSource = bench.TokensClient
	got := recordValues(r, everything()) // 10 tokens in events 100, 120, 120 and 180 ms after the start
	for tag, want := range map[string]float64{
		"time_to_token_2": 100, "time_to_token_10": 180, "inter_token_latency_delivered": 80 / 7.5,
	} {
		if !near(got[tag], want, 1e-12) {
			t.Errorf("%s = %v, want %v", tag, got[tag], want)
		}
	}
	if _, ok := got["time_to_token_50"]; ok {
		t.Error("a response of 10 tokens has a token 50")
	}
	r.OutputTokens, r.ReasoningTokens = nil, nil
	for _, tag := range []string{"time_to_token_2", "inter_token_latency_delivered"} {
		if v, ok := recordValues(r, everything())[tag]; ok {
			t.Errorf("%s = %v without a token count", tag, v)
		}
	}
}

// TestAbsurdTokens: counts of tokens that no server can mean neither end the process nor
// take its memory.
func TestAbsurdTokens(t *testing.T) {
	for _, n := range []bench.Tokens{math.MaxInt32 + 1, 1 << 53, math.MaxInt64} {
		r := handRecord()
		r.TokenSource = bench.TokensClient // events share the tokens equally
		r.OutputTokens, r.ReasoningTokens = &n, nil
		if got := recordValues(r, everything())["time_to_token_2"]; got != 100 {
			t.Errorf("of %d tokens, the second comes %v ms after the start, want 100", n, got)
		}
	}
	r := handRecord()
	for i := range r.Answer.Chunks {
		r.Answer.Chunks[i].Tokens = math.MaxInt32
	}
	perRecord(r, everything()).Lists(func(d *catalogue.Def, values []float64) {
		if len(values) > len(r.Answer.Chunks) {
			t.Errorf("%s has %d values for %d events", d.Tag, len(values), len(r.Answer.Chunks))
		}
	})
}

// TestDeadlines: a request is good if its latest token is in time.
func TestDeadlines(t *testing.T) {
	o := everything()
	o.Deadline = catalogue.Deadline{First: 90 * time.Millisecond, Each: 5 * time.Millisecond}
	o.SLOs = map[string]float64{"token_deadline_lateness": 0}
	late := recordValues(handRecord(), o)["token_deadline_lateness"]
	if want := 60.0; !near(late, want, 1e-12) { // 4 tokens at 180 ms, of which the first is due at 90 + 6·5
		t.Errorf("lateness %v ms, want %v", late, want)
	}
	for each, good := range map[time.Duration]int64{5 * time.Millisecond: 0, 15 * time.Millisecond: 1} {
		o.Deadline = catalogue.Deadline{First: 100 * time.Millisecond, Each: each}
		set := newSet(t, o)
		set.Observe(handRecord())
		if n := set.Counters().Good; n != good {
			t.Errorf("%d requests are good with %v per token, want %d", n, each, good)
		}
	}
	o.Deadline, o.SLOs = catalogue.Deadline{}, nil
	if v, ok := recordValues(handRecord(), o)["token_deadline_lateness"]; ok {
		t.Errorf("lateness %v without a deadline", v)
	}
}
