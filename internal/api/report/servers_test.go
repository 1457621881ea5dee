package report

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/telemetry/diagnose"
)

// TestServers compares the section about servers with what it should be: the words of the console, and the numbers
// behind them.
func TestServers(t *testing.T) {
	level := func(name string, avg, p99, top float64) diagnose.Value {
		return diagnose.Value{Name: name, Avg: &avg, P99: &p99, Max: &top}
	}
	p := diagnose.Phase{
		Name: "profiling", Kind: "profiling",
		Canonical: []diagnose.Value{
			level("waiting", 31, 32, 32), level("running", 14, 16, 16), level("kv_usage", 0.41, 0.6, 0.63),
			{Name: "prefix_hits", Total: new(38.0)}, {Name: "prefix_queries", Total: new(100.0)},
		},
		Findings: []diagnose.Finding{{Code: "queueing", Message: "requests waited"}},
		Budget: &diagnose.Budget{TTFT: 812, Segments: []diagnose.Segment{
			{Name: "client", MS: 1}, {Name: "connect", MS: 0.5}, {Name: "send", MS: 0.5}, {Name: "frontend", MS: 35},
			{Name: "queue", MS: 590}, {Name: "prefill", MS: 185},
		}},
	}
	s := &diagnose.Server{
		Targets: []diagnose.Target{{Servers: []string{"vLLM"}}},
		Phases:  []diagnose.Phase{{Name: "warm", Kind: "warmup", Canonical: p.Canonical}, p},
	}
	one := (&text{Tables: servers(s)}).markdown()
	for _, want := range []string{
		"**Server: vLLM**", "| Finding | requests waited |",
		"| Server | running 14.0 on average, 16.0 at most; waiting 31.0 on average, 32.0 at most; KV cache 41 %, 63 % at most; 38 % of prompt tokens cached |",
		"| Time | TTFT 812 ms on average: client 2.00, network and frontend 35.0, queue 590, prefill 185 |",
		"| client | 2.00 | 0.2 % |", "| network and frontend | 35.0 | 4.3 % |", "| queue | 590 | 72.7 % |", "| prefill | 185 | 22.8 % |",
		"| in all, from the due time | 812 | 100 % |", "| Running in the server | 14.0 | 16.0 | 16.0 |",
		"| KV cache in use | 41 % | 60 % | 63 % |", "| Prompt tokens cached | 38 % | – | – |",
	} {
		if !strings.Contains(one, want) {
			t.Errorf("no %s in\n%s", want, one)
		}
	}
	p.Name = "second"
	s.Phases = append(s.Phases, p)
	if two := (&text{Tables: servers(s)}).markdown(); !strings.Contains(two, "| second | queue | 590 |") || strings.Contains(two, "warm") {
		t.Errorf("of two phases:\n%s", two)
	}
	if tables := servers(nil); tables != nil {
		t.Errorf("without a server: %v", tables)
	}
}
