// Package app is the life of the process: it starts the engine and its HTTP API as a
// daemon, for one benchmark in the foreground or as a demonstration, and stops them on
// signals. Tests start it in-process.
package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"aiperfd/internal/api"
	"aiperfd/internal/api/access"
	"aiperfd/internal/api/feed"
	apiruns "aiperfd/internal/api/runs"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study"
	"aiperfd/internal/upkeep"
)

// DaemonOptions are the parameters of a daemon. Host and DataDir are required.
type DaemonOptions struct {
	Host     string
	Port     int    // 0 = a free port
	PortFile string // the port number is written to it; empty = no file
	DataDir  string

	MaxRuns      int      // concurrent runs; 0 = engine.DefaultMaxRuns
	MaxQueued    int      // 0 = engine.DefaultMaxQueued
	AllowedHosts []string // further values of the Host header
	MetricNames  string   // of /metrics; see api.Options
	Limits       Limits
	Targets      TargetOptions
	Keep         upkeep.Rules
	// Load are the limits on submitted documents. They are untrusted in any case.
	Load    config.LoadOptions
	Version string
	Log     zerolog.Logger
	// Access decides who may use the API. nil = everybody may, and Host must be a
	// loopback address.
	Access  *access.Guard
	Process ProcessOptions
	Bus     BusOptions
}

// options are the parameters of an app. The store is required, and Access with a listener.
type options struct {
	DaemonOptions
	store     run.Store
	listener  net.Listener // nil = no API
	role      role
	downloads *allow.List
	db        *store.Store // of a daemon; nil = nothing is deleted, no run is refused, and a pause is not stored
	simulator *simulator   // nil = none

	study    func(text []byte) (*config.Document, error) // reads the stored text of a study; nil = by Load
	observer study.Observer                              // of cells; nil = nobody
	fleet    *fleet                                      // nil = there are no other load generators
}

// app is an engine with an optional HTTP API.
type app struct {
	engine   *engine.Engine
	studies  *study.Service // runs and studies; performs the latter
	server   *api.Server    // nil = no API
	upkeep   *upkeep.Upkeep // nil = none
	listener net.Listener   // nil = no API
	access   *access.Guard  // nil = no API
	stopped  chan struct{}  // closed by shutdown
	recover  chan struct{}  // closed when the engine has recovered the runs of an earlier process
	shutdown func()         // makes run return; safe for concurrent use, idempotent
	fleet    *fleet         // nil = none
}

// role is what an app is for.
type role int

// The roles.
const (
	daemon  role = iota
	single       // the process exists for one run
	reading      // nothing is performed, and the API is for this process only
)

// idle returns what is done when nothing is performed: a daemon, which stays, gives its memory
// back. nil = nothing.
func (r role) idle() func() {
	if r == daemon {
		return debug.FreeOSMemory
	}
	return nil
}

// newApp connects the parts. Call run to start them.
func newApp(o options) (*app, error) {
	a := &app{listener: o.listener, access: o.Access, fleet: o.fleet, stopped: make(chan struct{}), recover: make(chan struct{})}
	a.shutdown = sync.OnceFunc(func() { close(a.stopped) })
	var clients *feed.Hub
	var publisher run.Publisher
	if o.listener != nil || o.role == reading {
		clients = feed.NewHub(o.Limits.WebSockets)
		publisher = clients
	}
	a.fleet.control(clients)
	files := hub.FromEnvironment(os.Getenv)
	files.Allow = o.downloads
	var err error
	var pause run.Switch
	if o.db != nil {
		pause = store.NewSwitch(o.db)
	}
	a.engine, err = engine.New(engine.Options{
		Store: o.store, Publisher: publisher, Log: o.Log, Version: o.Version, MaxRuns: o.MaxRuns,
		MaxQueued: o.MaxQueued, Caps: o.Limits.Caps, Load: o.Load, Pacer: pace.Precise, Hub: files, Allow: o.Load.Reach.Targets,
		Switch: pause, Idle: o.role.idle(), DiskReserve: o.Keep.Reserve(), StopGrace: o.Process.StopGrace, StopTimeout: o.Process.StopTimeout, Recovered: func() { close(a.recover) },
		TraceCache: engine.TraceCacheFolder(), Fleet: o.fleet.engines(),
	})
	if err != nil {
		return nil, err
	}
	if o.study == nil {
		o.study = func(text []byte) (*config.Document, error) {
			loaded, err := loadChecked(text, config.JSON, o.Load, engine.Caps{}) // as it was accepted
			return loaded.Document, err
		}
	}
	a.studies, err = study.New(study.Options{
		Runner: a.engine, Store: o.store, Load: o.study, Publisher: publisher, Observer: o.observer, Log: o.Log,
		MaxStudies: o.MaxRuns, MaxQueued: o.MaxQueued,
	})
	if err != nil || clients == nil {
		return a, err
	}
	runs, collectors, err := a.keep(&o)
	if err != nil {
		return nil, err
	}
	a.server, err = api.New(api.Options{
		Simulator: o.simulator.source(), Baselines: baselinesOf(o.db), Spans: a.engine.ReceiveSpans,
		ProbeTelemetry: a.engine.ProbeTelemetry, Cluster: a.fleet.shown(),
		Runs: runs, Collectors: collectors, Live: a.engine, History: engine.NewHistory(a.engine), Hub: clients,
		Compat: config.Resolved, Load: o.read,
		Shutdown: a.shutdown, Version: o.Version, Log: o.Log, Bind: o.Host,
		AllowedHosts: o.AllowedHosts, OneShot: o.role == single, MetricNames: o.MetricNames, Access: o.Access,
		Limits: o.Limits.API, MetricsLinger: o.Limits.MetricsLinger,
	})
	return a, err
}

// read reads a document of a client until ctx ends.
func (o *options) read(ctx context.Context, data []byte, format config.Format) (apiruns.Loaded, error) {
	load := o.Load
	load.Done = ctx.Done()
	loaded, err := loadChecked(data, format, load, o.Limits.Caps)
	if ctx.Err() != nil {
		return apiruns.Loaded{}, fmt.Errorf("read document: %w", ctx.Err())
	}
	return loaded, err
}

// keep makes the upkeep of a data directory, and returns the runs and the metrics that the
// API has then.
func (a *app) keep(o *options) (api.Runs, []prometheus.Collector, error) {
	if o.db == nil {
		return a.studies, nil, nil
	}
	var err error
	a.upkeep, err = upkeep.New(upkeep.Options{Rules: o.Keep, Runs: a.studies, Disk: o.db, Log: o.Log})
	return admission{a.studies, a.upkeep}, append(o.db.Collectors(), a.upkeep), err
}

// admission refuses new runs while the disk is nearly full. The cells of a study that was
// accepted are performed.
type admission struct {
	*study.Service
	upkeep *upkeep.Upkeep
}

// Submit implements api.Runs.
func (a admission) Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error) {
	if err := a.upkeep.Admit(); err != nil {
		return nil, err
	}
	return a.Service.Submit(ctx, doc, s)
}

// loadChecked reads a document and reports its problems, including those that
// only compiling it finds, and those that exceed the caps.
func loadChecked(data []byte, format config.Format, o config.LoadOptions, caps engine.Caps) (apiruns.Loaded, error) {
	o.Format = format
	var out apiruns.Loaded
	var err error
	if out.Document, out.Warnings, err = config.Load(data, o); err == nil {
		whole, problems := checkPlans(out.Document, caps, o.Done)
		if problems != nil {
			return out, problems
		}
		out.Compiled, out.Advice = whole, Advise(whole)
	}
	return out, err
}

// Advise returns what a run of a plan warns of at its start, of what is known before. Each run of a sweep has its own
// plan, and warns itself.
func Advise(p *plan.Plan) []problem.Problem {
	if s := p.Document.Study(); s != nil && s.Sweep != nil {
		return nil
	}
	text := plan.NeedsWorkers(p, monitor.Cores())
	if text == "" {
		return nil
	}
	return []problem.Problem{{Pointer: "#", Code: plan.NeedsWorkersCode, Detail: text}}
}

// run executes the engine and serves the API until ctx ends or shutdown is
// called. The engine stops before the API, so that the API shows the end of its
// runs.
func (a *app) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	var group errgroup.Group
	group.Go(func() error {
		defer cancel()
		select {
		case <-a.stopped:
		case <-ctx.Done():
		}
		return nil
	})
	group.Go(func() error {
		defer a.shutdown()
		defer stopAPI()
		return a.engine.Run(ctx)
	})
	group.Go(func() error {
		select {
		case <-a.recover:
			err := a.studies.Run(ctx)
			if err != nil {
				a.shutdown()
			}
			return err
		case <-ctx.Done():
			return nil
		}
	})
	if a.fleet != nil {
		group.Go(func() error { return a.fleet.Serve(apiCtx) })
	}
	if a.upkeep != nil {
		group.Go(func() error {
			select {
			case <-a.recover:
				a.upkeep.Run(ctx)
			case <-ctx.Done():
			}
			return nil
		})
	}
	if a.server != nil {
		group.Go(func() error {
			defer a.shutdown()
			err := a.server.Serve(apiCtx, a.listener)
			if err != nil {
				a.engine.Fail("listener", err)
			}
			return err
		})
	}
	return group.Wait()
}

// url returns the address of the API as users type it.
func (a *app) url() string {
	if own := a.listener.Addr(); own.Network() == "unix" {
		return "unix:" + own.String()
	}
	host, port, err := net.SplitHostPort(a.listener.Addr().String())
	if err != nil {
		return a.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return a.access.Scheme() + "://" + net.JoinHostPort(host, port)
}

// listen opens the port of the API and writes its number to portFile, if that is
// not empty.
func listen(ctx context.Context, host string, port int, portFile string) (*net.TCPListener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the API: %w", err)
	}
	ln := l.(*net.TCPListener)
	if portFile != "" {
		if err := writePort(portFile, ln.Addr().(*net.TCPAddr).Port); err != nil {
			ln.Close()
			return nil, err
		}
	}
	return ln, nil
}

// writePort writes the number of a port to a file.
func writePort(path string, port int) error {
	if err := os.WriteFile(path, []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
		return fmt.Errorf("write port file: %w", err)
	}
	return nil
}
