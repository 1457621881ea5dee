package engine_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
)

// TestVocabularies: the simulator speaks as vLLM, SGLang and TensorRT-LLM do, each with its habits, and what is said of
// it is what it knows of itself.
func TestVocabularies(t *testing.T) {
	for _, tt := range []struct {
		metrics, title, url string
		tokens              bool    // the server counts cache hits in tokens
		waiting             float64 // at least, on average
	}{
		{metrics: options.MetricsVLLM, title: "vLLM", url: "http://mem/metrics", tokens: true, waiting: 8},
		{metrics: options.MetricsSGLang, title: "SGLang", url: "http://mem/metrics", tokens: true, waiting: 7}, // its gauge is set when prompts are admitted
		{metrics: options.MetricsTensorRTLLM, title: "TensorRT-LLM", url: "http://mem/prometheus/metrics", waiting: 8},
	} {
		t.Run(tt.metrics, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := batching(func(p *batch.Params) { p.PrefixCache = true })
				o.Metrics = tt.metrics
				b := newBed(t, o, nil)
				r := b.run(`{randomSeed: 5, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, serverMetrics: true, ` + streamedLoad +
					`, phases: [{name: warmup, requests: 16, concurrency: 16}, {name: profiling, requests: 200, concurrency: 24}]}}`)
				if r.State != bench.StateCompleted {
					t.Fatalf("%v %+v", r.State, r.Error)
				}
				s := b.serverOf(r)
				if one := s.Targets[0]; one.State != diagnose.OK || one.URL != tt.url || len(one.Servers) != 1 || one.Servers[0] != tt.title {
					t.Errorf("target %+v", one)
				}
				p := profilingPhase(t, s)
				truth := b.server.Truth()
				truth = truth[len(truth)-200:]
				var prompt, output, cached, queue float64
				for i := range truth {
					one := &truth[i]
					prompt, output = prompt+float64(one.PromptTokens), output+float64(one.OutputTokens)
					cached, queue = cached+float64(one.Batch.CachedTokens), queue+one.Batch.QueueMs
				}
				b.settles(p, "requests", 200)
				b.settles(p, "prompt_tokens", prompt)
				b.settles(p, "generation_tokens", output)
				if tt.tokens {
					b.settles(p, "prefix_hits", cached)
				}
				if v := p.Value("queue_time"); v == nil || math.Abs(*v.Avg*1000-queue/200) > 1 {
					t.Errorf("queue %+v, want %v ms", v, queue/200)
				}
				// Eight sequences run from the first step to the last ones.
				if v := p.Value("running"); v == nil || *v.Avg < 7.2 || *v.Max != 8 {
					t.Errorf("running %+v", v)
				}
				if v := p.Value("waiting"); v == nil || *v.Avg < tt.waiting || *v.Max > 16 {
					t.Errorf("waiting %v, at most %v", *v.Avg, *v.Max)
				}
				if v := p.Value("kv_usage"); v == nil || *v.Avg <= 0 || *v.Max >= 0.2 {
					t.Errorf("use of the cache %+v", v)
				}
				if hits, queries := p.Value("prefix_hits"), p.Value("prefix_queries"); hits == nil || queries == nil ||
					math.Abs(*hits.TotalSettled / *queries.TotalSettled - cached/prompt) > 0.02 {
					t.Errorf("hits %+v of %+v, want %v", hits, queries, cached/prompt)
				}
				for _, c := range p.Checks {
					if !c.Holds {
						t.Errorf("check %+v", c)
					}
				}
				if p.Budget == nil {
					t.Fatal("no time budget")
				}
				sum := 0.0
				for _, segment := range p.Budget.Segments {
					sum += segment.MS
				}
				if want := b.value(r.ID, "time_to_first_token", "avg"); math.Abs(sum-want) > 0.01*want {
					t.Errorf("the segments add up to %v of %v ms", sum, want)
				}
			})
		})
	}
}

// settles compares a settled total.
func (b *bed) settles(p *diagnose.Phase, name string, want float64) {
	b.t.Helper()
	if v := p.Value(name); v == nil || v.TotalSettled == nil || *v.TotalSettled != want {
		b.t.Errorf("%s: %+v, want %v", name, v, want)
	}
}

// TestMetricsReset: a server whose counters begin again is found out, whichever words it uses.
func TestMetricsReset(t *testing.T) {
	for _, metrics := range options.Choices("metrics") {
		t.Run(metrics, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := batching(nil)
				o.Metrics, o.MetricsReset = metrics, 8*time.Second
				b := newBed(t, o, nil)
				r := b.run(`{randomSeed: 5, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, serverMetrics: true, ` + streamedLoad +
					`, phases: [{name: profiling, duration: 12, concurrency: 8}]}}`)
				p := profilingPhase(t, b.serverOf(r))
				found := false
				for _, f := range p.Findings {
					found = found || f.Code == "server-restarted"
				}
				requests := p.Value("requests")
				if r.State != bench.StateCompleted || !found || !requests.Partial || *requests.Total <= 0 || *requests.Total > float64(r.Summary.Requests) {
					t.Errorf("%v, findings %+v, requests %+v of %d", r.State, p.Findings, requests, r.Summary.Requests)
				}
			})
		})
	}
}
