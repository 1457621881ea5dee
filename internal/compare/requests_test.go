package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// written writes a record file with latencies of sessions with that many turns, a failure at its end,
// and a request of the warm-up, and reads it.
func written(t *testing.T, in *Input, turns int, latencies []float64) {
	t.Helper()
	dir := t.TempDir()
	line := func(kind string, session, turn int, at, latency float64, fault string) string {
		return fmt.Sprintf(`{"metadata":{"session_num":%d,"turn_index":%d,"conversation_id":"c%d","credit_issued_ns":%d,`+
			`"request_end_ns":%d,"benchmark_phase":%q},"metrics":{"request_latency":{"value":%v,"unit":"ms"},`+
			`"output_sequence_length":{"value":10,"unit":"tokens"}},"error":%s}`,
			session, turn, session, int64(1e6*at), int64(1e6*(at+latency)), kind, latency, fault)
	}
	lines := []string{line("warmup", 9999, 0, 0, 77, "null")}
	for i, v := range latencies {
		lines = append(lines, line("profiling", i/turns, i%turns, float64(100*i), v, "null"))
	}
	lines = append(lines, line("profiling", len(latencies), 0, float64(100*len(latencies)), 1, `{"code":500}`))
	slices.Reverse(lines[1:]) // the order of the file is that of the ends
	if err := os.WriteFile(filepath.Join(dir, "profile_export.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.Run.State, in.Run.Summary = bench.StateCompleted, &run.Summary{Requests: int64(len(latencies)), Errors: 1}
	var err error
	if in.Requests, err = ReadRequests(t.Context(), results.Open(dir, ""), in); err != nil || in.Requests == nil {
		t.Fatalf("requests = %v, %v", in.Requests, err)
	}
}

// schedule makes the latencies of a run whose prompts have these lengths.
func schedule(prompts, noise uint64, n int, factor float64) []float64 {
	p, r := rand.New(rand.NewPCG(prompts, 1)), rand.New(rand.NewPCG(noise, 2))
	out := make([]float64, n)
	for i := range out {
		out[i] = factor * 100 * math.Exp(0.5*p.NormFloat64()) * (1 + 0.02*r.NormFloat64())
	}
	return out
}

// single makes a run of requests.
func single(t *testing.T, id string, seed int64, turns int, latencies []float64) []Input {
	t.Helper()
	sorted := slices.Sorted(slices.Values(latencies))
	in := input(t, id, `{}`, latency("request_latency", sorted[len(sorted)/2], sorted[len(sorted)/2]*0.7, sorted[len(sorted)/2]*1.3),
		rateOf("output_token_throughput", 100), rateOf("request_error_rate", 0.1))
	in.Run.Seed, in.Run.CreatedAt = seed, start
	written(t, &in, turns, latencies)
	return []Input{in}
}

// Single runs are compared by their requests: in pairs if both have one schedule, which shows what the
// runs apart hide.
func TestJudgeSingleRuns(t *testing.T) {
	const n = 800
	tests := []struct {
		name    string
		a, b    []Input
		method  string
		verdict results.Verdict
	}{
		{"same schedule", single(t, "a", 1, 1, schedule(1, 1, n, 1)), single(t, "b", 1, 1, schedule(1, 2, n, 1.04)), methodPaired, IsWorse},
		{"same schedule, equal", single(t, "a", 1, 1, schedule(1, 1, n, 1)), single(t, "b", 1, 1, schedule(1, 2, n, 1)), methodPaired, Equivalent},
		{"same schedule of sessions", single(t, "a", 1, 4, schedule(1, 1, n, 1)), single(t, "b", 1, 4, schedule(1, 2, n, 1.04)), methodPaired, IsWorse},
		{"other seeds", single(t, "a", 1, 1, schedule(1, 1, n, 1)), single(t, "b", 2, 1, schedule(2, 2, n, 1.04)), methodMover, Inconclusive},
		{"other numbers of requests", single(t, "a", 1, 1, schedule(1, 1, n, 1)), single(t, "b", 1, 1, schedule(1, 2, 2*n, 1)), methodMover, Inconclusive},
		{"two sessions", single(t, "a", 1, n/2, schedule(1, 1, n, 1)), single(t, "b", 1, n/2, schedule(1, 2, n, 1.04)), methodMover, Inconclusive},
	}
	for _, tt := range tests {
		a, err := Judge(tt.a, tt.b, AnswerOptions{Metrics: []string{"request_latency:p50"}})
		if err != nil {
			t.Fatal(err)
		}
		if m := a.Metrics[0]; m.Method != tt.method || m.Verdict != tt.verdict {
			t.Errorf("%s: %s", tt.name, lines(a))
		}
	}
}

// A run that is shorter than its own correlation has no verdict, and the answer says so; the rate of
// a run comes from parts of its time.
func TestJudgeShortRuns(t *testing.T) {
	slow := func(noise uint64, factor float64) []float64 {
		out := schedule(1, noise, 800, factor)
		for i := range out {
			out[i] *= 2 + math.Sin(2*math.Pi*float64(i)/800)
		}
		return out
	}
	a, err := Judge(single(t, "a", 1, 1, slow(1, 1)), single(t, "b", 2, 1, slow(2, 2)),
		AnswerOptions{Metrics: []string{"request_latency:p50", "output_token_throughput"}})
	if err != nil {
		t.Fatal(err)
	}
	if m := a.Metrics[0]; m.Verdict != Inconclusive || m.Reason != reasonShort || m.P != nil || m.Change == nil {
		t.Errorf("p50: %s", lines(a))
	}
	if !slices.ContainsFunc(a.Doubts, func(d results.AnswerDoubt) bool { return d.Code == "too-short" }) {
		t.Errorf("doubts = %v", a.Doubts)
	}
	if m := a.Metrics[1]; m.Method != methodMover || m.Verdict != Equivalent {
		t.Errorf("throughput: %s", lines(a))
	}
}

// Requests are read only if they are all there, and not too many.
func TestReadRequests(t *testing.T) {
	in := single(t, "a", 1, 2, schedule(1, 1, 200, 1))[0]
	first := in.Requests.list[0]
	if len(in.Requests.list) != 201 || first.session != 0 || first.turn != 0 || !in.Requests.list[200].failed {
		t.Errorf("%d requests, the first %+v", len(in.Requests.list), first)
	}
	in.Run.Summary.Requests++
	none := results.Open(t.TempDir(), "")
	for _, s := range []*run.Summary{nil, {Requests: MaxRequests + 1}, {Requests: 5}} {
		in.Run.Summary = s
		if got, err := ReadRequests(t.Context(), none, &in); got != nil || err != nil {
			t.Errorf("%+v: %v, %v", s, got, err)
		}
	}
}

// The second run of the same prompts finds the first ones in the cache of a server, unless the server
// says that it does not, or the prompts are made different.
func TestDoubtCaches(t *testing.T) {
	cached := func(pct float64) []string {
		return []string{rateOf("unique_prompt_ratio", 1), rateOf("repeated_input_pct", 0), rateOf("overall_usage_prompt_cache_read_pct", pct)}
	}
	side := func(id string, seed int64, target, config string, metrics []string) []Input {
		in := input(t, id, config, append(metrics, latency("request_latency", 100, 99, 101))...)
		in.Run.Seed, in.Run.Targets, in.Run.Summary = seed, []string{target}, &run.Summary{Requests: 400}
		return []Input{in}
	}
	const bust = `{"datasets":[{"prompts":{"cacheBust":{"target":"per_request"}}}]}`
	const seeded = `{"datasets":[{"type":"synthetic","randomSeed":9}]}`
	const marked = `{"datasets":[{"type":"file","path":"p","format":"single_turn","cacheBust":{"target":"per_request"}}]}`
	file := func(format string, seed int) string {
		return fmt.Sprintf(`{"datasets":[{"type":"file","path":"p","format":%q,"randomSeed":%d}]}`, format, seed)
	}
	tests := []struct {
		name string
		a, b []Input
		want string
	}{
		{"same prompts", side("a", 1, "x", `{}`, nil), side("b", 1, "x", `{}`, nil), "warm-second"},
		{"other seed", side("a", 1, "x", `{}`, nil), side("b", 2, "x", `{}`, nil), ""},
		{"other server", side("a", 1, "x", `{}`, nil), side("b", 1, "y", `{}`, nil), ""},
		{"other path of the server", side("a", 1, "http://x/v1", `{}`, nil), side("b", 1, "http://x/v2", `{}`, nil), "warm-second"},
		{"same seed of the data", side("a", 1, "x", seeded, nil), side("b", 2, "x", seeded, nil), "warm-second"},
		{"same file", side("a", 1, "x", file("single_turn", 1), nil), side("b", 2, "x", file("single_turn", 2), nil), "warm-second"},
		{"same trace", side("a", 1, "x", file("mooncake_trace", 1), nil), side("b", 1, "x", file("mooncake_trace", 1), nil), "warm-second"},
		{"other words for a trace", side("a", 1, "x", file("mooncake_trace", 1), nil), side("b", 2, "x", file("mooncake_trace", 2), nil), ""},
		{"marked file", side("a", 1, "x", marked, nil), side("b", 2, "x", marked, nil), ""},
		{"marked prompts", side("a", 1, "x", bust, nil), side("b", 1, "x", bust, nil), ""},
		{"server had cached nothing", side("a", 1, "x", `{}`, cached(0)), side("b", 1, "x", `{}`, cached(0)), ""},
		{"server had cached them", side("a", 1, "x", `{}`, cached(0)), side("b", 1, "x", `{}`, cached(90)), "cache-differs"},
	}
	for _, tt := range tests {
		a, err := Judge(tt.a, tt.b, AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, d := range a.Doubts {
			codes = append(codes, d.Code)
		}
		if strings.Join(codes, " ") != tt.want {
			t.Errorf("%s: doubts %v, want %q", tt.name, a.Doubts, tt.want)
		}
	}
}

// Sweeps are compared cell by cell, in one family: what is significant alone need not be among many.
func TestJudgeSweeps(t *testing.T) {
	sweep := func(name string, cells ...string) []Input {
		var out []Input
		for i, cell := range cells {
			values := []float64{100, 101, 99}
			if strings.HasPrefix(name, "b") && cell == "concurrency 4" {
				values = []float64{108, 110, 107}
			}
			for _, in := range side(t, fmt.Sprint(name, i), start, values...) {
				in.Cell = cell
				out = append(out, in)
			}
		}
		return out
	}
	a, err := Judge(sweep("a", "concurrency 2", "concurrency 4"), sweep("b", "concurrency 4", "concurrency 2", "concurrency 8"), AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Verdict != IsWorse || a.Sentences[0] != "B is worse than A: Time to First Token p50 at concurrency 4 +8.3 %." ||
		len(a.Metrics) != 2 || a.Metrics[0].Verdict != Equivalent || a.Estimate.Cell != "concurrency 4" || len(a.Evidence) != 6 {
		t.Errorf("%s %s\n%s\n%+v", a.Verdict, a.Sentences[0], lines(a), a.Estimate)
	}
	alone, err := Judge(ofCell(sweep("a", "concurrency 4"), "concurrency 4"), sweep("b", "concurrency 4"), AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *a.Metrics[1].P, 2**alone.Metrics[0].P; math.Abs(got-want) > 1e-12 {
		t.Errorf("p = %v in a family of two, want %v", got, want)
	}
	if !slices.ContainsFunc(a.Doubts, func(d results.AnswerDoubt) bool { return d.Code == "cells-missing" }) {
		t.Errorf("doubts = %v", a.Doubts)
	}
	if _, err := Judge(sweep("a", "concurrency 2"), side(t, "b", start, 100), AnswerOptions{}); err == nil {
		t.Error("a sweep is compared with a run")
	}
}
