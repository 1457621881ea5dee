package engine

import (
	"fmt"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// A run of several profiling phases knows the load of each, for lists, which do not have its configuration.
func TestDescribeLoads(t *testing.T) {
	for _, tt := range []struct{ phases, want string }{
		{"{name: a, kind: profiling, type: concurrency, concurrency: 4, requests: 9}", "[]"},
		{"{name: warmup, type: concurrency, concurrency: 2, requests: 9}, {name: a, kind: profiling, type: concurrency, concurrency: 4, requests: 9}", "[]"},
		{"{name: a, kind: profiling, type: concurrency, concurrency: 4, requests: 9}, {name: b, kind: profiling, type: poisson, rate: 40, requests: 9}",
			"[{a 4 concurrent} {b 40 req/s}]"},
	} {
		text := "benchmark:\n  model: m\n  endpoint: {url: \"http://h:1\"}\n" +
			"  datasets: [{type: synthetic, entries: 10}]\n  phases: [" + tt.phases + "]\n"
		doc, _, err := config.Load([]byte(text), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		r, err := describe(doc, run.Submission{}, p, redact.NewSet())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Loads); got != tt.want {
			t.Errorf("loads of [%s] = %s, want %s", tt.phases, got, tt.want)
		}
	}
}
