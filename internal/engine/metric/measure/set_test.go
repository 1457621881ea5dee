package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// randomRecord is a plausible record; every seventh fails, every eleventh is
// cancelled.
func randomRecord(r *rand.Rand, i, chunks int) *bench.Record {
	start := time.Duration(1+i) * 10 * ms
	at := start + time.Duration(50e6*math.Exp(r.NormFloat64()/3))
	rec := &bench.Record{
		Stamps: bench.Stamps{
			Due: start - ms, Permit: start - 100*time.Microsecond, Start: start,
			Connected: start + 1000, Wrote: start + 2000, FirstByte: at - 1000, Headers: at - 500, FirstBody: at,
		},
		Conn:        bench.Connection{Reused: true, Reads: int32(chunks), Sent: 300, Received: 9000},
		InputTokens: new(bench.Tokens(20 + r.IntN(200))), OutputTokens: new(bench.Tokens(chunks)),
		ReasoningTokens: new(bench.Tokens(0)), Content: bench.Content{RequestedTokens: 50}, TokenSource: bench.TokensServer,
	}
	rec.Answer = bench.Answer{Streamed: true, FirstEvent: at - 100, Usage: &bench.Usage{Input: rec.InputTokens, Output: rec.OutputTokens}}
	for c := range chunks {
		rec.Answer.Chunks = append(rec.Answer.Chunks, bench.Chunk{At: at, Bytes: 4, Tokens: 1, Read: int32(c)})
		at += time.Duration(1 + r.Int64N(20e6))
	}
	rec.Stamps.End = at
	switch {
	case i%7 == 6:
		rec.Answer.Failure = &bench.Failure{Class: bench.ServerError, Status: 500, Message: fmt.Sprintf("worker %d died", i)}
	case i%11 == 10:
		rec.Answer.Failure = &bench.Failure{Class: bench.Cancelled, Message: "grace period over"}
	}
	return rec
}

// randomRecords are n of them with 1 to 20 chunks.
func randomRecords(seed uint64, n int) []*bench.Record {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]*bench.Record, n)
	for i := range out {
		out[i] = randomRecord(r, i, 1+r.IntN(20))
	}
	return out
}

// observed returns a set that has seen the records.
func observed(t testing.TB, o Options, records []*bench.Record) *Set {
	t.Helper()
	s := newSet(t, o)
	for _, r := range records {
		s.Observe(r)
	}
	return s
}

// withSLOs are options with two objectives.
func withSLOs() Options {
	o := everything()
	o.SLOs = map[string]float64{"time_to_first_token": 60, "output_token_throughput_per_user": 90}
	return o
}

func TestObjectives(t *testing.T) {
	tests := []struct {
		tag  string
		v    float64
		want string
	}{
		{"time_to_first_tokn", 1, `unknown metric "time_to_first_tokn", did you mean "time_to_first_token"?`},
		{"inter_chunk_latency", 1, `metric "inter_chunk_latency" has no single value for each request, did you mean "inter_token_latency"?`},
		{"request_throughput", 1, `metric "request_throughput" has no single value`},
		{"error_isl", 1, `metric "error_isl" exists for errors only`},
		{"corrected_request_latency", 1, `metric "corrected_request_latency" is not measured in this run, did you mean "request_latency"?`},
		{"request_latency", math.NaN(), `threshold NaN of "request_latency" is not a number`},
	}
	for _, test := range tests {
		o := everything()
		o.OpenLoop = false
		o.SLOs = map[string]float64{test.tag: test.v}
		_, err := NewSet(o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewSet with %s: error %v, want %s", test.tag, err, test.want)
		}
	}
	plain := everything()
	plain.Streaming, plain.SLOs = false, map[string]float64{"inter_token_latency": 10}
	const streams = `metric "inter_token_latency" is not measured without streaming (--streaming)`
	if _, err := NewSet(plain); err == nil || !strings.Contains(err.Error(), streams) {
		t.Errorf("without streaming: error %v, want %s", err, streams)
	}
	o := everything()
	o.SLOs = map[string]float64{"nope": 1, "request_latenzy": 2, "request_latency": 3}
	_, err := NewSet(o)
	if err == nil || !strings.Contains(err.Error(), `"nope"`) || !strings.Contains(err.Error(), `"request_latenzy"`) {
		t.Errorf("NewSet: error %v, want both unknown tags", err)
	}
}

// TestLive checks that live results agree with final ones: exactly in what is
// counted, up to the sketch's error in percentiles.
func TestLive(t *testing.T) {
	set := observed(t, withSLOs(), randomRecords(1, 3000))
	stats := bench.PhaseStats{Start: ms, RequestsEnd: 40 * time.Second}
	final := set.Final(40*time.Second-ms, stats)
	live := set.Live(stats, time.Minute)
	for i := range final {
		want := &final[i]
		got := live.Find(want.Def.Tag)
		if want.Def.Kind == catalogue.Curve {
			if got != nil {
				t.Errorf("%s is live", want.Def.Tag)
			}
			continue
		}
		if got == nil {
			t.Errorf("%s is not live", want.Def.Tag)
			continue
		}
		if scalar := want.Scalar(); got.Count != want.Count || (got.RelError != 0) == scalar || want.RelError != 0 {
			t.Errorf("%s: count %d rel_error %v, want %d", want.Def.Tag, got.Count, got.RelError, want.Count)
		}
		compareLive(t, got, want)
	}
	if len(live) >= len(final) {
		t.Errorf("%d live metrics, %d final ones", len(live), len(final))
	}
}

// compareLive compares the statistics of a live metric with the exact ones.
func compareLive(t *testing.T, got, want *metric.Result) {
	t.Helper()
	for s := range numStats {
		if s == metric.MAD || s == metric.IQR || s == metric.TailRatio { // differences and ratios of estimates; MAD is not live
			continue
		}
		w, wanted := want.Get(s)
		g, ok := got.Get(s)
		tolerance := 1e-9
		if s >= metric.P1 && s != metric.Std {
			tolerance = sketch.RelativeError
		}
		if ok != wanted || ok && g != w && !near(g, w, tolerance) && math.Abs(g-w) > 1e-9 {
			t.Errorf("%s: %v = %v, %v, want %v, %v", want.Def.Tag, s, g, ok, w, wanted)
		}
	}
}

// TestMerge checks that results do not depend on how records were divided among sets.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := randomRecords(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 60).Draw(t, "n"))
		cut := rapid.IntRange(0, len(records)).Draw(t, "cut")
		o := withSLOs()
		o.Budget = rapid.SampledFrom([]int64{-1, 1, 0}).Draw(t, "budget")
		whole, a, b := mustSet(t, o), mustSet(t, o), mustSet(t, o)
		for i, r := range records {
			whole.Observe(r)
			if i < cut {
				a.Observe(r)
			} else {
				b.Observe(r)
			}
		}
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		whole.enforce() // merging has counted the memory, observing does so now and then
		if diff := cmp.Diff(whole.Counters(), a.Counters()); diff != "" {
			t.Fatalf("counters (-whole +merged):\n%s", diff)
		}
		if diff := cmp.Diff(whole.ErrorGroups(), a.ErrorGroups()); diff != "" {
			t.Fatalf("errors (-whole +merged):\n%s", diff)
		}
		for i := range whole.series {
			w, g := slices.Collect(whole.series[i].sketch.Buckets()), slices.Collect(a.series[i].sketch.Buckets())
			if diff := cmp.Diff(w, g); diff != "" {
				t.Fatalf("%s: buckets (-whole +merged):\n%s", whole.series[i].row.Tag, diff)
			}
		}
		sameResults(t, whole.Final(time.Minute, bench.PhaseStats{Start: ms}), a.Final(time.Minute, bench.PhaseStats{Start: ms}))
	})
}

// mustSet is newSet for rapid.
func mustSet(t *rapid.T, o Options) *Set {
	s, err := NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fataler is the common part of testing.T and rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sameResults compares all statistics up to rounding.
func sameResults(t fataler, want, got metric.Results) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d metrics, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].Def.Tag != got[i].Def.Tag || want[i].Count != got[i].Count {
			t.Fatalf("%s count %d, want %s count %d", got[i].Def.Tag, got[i].Count, want[i].Def.Tag, want[i].Count)
		}
		for s := range numStats {
			w, wanted := want[i].Get(s)
			g, ok := got[i].Get(s)
			if ok != wanted || g != w && !near(g, w, 1e-9) && math.Abs(g-w) > 1e-6 {
				t.Fatalf("%s: %v = %v, want %v", want[i].Def.Tag, s, g, w)
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	if err := newSet(t, everything()).Merge(newSet(t, withSLOs())); err == nil {
		t.Error("merged sets with different options")
	}
	if _, err := Pool(Part{Set: newSet(t, everything())}, Part{Set: newSet(t, withSLOs())}); err == nil {
		t.Error("pooled sets with different options")
	}
	if _, err := PoolLive(Part{Set: newSet(t, everything())}, Part{Set: newSet(t, withSLOs())}); err == nil {
		t.Error("pooled running phases with different options")
	}
	if _, err := Pool(); err == nil {
		t.Error("pooled nothing")
	}
	if _, err := PoolLive(); err == nil {
		t.Error("pooled no running phase")
	}
}

func TestPool(t *testing.T) {
	// Two phases of 10 s, 100 s apart, with one equal request each.
	second := handRecord()
	for _, at := range []*time.Duration{
		&second.Stamps.Due, &second.Stamps.Permit, &second.Stamps.Start, &second.Stamps.Connected,
		&second.Stamps.Wrote, &second.Stamps.FirstByte, &second.Stamps.Headers, &second.Stamps.FirstBody, &second.Stamps.End,
		&second.Answer.FirstEvent,
		&second.Answer.Chunks[0].At, &second.Answer.Chunks[1].At, &second.Answer.Chunks[2].At, &second.Answer.Chunks[3].At,
	} {
		*at += 100 * time.Second
	}
	parts := []Part{
		{Set: observed(t, everything(), []*bench.Record{handRecord()}), Window: 10 * time.Second, Phase: bench.PhaseStats{Start: 1 * time.Second, SkippedTurns: 1}},
		{Set: observed(t, everything(), []*bench.Record{second}), Window: 10 * time.Second, Phase: bench.PhaseStats{Start: 101 * time.Second, SkippedTurns: 2}},
	}
	pooled, err := Pool(parts...)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Pool(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	sameResults(t, parts[0].Set.Final(parts[0].Window, parts[0].Phase), alone)
	want := map[string]float64{
		"request_count": 2, "request_throughput": 0.1, "output_token_throughput": 1, "skipped_turns": 3,
		"effective_concurrency": 0.02, "effective_prefill_throughput": 5, "request_latency": 180,
	}
	for tag, w := range want {
		if got := statistic(t, pooled, tag, metric.Avg); !near(got, w, 1e-12) {
			t.Errorf("%s = %v, want %v", tag, got, w)
		}
	}
	if c := parts[0].Set.Counters().Success; c != 1 {
		t.Errorf("pooling changed a set: %d successes", c)
	}
	live, err := PoolLive(parts...)
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "effective_concurrency") // a curve, which is absent while a phase goes on
	delete(want, "effective_prefill_throughput")
	for tag, w := range want {
		if got := statistic(t, live, tag, metric.Avg); !near(got, w, 1e-12) {
			t.Errorf("so far, %s = %v, want %v", tag, got, w)
		}
	}
	if n := live.Find("request_latency").Count; n != 2 {
		t.Errorf("so far, request_latency has %d values, want 2", n)
	}
}

func TestHistogram(t *testing.T) {
	set := observed(t, everything(), []*bench.Record{handRecord()})
	for tag, want := range map[string]float64{
		"time_to_first_token": 0.1, "inter_chunk_latency": 0.06, "input_sequence_length": 50, "http_req_data_sent": 2048,
	} {
		s, ok := set.Histogram(tag)
		if !ok || s.Max() != want {
			t.Errorf("Histogram(%s): %v, max %v, want %v", tag, ok, s.Max(), want)
			continue
		}
		s.Add(1e6)
		if again, _ := set.Histogram(tag); again.Max() != want {
			t.Errorf("Histogram(%s) hands out the sketch itself", tag)
		}
	}
	for _, tag := range []string{"request_count", "nope", "adj_request_latency"} {
		if _, ok := set.Histogram(tag); ok {
			t.Errorf("Histogram(%s) exists", tag)
		}
	}
}
