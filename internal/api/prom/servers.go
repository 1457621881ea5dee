package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/run"
)

// servers emits what is known of the servers under test. Their own families are not exposed again: Prometheus
// scrapes those itself.
func (e *emitter) servers(r *run.Run, s *diagnose.Server) {
	id, began := r.ID, r.CreatedAt
	if r.StartedAt != nil {
		began = *r.StartedAt
	}
	of := func(name, help string) *prometheus.Desc {
		return family("aiperf_server_"+name, help, "run_id", "target")
	}
	for i := range s.Targets {
		t := &s.Targets[i]
		up := 0.0
		if t.Up {
			up = 1
		}
		const second = 1e3 // milliseconds
		e.gauge(of("up", "1 if the page of metrics of the server was read when it was last tried, 0 if not."), up, id, t.URL)
		e.counter(of("scrape_failures_total", "Attempts to read the page of metrics of the server that failed."),
			began, int64(t.Failures), id, t.URL)
		if t.Fetches == 0 {
			continue
		}
		e.gauge(of("scrape_duration_seconds", "How long the last reading of the page of metrics took."), t.ScrapeLast/second, id, t.URL)
		e.gauge(of("scrape_ratio", "Share of the time of the run during which the server answered readings of its metrics."),
			t.ScrapeShare, id, t.URL)
		e.latest(id, t, of)
	}
	finding := family("aiperf_server_finding", "1 for each finding about the servers in a phase.", "run_id", "phase", "code")
	budget := family("aiperf_time_budget_seconds",
		"Mean time to the first token from the due time, by segment; the segments of a phase add up to it.",
		"run_id", "phase", "segment")
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Kind != string(bench.Profiling) {
			continue
		}
		for _, f := range p.Findings {
			e.gauge(finding, 1, id, p.Name, f.Code)
		}
		if p.Budget == nil {
			continue
		}
		for _, segment := range p.Budget.Segments {
			const second = 1e3 // milliseconds
			e.gauge(budget, segment.MS/second, id, p.Name, segment.Name)
		}
	}
}

// latest emits what a server said when its page was last read.
func (e *emitter) latest(id string, t *diagnose.Target, of func(name, help string) *prometheus.Desc) {
	if t.Latest == nil {
		return
	}
	for _, v := range []struct {
		value      *float64
		name, help string
	}{
		{t.Latest.Running, "requests_running", "Requests in the running batch of the server, as it said last."},
		{t.Latest.Waiting, "requests_waiting", "Requests in the queue of the server, as it said last."},
		{t.Latest.KVUsage, "kv_cache_usage_ratio", "Share of the key-value cache of the server that is in use, as it said last."},
		{t.Latest.HitRate, "prefix_cache_hit_ratio", "Share of the prompt tokens of the run that the prefix cache of the server had."},
	} {
		if v.value != nil {
			e.gauge(of(v.name, v.help), *v.value, id, t.URL)
		}
	}
	if n := t.Latest.Preemptions; n != nil {
		d := of("preemptions_total", "Requests that lost their place in the batch of the server since the run began.")
		e.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, *n, id, t.URL)
	}
}
