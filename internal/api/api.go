// Package api serves runs over HTTP: AIPerf 0.13's routes and aiperfd's own,
// Prometheus metrics, a WebSocket feed, the API document and the live page. It
// translates requests into calls of the engine, and runs and snapshots into
// responses.
package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/history"
	"aiperfd/internal/api/report"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/run"
)

// Runs is what the API needs to manage runs. Every method is safe for
// concurrent use. The errors are those of package run, wrapped or not.
type Runs interface {
	// Submit queues a run of a document that was loaded without problems, which it owns from
	// now on. The run is durable when the method returns.
	Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error)
	// Get returns a run with its configuration.
	Get(ctx context.Context, id string) (*run.Run, error)
	// List returns runs without their configurations.
	List(ctx context.Context, q run.Query) (run.Page, error)
	// Cancel stops a run and returns it. changed is false if the request had no
	// effect.
	Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error)
	// Update applies a change of a user to a run and returns it. change is called once,
	// with a copy whose maps it must not write to; its error ends the update. The change
	// is durable when the method returns.
	Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error)
	// Pause makes the queue start no more runs, or start them again; durable when the
	// method returns.
	Pause(ctx context.Context, paused bool) error
	// Delete deletes a run and its files. With force an active run is stopped
	// first, which continues after the method has returned.
	Delete(ctx context.Context, id string, force bool) error
}

// Live is what the API needs to show runs. Every method is safe for concurrent
// use and never waits for a run.
type Live interface {
	// Selected returns the active run that started last, else the run that
	// finished last.
	Selected(ctx context.Context) (id string, ok bool)
	// Snapshot returns the newest snapshot of a run, live or stored. A queued
	// run has an empty one.
	Snapshot(ctx context.Context, id string) (*run.Snapshot, error)
	// Queue returns the current queue.
	Queue() run.Queue
	// Artifacts opens the folder of a run; the caller closes it.
	Artifacts(id string) (*os.Root, error)
	// Health returns the state of the service. It performs no I/O.
	Health() run.Health
}

// Loaded is a document from the network that was read.
type Loaded struct {
	Document *config.Document
	Compiled any               // see [run.Submission]
	Warnings []problem.Problem // also with an error
}

// LoadFunc reads a document from the network. Its errors are *problem.Invalid,
// *config.Malformed and that of ctx.
type LoadFunc func(ctx context.Context, data []byte, format config.Format) (Loaded, error)

// The names of metrics that /metrics serves.
const (
	NamesCompat = "compat" // AIPerf's
	NamesNative = "native" // base units and real types
	NamesAll    = "all"
)

// DefaultMetricsLinger is the default of Options.MetricsLinger.
const DefaultMetricsLinger = 10 * time.Minute

// Options are the parameters of a server. The fields of the first group are
// required.
type Options struct {
	Runs    Runs
	Live    Live
	History history.Source
	Hub     *feed.Hub
	Load    LoadFunc
	Compat  func(*config.Document) any // the resolved document as clients see it, redacted
	// Shutdown makes the program end; it does not wait for that.
	Shutdown func()
	// Simulator returns the simulated server, and starts it if necessary; nil = there is
	// none. The error is *[allow.Denied] if runs must not reach it.
	Simulator func() (wire.Simulator, error)
	Version   string

	Log           zerolog.Logger         // the zero Logger writes nothing
	Features      []string               // for GET /api/version; nil = none
	Bind          string                 // host that the listener is bound to; empty = loopback
	AllowedHosts  []string               // more values for the Host header, without a port
	OneShot       bool                   // the process exists for one run
	MetricNames   string                 // of /metrics unless a scrape selects others; empty = NamesAll
	MetricsLinger time.Duration          // how long a finished run is scraped; 0 = DefaultMetricsLinger
	Collectors    []prometheus.Collector // more metrics of this process
	Limits        Limits
	// Access decides who may do what. nil = everybody may do everything, and Bind must
	// be a loopback address.
	Access *access.Guard
}

// base is what the handlers of this package share.
type base struct {
	*respond.Base
	runs    Runs
	live    Live
	version string
}

// Server serves the API. It is made by [New] and safe for concurrent use.
type Server struct {
	Options
	*base
	router *chi.Mux
	gets   map[string]handler // of GET requests, by pattern
	self   *selfMetrics
	rate   *submitRate
}

// New returns a server. Its error names the option that is missing.
func New(o Options) (*Server, error) {
	switch {
	case o.Runs == nil:
		return nil, errors.New("make API server: Runs is missing")
	case o.Live == nil:
		return nil, errors.New("make API server: Live is missing")
	case o.History == nil:
		return nil, errors.New("make API server: History is missing")
	case o.Hub == nil:
		return nil, errors.New("make API server: Hub is missing")
	case o.Load == nil || o.Compat == nil:
		return nil, errors.New("make API server: Load or Compat is missing")
	case o.Shutdown == nil:
		return nil, errors.New("make API server: Shutdown is missing")
	}
	if o.MetricNames == "" {
		o.MetricNames = NamesAll
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
	s := &Server{
		Options: o, router: chi.NewRouter(), rate: &submitRate{perMinute: o.Limits.SubmitRate, anonymous: o.Limits.AnonymousRate},
		self: newSelfMetrics(o.Version, append(slices.Clip(o.Collectors), &serviceCollector{live: o.Live, hub: o.Hub, since: time.Now()}, o.Access)...),
		base: &base{
			Base: &respond.Base{Responder: respond.Responder{Log: o.Log}, Runs: o.Runs, Live: o.Live},
			runs: o.Runs, live: o.Live, version: o.Version,
		},
	}
	if err := s.mount(); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.router }

// Report makes a report of runs without a listener; see [report.Make].
func (s *Server) Report(ctx context.Context, ids []string, format report.Format) ([]byte, error) {
	return report.Make(ctx, &ownAnswers{s}, s.version, ids, format)
}
