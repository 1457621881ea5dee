package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/run"
)

// selfMetrics are the metrics of this process.
type selfMetrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
}

func newSelfMetrics(version string, parts ...prometheus.Collector) *selfMetrics {
	m := &selfMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aiperfd_http_requests_total", Help: "HTTP requests answered by the API.",
		}, []string{"route", "code"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "aiperfd_build_info", Help: "Constant 1, labelled with the build.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(parts...)
	m.registry.MustRegister(m.requests, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// requested counts an answered request.
func (m *selfMetrics) requested(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// serviceCollector collects the metrics of the queue and the feed.
type serviceCollector struct {
	live  Live
	hub   *feed.Hub
	since time.Time // the counters are 0 then
}

// serviceFamilies are the descriptions of the metrics of a serviceCollector.
type serviceFamilies struct{ depth, runs, recovered, recovering, read, clients, streams, dropped *prometheus.Desc }

func newServiceFamilies() serviceFamilies {
	return serviceFamilies{
		depth:      prometheus.NewDesc("aiperfd_queue_depth", "Runs waiting in the queue.", nil, nil),
		runs:       prometheus.NewDesc("aiperfd_runs_total", "Runs that ended since the process started, by final state.", []string{"state"}, nil),
		recovered:  prometheus.NewDesc("aiperfd_recovered_runs_total", "Runs interrupted by the end of an earlier process that this one has ended.", nil, nil),
		recovering: prometheus.NewDesc("aiperfd_recovery_pending_runs", "Interrupted runs whose results are still to be computed.", nil, nil),
		read:       prometheus.NewDesc("aiperfd_recovery_read_bytes_total", "Bytes of record files read to compute the results of interrupted runs.", nil, nil),
		clients:    prometheus.NewDesc("aiperfd_ws_clients", "Connected WebSocket clients.", nil, nil),
		streams:    prometheus.NewDesc("aiperfd_event_streams", "Connected clients of server-sent events.", nil, nil),
		dropped:    prometheus.NewDesc("aiperfd_ws_dropped_messages_total", "Messages dropped because clients of the feed read too slowly.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *serviceCollector) Describe(out chan<- *prometheus.Desc) {
	f := newServiceFamilies()
	for _, d := range []*prometheus.Desc{f.depth, f.runs, f.recovered, f.recovering, f.read, f.clients, f.streams, f.dropped} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *serviceCollector) Collect(out chan<- prometheus.Metric) {
	f := newServiceFamilies()
	counts, health := c.hub.Counts(), c.live.Health()
	gauge := func(d *prometheus.Desc, v int) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, float64(v), c.since, labels...)
	}
	gauge(f.depth, len(c.live.Queue().IDs))
	gauge(f.recovering, health.Recovering)
	gauge(f.clients, counts.Clients)
	gauge(f.streams, counts.Streams)
	counter(f.recovered, int64(health.Recovered))
	counter(f.read, health.RecoveryRead)
	counter(f.dropped, counts.Dropped)
	for _, state := range respond.TerminalStates() {
		counter(f.runs, counts.Finished[state], string(state))
	}
}

// metricsHandler handles the routes of Prometheus metrics.
type metricsHandler struct {
	*base
	self   *selfMetrics
	names  string        // unless a request selects others
	linger time.Duration // how long a finished run is included
}

// scrape serves Prometheus metrics.
//
//	@Summary		Get Prometheus metrics
//	@Description	names=compat has AIPerf's names for the selected run until some time after its end; names=native has base units and proper types for the active runs, otherwise for the run that ended last until then; names=all has both. The parameter run names another run for all of them. The format is that which Accept prefers: OpenMetrics, protobuf (with native histograms), otherwise text.
//	@Tags			aiperf
//	@Param			names	query		string	false	"Metric names"	Enums(compat, native, all)
//	@Param			run		query		string	false	"Run: id, current or latest"
//	@Success		200		{string}	string
//	@Failure		400		{object}	wire.Problem
//	@Failure		404		{object}	wire.Problem
//	@Produce		plain,application/openmetrics-text,application/vnd.google.protobuf
//	@Router			/metrics [get]
func (h *metricsHandler) scrape(w http.ResponseWriter, r *http.Request) error {
	names := h.names
	if query := r.URL.Query(); query.Has("names") {
		names = query.Get("names")
	}
	if !slices.Contains([]string{NamesCompat, NamesNative, NamesAll}, names) {
		return respond.Fail(respond.ErrParameter, "names must be compat, native or all, not %q", names)
	}
	now, named := time.Now(), r.URL.Query().Has("run")
	var found, only *run.Run
	if named || names != NamesNative {
		var err error
		if found, err = h.Run(w, r); err != nil {
			return err
		}
	}
	if named {
		only = found
	} else if found != nil && !h.lingers(found, now) {
		w.Header().Del(respond.HeaderRunID)
		found = nil
	}
	var gatherers prometheus.Gatherers
	if names != NamesCompat {
		runs, err := h.scraped(r.Context(), now, only)
		if err != nil {
			return err
		}
		own, err := h.native(runs...)
		if err != nil {
			return err
		}
		gatherers = prometheus.Gatherers{own, h.self.registry}
	}
	if names == NamesNative {
		found = nil
	}
	return h.expose(w, r, gatherers, found)
}

// native returns a gatherer of the native families of runs.
func (h *metricsHandler) native(runs ...prom.Run) (prometheus.Gatherer, error) {
	own := prometheus.NewRegistry()
	if err := own.Register(prom.NewCollector(h.version, runs...)); err != nil {
		return nil, fmt.Errorf("collect metrics: %w", err)
	}
	return own, nil
}

// scrapeRun serves the Prometheus metrics of one run.
//
//	@Summary	Get Prometheus metrics of a run
//	@Tags		runs
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{string}	string
//	@Failure	404	{object}	wire.Problem
//	@Produce	plain,application/openmetrics-text,application/vnd.google.protobuf
//	@Router		/api/runs/{id}/metrics.prom [get]
func (h *metricsHandler) scrapeRun(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	runs, err := h.withSnapshots(r.Context(), found)
	if err != nil {
		return err
	}
	own, err := h.native(runs...)
	if err != nil {
		return err
	}
	return h.expose(w, r, own, found)
}

// expose answers in the format that the client prefers, with the metrics of a gatherer,
// followed by those of a run under AIPerf's names, if there is a run.
func (h *metricsHandler) expose(w http.ResponseWriter, r *http.Request, g prometheus.Gatherer, run *run.Run) error {
	families, err := g.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	compat, err := h.compatText(r.Context(), run)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	format, err := prom.Write(&buf, r.Header, families, compat)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", format)
	w.Header().Set("Cache-Control", respond.NoStore)
	w.Header().Add("Vary", "Accept")
	h.Write(w, http.StatusOK, buf.Bytes())
	return nil
}

// compatText is the exposition under AIPerf's names; empty without a run.
func (h *metricsHandler) compatText(ctx context.Context, run *run.Run) ([]byte, error) {
	if run == nil {
		return nil, nil
	}
	snap, err := h.Snapshot(ctx, run)
	if err != nil {
		return nil, err
	}
	return prom.Compat(h.version, run, snap), nil
}

// lingers reports whether a scrape includes a run that it does not name: it has not
// ended, or not long ago.
func (h *metricsHandler) lingers(r *run.Run, now time.Time) bool {
	return r.EndedAt == nil || now.Sub(*r.EndedAt) <= h.linger
}

// scraped returns the runs that a scrape includes: the one that it names, otherwise the
// active ones, or else the one that finished last, for the duration of linger, so that
// every scraper sees the final values.
func (h *metricsHandler) scraped(ctx context.Context, now time.Time, only *run.Run) ([]prom.Run, error) {
	if only != nil {
		return h.withSnapshots(ctx, only)
	}
	var runs []*run.Run
	for _, id := range h.live.Queue().Running {
		active, err := h.runs.Get(ctx, id)
		if errors.Is(err, run.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, active)
	}
	if len(runs) == 0 {
		last, err := h.LastFinished(ctx, run.Query{Kind: run.KindRun})
		if err != nil {
			return nil, err
		}
		if last != nil && h.lingers(last, now) {
			runs = append(runs, last)
		}
	}
	return h.withSnapshots(ctx, runs...)
}

// withSnapshots returns runs with their newest snapshots.
func (h *metricsHandler) withSnapshots(ctx context.Context, runs ...*run.Run) ([]prom.Run, error) {
	out := make([]prom.Run, 0, len(runs))
	for _, r := range runs {
		snap, err := h.Snapshot(ctx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, prom.Run{Run: r, Snapshot: snap})
	}
	return out, nil
}
