package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
)

// compile returns the plan of phases and the members of a dataset, synthetic unless they say
// otherwise.
func compilePlan(t *testing.T, phases, dataset string) *plan.Plan {
	t.Helper()
	if !strings.Contains(dataset, "type:") {
		dataset = "type: synthetic, entries: 10, " + dataset
	}
	text := fmt.Sprintf("benchmark:\n  model: m\n  endpoint: {url: \"http://h:1\", streaming: true}\n"+
		"  datasets: [{%s}]\n  phases: [%s]\n", dataset, phases)
	doc, _, err := config.Load([]byte(text), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a document asks for in memory is known before the run, for every generator.
func TestCapOfMemory(t *testing.T) {
	caps := Caps{Memory: 256 << 20}
	tests := []struct {
		name, dataset, phase string
		refused              bool
	}{
		{"chat", "prompts: {isl: {mean: 550, median: 400}}", "concurrency: 100, requests: 1000", false},
		{"long prompts", "prompts: {isl: 128000}", "concurrency: 16, requests: 1000", false},
		{"long prompts, many at a time", "prompts: {isl: 128000}", "concurrency: 1000, requests: 10000", true},
		{"few long prompts", "prompts: {isl: 1000000}", "concurrency: 1000, requests: 5", false},
		{"a huge prompt", "prompts: {isl: 16000000}", "concurrency: 1, requests: 10", true},
		{"a rare huge prompt", "prompts: {isl: {points: [{value: 1, weight: 1000000}, {value: 16000000, weight: 1}]}}", "concurrency: 1, requests: 10", true},
		{"pairs", "prompts: {sequenceDistribution: [{isl: 16000000, osl: 1, probability: 100}]}", "concurrency: 1, requests: 10", true},
		{"many texts", "prompts: {isl: 10000, batchSize: 10000}", "concurrency: 1, requests: 10", true},
		{"prefixes", "prefixPrompts: {poolSize: 100000, length: 10000}", "concurrency: 1, requests: 10", true},
		{"a long history", "turns: 100000", "concurrency: 1, sessions: 10", true},
		{"images", "images: {width: 512, height: 512}", "concurrency: 20, requests: 1000", false},
		{"huge images", "images: {width: 8000, height: 8000, batchSize: 50}", "concurrency: 1, requests: 10", true},
		{"audio", "audio: {length: 10}", "concurrency: 20, requests: 1000", false},
		{"four hours of audio", "audio: {length: {mean: 14400}}", "concurrency: 1, requests: 10", true},
		{"audio in many bits", "audio: {length: 600, sampleRates: [8, 384000], depths: [32], channels: 2}", "concurrency: 1, requests: 10", true},
		{"a long system prompt", "systemPrompt: " + strings.Repeat("x", 900_000), "concurrency: 200, requests: 1000", true},
		{"a long record", "type: file, format: single_turn, records: [{text: " + strings.Repeat("x", 900_000) + "}]", "concurrency: 200, requests: 1000", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := caps.Check(compilePlan(t, "{type: concurrency, "+tt.phase+"}", tt.dataset))
			if refused := problem.Has(err, problem.CodeOutOfRange); refused != tt.refused {
				t.Errorf("Check = %v, want it to be refused: %v", err, tt.refused)
			}
		})
	}
}

func TestCaps(t *testing.T) {
	caps := Caps{Concurrency: 100, Rate: 1000, Duration: time.Hour, Requests: 10_000, Tokens: 1_000_000, Connections: 50}
	const small = "prompts: {isl: 100, osl: 10}"
	tests := []struct {
		name, phases, dataset string
		want                  []string // pointers and parts of details, in order
	}{
		{"within", "{type: concurrency, concurrency: 50, requests: 100}", small, nil},
		{"at the caps", "{type: constant, rate: 1000, concurrency: 100, requests: 5000, duration: 3600}", small, nil},
		{"concurrency", "{type: constant, rate: 1, concurrency: 101, requests: 10}", small,
			[]string{"#/benchmark/phases/0/concurrency concurrency is 101, the daemon allows 100 (--max-concurrency)"}},
		{"connections", "{type: concurrency, concurrency: 51, requests: 100}", small,
			[]string{"#/benchmark/phases/0/concurrency 51 connections are needed at a time, the daemon can open 50"}},
		{"few requests", "{type: concurrency, concurrency: 51, requests: 50}", small, nil},
		{"prefill", "{type: constant, rate: 1, prefillConcurrency: 101, requests: 10}", small, []string{"#/benchmark/phases/0/prefillConcurrency prefill"}},
		{"users", "{type: user_centric, users: 101, rate: 10, requests: 101}", small + ", turns: 2", []string{"#/benchmark/phases/0/users users is 101"}},
		{"second phase", "{name: a, kind: warmup, type: concurrency, requests: 1}, {name: b, kind: profiling, type: poisson, rate: 1001, requests: 1}", small,
			[]string{"#/benchmark/phases/1/rate 1001 arrivals per second, the daemon allows 1000 (--max-rate)"}},
		{"session rate", "{type: poisson, sessionRate: 2000, requests: 1}", small, []string{"#/benchmark/phases/0/sessionRate 2000"}},
		{"series", "{type: constant, rateSeries: {points: [{timeS: 0, qps: 1}, {timeS: 10, qps: 5000}]}, requests: 1}", small, []string{"#/benchmark/phases/0/rateSeries 5000"}},
		{"ramp", "{type: constant, rate: 5000, rateRamp: {duration: 10}, requests: 1}", small, []string{"#/benchmark/phases/0/rate 5000"}},
		{"durations together", "{name: a, kind: warmup, type: concurrency, duration: 1800}, {name: b, kind: profiling, type: concurrency, duration: 1801}", small,
			[]string{"#/benchmark/phases/0/duration the phases last 1h0m1s, the daemon allows 1h0m0s (--max-duration)"}},
		{"requests together", "{name: a, kind: warmup, type: concurrency, requests: 9000}, {name: b, kind: profiling, type: concurrency, requests: 1001}", "prompts: {isl: 10}",
			[]string{"#/benchmark/phases the phases send 10001 requests, the daemon allows 10000 (--max-requests)"}},
		{"requests of a rate", "{type: constant, rate: 100, duration: 200}", "prompts: {isl: 1}", []string{"#/benchmark/phases the phases send 20000 requests"}},
		{"requests of sessions", "{type: concurrency, sessions: 6000}", "prompts: {isl: 1}, turns: 2", []string{"#/benchmark/phases the phases send 12000 requests"}},
		{"requests of a closed loop are unknown", "{type: concurrency, duration: 3600}", small, nil},
		{"tokens", "{type: concurrency, requests: 10}", "prompts: {isl: {mean: 99990, stddev: 5}, osl: 11}",
			[]string{"#/benchmark/datasets/0/prompts the requests have about 1000010 tokens, the daemon allows 1000000 (--max-tokens)"}},
		{"tokens of one request", "{type: concurrency, duration: 1}", "prompts: {isl: 2000000}", []string{"#/benchmark/datasets/0/prompts"}},
		{"several", "{type: constant, rate: 9999, concurrency: 999, requests: 1}", small, []string{"#/benchmark/phases/0/concurrency", "#/benchmark/phases/0/rate"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compilePlan(t, tt.phases, tt.dataset)
			if err := (Caps{}).Check(p); err != nil {
				t.Errorf("without caps: %v", err)
			}
			err := caps.Check(p)
			var invalid problem.Invalid
			if found, ok := errors.AsType[*problem.Invalid](err); ok {
				invalid = *found
			} else if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range invalid.Problems {
				if p.Code != problem.CodeOutOfRange {
					t.Errorf("code %s, want out-of-range", p.Code)
				}
				got = append(got, p.Pointer+" "+p.Detail)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("problems %q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("problem %q, want %q", got[i], want)
				}
			}
		})
	}
}
