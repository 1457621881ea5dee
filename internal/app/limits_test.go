package app

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
)

// The caps hold for every variation of a study.
func TestCapsOfStudies(t *testing.T) {
	caps := engine.Caps{Concurrency: 100, Rate: 50, Duration: time.Hour}
	for name, tt := range map[string]struct{ sweep, want string }{
		"within":  {"{type: grid, parameters: {phases.profiling.concurrency: [1, 100]}}", ""},
		"grid":    {"{type: grid, parameters: {phases.profiling.concurrency: [1, 101, 102]}}", "phases.profiling.concurrency=101: concurrency is 101, the daemon allows 100 (--max-concurrency)"},
		"search":  {"{type: adaptive_search, searchSpace: [{path: phases.profiling.concurrency, lo: 1, hi: 200, kind: int}], objectives: [{metric: output_token_throughput, direction: maximize}], maxIterations: 5}", "phases.profiling.concurrency=200: concurrency is 200, the daemon allows 100 (--max-concurrency)"},
		"repeats": {"", "concurrency is 200, the daemon allows 100 (--max-concurrency)"},
	} {
		t.Run(name, func(t *testing.T) {
			concurrency, more := 1, "sweep: "+tt.sweep
			if tt.sweep == "" {
				concurrency, more = 200, "multiRun: {numRuns: 3}"
			}
			text := fmt.Sprintf("benchmark:\n  model: m\n  endpoint: {url: 'http://h:1'}\n"+
				"  datasets: [{type: synthetic, entries: 10, prompts: {isl: 10}}]\n"+
				"  phases: [{type: concurrency, concurrency: %d, requests: 500}]\n%s\n", concurrency, more)
			_, err := loadChecked([]byte(text), config.YAML, config.LoadOptions{Untrusted: true, Choices: plan.Choices()}, caps)
			got := ""
			if invalid, ok := errors.AsType[*problem.Invalid](err); ok && len(invalid.Problems) == 1 {
				got = invalid.Problems[0].Detail
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("problem %q, want %q", got, tt.want)
			}
		})
	}
}
