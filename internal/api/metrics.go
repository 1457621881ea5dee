package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"aiperfd/internal/api/baselines"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/respond"
)

// measureSelf makes the metrics of this process.
func (s *Server) measureSelf(parts []prometheus.Collector) {
	s.registry = prometheus.NewRegistry()
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "aiperfd_http_requests_total", Help: "HTTP requests answered by the API.",
	}, []string{"route", "code"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "aiperfd_build_info", Help: "Constant 1, labelled with the build.",
		ConstLabels: prometheus.Labels{"version": s.Version},
	})
	build.Set(1)
	s.registry.MustRegister(parts...)
	s.rules = baselines.NewRules()
	s.registry.MustRegister(s.requests, s.rules, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// serviceCollector collects the metrics of the queue and the feed.
type serviceCollector struct {
	live  Live
	hub   *feed.Hub
	since time.Time // the counters are 0 then
}

// Describe implements prometheus.Collector. It sends nothing: Collect makes the descriptions.
func (*serviceCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *serviceCollector) Collect(out chan<- prometheus.Metric) {
	counts, health := c.hub.Counts(), c.live.Health()
	gauge := func(name, help string, v int) {
		desc := prometheus.NewDesc(name, help, nil, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v))
	}
	counter := func(name, help string, v int64) {
		desc := prometheus.NewDesc(name, help, nil, nil)
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, float64(v), c.since)
	}
	gauge("aiperfd_queue_depth", "Runs waiting in the queue.", len(c.live.Queue().IDs))
	gauge("aiperfd_recovery_pending_runs", "Interrupted runs whose results are still to be computed.", health.Recovering)
	gauge("aiperfd_ws_clients", "Connected WebSocket clients.", counts.Clients)
	gauge("aiperfd_event_streams", "Connected clients of server-sent events.", counts.Streams)
	counter("aiperfd_recovered_runs_total",
		"Runs interrupted by the end of an earlier process that this one has ended.", int64(health.Recovered))
	counter("aiperfd_recovery_read_bytes_total",
		"Bytes of record files read to compute the results of interrupted runs.", health.RecoveryRead)
	counter("aiperfd_ws_dropped_messages_total",
		"Messages dropped because clients of the feed read too slowly.", counts.Dropped)
	runs := prometheus.NewDesc(
		"aiperfd_runs_total", "Runs that ended since the process started, by final state.", []string{"state"}, nil)
	for _, state := range respond.TerminalStates() {
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(
			runs, prometheus.CounterValue, float64(counts.Finished[state]), c.since, string(state))
	}
}
