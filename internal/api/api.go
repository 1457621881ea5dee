// Package api serves runs over HTTP: AIPerf 0.13's routes and aiperfd's own,
// Prometheus metrics, a WebSocket feed, the API document and the live page. It
// translates requests into calls of the engine, and runs and snapshots into
// responses.
package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/baselines"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/report"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/run"
)

// Runs is what the API needs to manage runs. Every method is safe for concurrent use.
type Runs interface {
	runs.Engine
	// Pause makes the queue start no more runs, or start them again; durable when the
	// method returns.
	Pause(ctx context.Context, paused bool) error
}

// Live is what the API needs to show runs. Every method is safe for concurrent
// use and never waits for a run.
type Live interface {
	respond.Live
	// Artifacts opens the folder of a run; the caller closes it.
	Artifacts(id string) (*os.Root, error)
	// Health returns the state of the service. It performs no I/O.
	Health() run.Health
}

// Cluster is what the API needs to show the load generators that have joined. Every method is safe for concurrent use
// and does not block.
type Cluster interface {
	Workers() []run.Worker // by name
	// Drain makes a load generator, named by its name or id, take no further run; [run.ErrNoWorker] if there is none.
	Drain(name string) (run.Worker, error)
	Traffic() []run.BusTraffic // since the process started
}

// DefaultMetricsLinger is the default of Options.MetricsLinger.
const DefaultMetricsLinger = 10 * time.Minute

// Options are the parameters of a server. The fields of the first group are
// required.
type Options struct {
	Runs    Runs
	Live    Live
	History results.Recorded
	Hub     *feed.Hub
	Load    runs.LoadFunc
	Compat  func(*config.Document) any // the resolved document as clients see it, redacted
	// Shutdown makes the program end; it does not wait for that.
	Shutdown func()
	// Simulator returns the simulated server, and starts it if necessary; nil = there is
	// none. The error is *[allow.Denied] if runs must not reach it.
	Simulator func() (wire.Simulator, error)
	// Spans takes spans of servers for the active runs that want them; false = there is none. nil = nothing takes them.
	Spans     func([]otlp.ServerSpan) bool
	Baselines baselines.Kept // nil = this process keeps none
	Cluster   Cluster        // nil = no load generators can join
	// ProbeTelemetry says what pages of metrics are; nil = it cannot be asked. The error is *[allow.Denied] if runs must
	// not reach one of them.
	ProbeTelemetry func(ctx context.Context, pages []secret.URL) ([]diagnose.Probed, error)
	Version        string

	Log           zerolog.Logger         // the zero Logger writes nothing
	Features      []string               // for GET /api/version; nil = none
	Bind          string                 // host that the listener is bound to; empty = loopback
	AllowedHosts  []string               // more values for the Host header, without a port
	OneShot       bool                   // the process exists for one run
	MetricNames   string                 // of /metrics unless a scrape selects others; empty = prom.NamesAll
	MetricsLinger time.Duration          // how long a finished run is scraped; 0 = DefaultMetricsLinger
	Collectors    []prometheus.Collector // more metrics of this process
	Limits        Limits
	// Access decides who may do what. nil = everybody may do everything, and Bind must
	// be a loopback address.
	Access *access.Guard
}

// Server serves the API. It is made by [New] and safe for concurrent use.
type Server struct {
	Options
	out     *respond.Responder
	find    *respond.Finder
	router  *chi.Mux
	reports *report.Maker

	registry *prometheus.Registry // of the metrics of this process
	rules    *prometheus.GaugeVec // verdicts of gates
	requests *prometheus.CounterVec
}

// New returns a server. Its error names the option that is missing.
func New(o Options) (*Server, error) {
	for _, required := range []struct {
		given bool
		name  string
	}{
		{o.Runs != nil, "Runs"}, {o.Live != nil, "Live"}, {o.History != nil, "History"}, {o.Hub != nil, "Hub"},
		{o.Load != nil && o.Compat != nil, "Load or Compat"}, {o.Shutdown != nil, "Shutdown"},
	} {
		if !required.given {
			return nil, fmt.Errorf("make API server: %s is missing", required.name)
		}
	}
	if o.MetricNames == "" {
		o.MetricNames = prom.NamesAll
	}
	if o.MetricsLinger == 0 {
		o.MetricsLinger = DefaultMetricsLinger
	}
	o.Limits = o.Limits.orDefaults()
	if o.Bind == "" {
		o.Bind = "127.0.0.1"
	}
	if o.Access == nil {
		var err error
		if o.Access, err = access.New(access.Options{Host: o.Bind, Log: o.Log}); err != nil {
			return nil, fmt.Errorf("make API server: %w", err)
		}
	}
	collectors := slices.Clip(o.Collectors)
	collectors = append(collectors, &serviceCollector{live: o.Live, hub: o.Hub, since: time.Now()}, o.Access)
	if o.Cluster != nil {
		collectors = append(collectors, &clusterCollector{cluster: o.Cluster, since: time.Now()})
	}
	s := &Server{
		Options: o, out: &respond.Responder{Log: o.Log}, find: &respond.Finder{Runs: o.Runs, Live: o.Live},
		router: chi.NewRouter(),
	}
	s.measureSelf(collectors)
	if err := s.mount(); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.router }

// Report makes a report of runs without a listener; see [report.Maker].
func (s *Server) Report(ctx context.Context, ids []string, format report.Format) ([]byte, error) {
	return s.reports.Make(ctx, ids, format)
}

// Answer compares runs without a listener; see [results.Handler.Answer].
func (s *Server) Answer(ctx context.Context, q *compare.Question) (*compare.Answer, error) {
	return s.reports.Results.Answer(ctx, q)
}
