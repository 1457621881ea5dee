package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"aiperfd/internal/api"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// defaultPort is where the daemon listens.
const defaultPort = 9097

// maxFeedClients is the number of WebSocket clients at a time.
const maxFeedClients = 100

// service is an engine with an HTTP API in front of it: the daemon, the demo,
// and profile with --api-port.
type service struct {
	engine   *engine.Engine
	server   *api.Server
	listener net.Listener
	ctx      context.Context // of run; ends when somebody asks for the end
	shutdown context.CancelFunc
}

// serviceOptions are what the three uses differ in.
type serviceOptions struct {
	store    run.Store
	listener net.Listener // nil = no API
	host     string
	log      zerolog.Logger
	oneShot  bool
	load     config.LoadOptions
	maxRuns  int
	maxQueue int
	hosts    []string
	names    string // of metrics
}

// newService puts the parts together. Call run to start them.
func newService(o serviceOptions) (*service, error) {
	s := &service{listener: o.listener}
	s.ctx, s.shutdown = context.WithCancel(context.Background())
	var clients *feed.Hub
	var publisher run.Publisher
	if o.listener != nil {
		clients = feed.NewHub(maxFeedClients)
		publisher = clients
	}
	var err error
	s.engine, err = engine.New(engine.Options{
		Store: o.store, Publisher: publisher, Log: o.log, Version: version, MaxRuns: o.maxRuns,
		MaxQueued: o.maxQueue, Load: o.load, Pacer: pace.Precise, Hub: hub.FromEnvironment(os.Getenv),
	})
	if err != nil || o.listener == nil {
		return s, err
	}
	s.server, err = api.New(api.Options{
		Runs: s.engine, Live: s.engine, Hub: clients, Compat: config.Compat,
		Load: func(data []byte, format config.Format) (*config.Document, []config.Problem, error) {
			return loadChecked(data, format, o.load)
		},
		Shutdown: s.shutdown, Version: version, Log: o.log, Bind: o.host,
		AllowedHosts: o.hosts, OneShot: o.oneShot, MetricNames: o.names,
	})
	return s, err
}

// loadChecked reads a document and reports what compiling it would, too.
func loadChecked(data []byte, format config.Format, o config.LoadOptions) (*config.Document, []config.Problem, error) {
	o.Format = format
	doc, warnings, err := config.Load(data, o)
	if err == nil {
		_, err = plan.Compile(doc)
	}
	return doc, warnings, err
}

// stopped is closed when somebody asked for the end, over the API for example.
func (s *service) stopped() <-chan struct{} { return s.ctx.Done() }

// run executes the engine and serves the API until ctx ends, then stops both:
// the engine first, so that the API shows the end of its runs.
func (s *service) run(ctx context.Context) error {
	defer s.shutdown()
	defer context.AfterFunc(ctx, s.shutdown)()
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	var group errgroup.Group
	group.Go(func() error {
		defer stopAPI()
		return s.engine.Run(s.ctx)
	})
	if s.server != nil {
		group.Go(func() error {
			defer s.shutdown()
			return s.server.Serve(apiCtx, s.listener)
		})
	}
	return group.Wait()
}

// url returns the address of the API for people.
func (s *service) url() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// listen opens the API's port before anything else is done.
func listen(ctx context.Context, host string, port int, portFile string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the API: %w", err)
	}
	if portFile != "" {
		bound := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
		if err := os.WriteFile(portFile, []byte(bound+"\n"), 0o600); err != nil {
			ln.Close()
			return nil, fmt.Errorf("write port file: %w", err)
		}
	}
	return ln, nil
}

// interrupts calls the given functions with the first, second … SIGINT, SIGTERM or
// SIGHUP, and exits at the one after the last. A SIGHUP that the parent ignores
// (nohup) stays ignored. The returned function ends it and waits for a call under
// way.
func interrupts(on ...func(os.Signal)) (stop func()) {
	signals := make(chan os.Signal, len(on)+1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n >= len(on) {
					os.Exit(exitCancelled)
				}
				on[n](s)
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		watcher.Wait()
	}
}

// newLogger returns a logger for people on a terminal or file.
func newLogger(out *os.File, level zerolog.Level, color bool) zerolog.Logger {
	return zerolog.New(logWriter(out, "15:04:05.000", color)).Level(level).With().Timestamp().Logger()
}

// logWriter formats a log for people. A message may quote a server: what controls
// a terminal is taken out of it. Other fields are quoted by zerolog.
func logWriter(out io.Writer, times string, color bool) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out: out, TimeFormat: times, NoColor: !color,
		FormatPrepare: func(fields map[string]any) error {
			if text, ok := fields[zerolog.MessageFieldName].(string); ok {
				fields[zerolog.MessageFieldName] = export.Printable(text)
			}
			return nil
		},
	}
}

// defaultDataDir is where the daemon keeps runs unless told otherwise.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "aiperfd")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "aiperfd-data"
	}
	return filepath.Join(home, ".local", "state", "aiperfd")
}

// storeOpenLimit bounds the opening of a data directory.
const storeOpenLimit = 30 * time.Second
