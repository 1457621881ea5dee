package prom

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/run"
)

// TestServers compares the families about servers with literal text.
func TestServers(t *testing.T) {
	began := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	server := &diagnose.Server{
		Targets: []diagnose.Target{
			{
				URL: "http://a/metrics", Up: true, Fetches: 10, ScrapeLast: 2.5, ScrapeShare: 0.004,
				Latest: &diagnose.Latest{Running: new(16.0), Waiting: new(32.0), KVUsage: new(0.25), HitRate: new(0.38), Preemptions: new(6.0)},
			},
			{URL: "http://b/metrics", Failures: 3},
		},
		Phases: []diagnose.Phase{
			{Name: "warm", Kind: "warmup", Findings: []diagnose.Finding{{Code: "queueing"}}},
			{Name: "p", Kind: "profiling", Findings: []diagnose.Finding{{Code: "batch-limit"}}, Budget: &diagnose.Budget{
				Segments: []diagnose.Segment{{Name: "client", MS: 1}, {Name: "queue", MS: 590}},
			}},
		},
	}
	const want = `aiperf_server_finding{code="batch-limit",phase="p",run_id="1"} 1
aiperf_server_kv_cache_usage_ratio{run_id="1",target="http://a/metrics"} 0.25
aiperf_server_preemptions_total{run_id="1",target="http://a/metrics"} 6
aiperf_server_prefix_cache_hit_ratio{run_id="1",target="http://a/metrics"} 0.38
aiperf_server_requests_running{run_id="1",target="http://a/metrics"} 16
aiperf_server_requests_waiting{run_id="1",target="http://a/metrics"} 32
aiperf_server_scrape_duration_seconds{run_id="1",target="http://a/metrics"} 0.0025
aiperf_server_scrape_failures_total{run_id="1",target="http://a/metrics"} 0
aiperf_server_scrape_failures_total{run_id="1",target="http://b/metrics"} 3
aiperf_server_scrape_ratio{run_id="1",target="http://a/metrics"} 0.004
aiperf_server_up{run_id="1",target="http://a/metrics"} 1
aiperf_server_up{run_id="1",target="http://b/metrics"} 0
aiperf_time_budget_seconds{phase="p",run_id="1",segment="client"} 0.001
aiperf_time_budget_seconds{phase="p",run_id="1",segment="queue"} 0.59
`
	if got := exposed(t, Run{Run: &run.Run{ID: "1", StartedAt: &began}, Server: server}, "aiperf_server_", "aiperf_time_budget"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// exposed returns the samples of a run whose names begin with a prefix, without created times. The whole page must
// please promlint.
func exposed(t *testing.T, r Run, prefixes ...string) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector("v", r))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := Write(&all, nil, families, nil); err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.New(bytes.NewReader(all.Bytes())).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	var got strings.Builder
	for line := range strings.Lines(all.String()) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			got.WriteString(line)
		}
	}
	return got.String()
}
