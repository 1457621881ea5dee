package config

import (
	"testing"

	"aiperfd/internal/engine/config/problem"
)

// A run of few requests gives a warning about its percentiles.
func TestShortRun(t *testing.T) {
	tests := map[string]string{
		"{requests: 100}":                 "",
		"{requests: 99}":                  "only 99 requests: p95 and higher percentiles are unreliable",
		"{requests: 10}":                  "only 10 requests: p75 and higher percentiles are unreliable",
		"{requests: 20}":                  "only 20 requests: p90 and higher percentiles are unreliable",
		"{requests: 49}":                  "only 49 requests: p90 and higher percentiles are unreliable",
		"{requests: 9}":                   "only 9 requests: percentiles are not meaningful",
		"{requests: 1}":                   "only 1 request: percentiles are not meaningful",
		"{requests: 2, concurrency: 4}":   "only 2 requests: concurrency 4 is never reached, and percentiles are not meaningful",
		"{requests: 50, concurrency: 64}": "only 50 requests: concurrency 64 is never reached, and p95 and higher percentiles are unreliable",
		"[{name: warm, kind: warmup, requests: 1}, {name: a, kind: profiling, requests: 2}]": "only 2 requests in phase a: percentiles are not meaningful",
		"{duration: 5}":                             "",
		"{requests: 200, concurrency: 20}":          "",
		"{requests: 199, concurrency: 20}":          "199 requests at concurrency 20: the last 19 run at falling concurrency, so that throughput is underestimated; use at least 200 requests, or a duration",
		"{requests: 199, concurrency: 20, rate: 5}": "",
		"{requests: 19, concurrency: 2}": "19 requests at concurrency 2: the last one runs at falling concurrency, so that throughput is underestimated; " +
			"use at least 20 requests, or a durationonly 19 requests: p75 and higher percentiles are unreliable",
	}
	for phases, want := range tests {
		_, warnings := mustLoad(t, "benchmark: {model: m, phases: "+phases+"}", LoadOptions{Choices: someChoices()})
		got := ""
		for _, w := range warnings {
			if w.Code == problem.CodeShortRun {
				got += w.Detail
			}
		}
		if got != want {
			t.Errorf("%s: warning %q, want %q", phases, got, want)
		}
	}
}
