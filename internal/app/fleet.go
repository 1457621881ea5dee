package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/api"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/cluster"
	"aiperfd/internal/cluster/broker"
	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/cluster/worker"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/store"
)

// BusOptions say where load generators join: at a server within this process, or at an existing NATS. The zero BusOptions
// have neither.
type BusOptions struct {
	Listen string // host:port of the server; empty = there is none
	URL    string // of an existing NATS; empty = there is none
	Tokens cluster.Tokens
	// Cert and Key are files: the certificate of the server, or, towards an existing NATS, that of this process.
	Cert, Key string
	ClientCA  string // see [broker.ServerOptions]
	// CA, Creds and Prefix are for an existing NATS, see [broker.Options].
	CA, Creds, Prefix string
	Insecure          bool
}

// fleet is the controller of load generators with its bus.
type fleet struct {
	*cluster.Controller // nil before [fleet.control]
	options             cluster.Options
	server              *broker.Server // nil = the bus is an existing NATS
	own                 bus.Bus
	warned              func() // ends the warnings about an exposed bus
}

// openFleet opens the bus. nil = the options have none.
func openFleet(ctx context.Context, o BusOptions, version string, log zerolog.Logger) (*fleet, error) {
	f := &fleet{warned: func() {}}
	var err error
	switch {
	case o.URL != "":
		joins := broker.Options{
			URL: o.URL, Creds: o.Creds, Prefix: o.Prefix, Controller: true,
			CA: o.CA, Cert: o.Cert, Key: o.Key, Insecure: o.Insecure, Log: log,
		}
		if f.own, err = broker.Connect(ctx, joins); err != nil {
			return nil, err
		}
		if joins.Exposed() {
			f.warned = warnExposed(ctx, log, "records and results")
		}
	case o.Listen != "":
		listens := broker.ServerOptions{
			Listen: o.Listen, Authenticate: o.Tokens.Holds,
			Cert: o.Cert, Key: o.Key, ClientCA: o.ClientCA, Insecure: o.Insecure, Log: log,
		}
		if f.server, err = broker.Listen(ctx, listens); err != nil {
			return nil, err
		}
		if f.own, err = f.server.Connect(ctx); err != nil {
			f.server.Close()
			return nil, fmt.Errorf("connect to the bus: %w", err)
		}
		if listens.Exposed() {
			f.warned = warnExposed(ctx, log, "tokens, and with them documents, records and results")
		}
	default:
		return nil, nil //nolint:nilnil // without a bus there is no fleet, which is no error
	}
	f.options = cluster.Options{Bus: f.own, Version: version, Tokens: o.Tokens, Log: log}
	return f, nil
}

// warnEvery is how often an exposed bus is logged.
const warnEvery = time.Hour

// warnExposed logs what others can read on the bus, now and from time to time until stop is called.
func warnExposed(ctx context.Context, log zerolog.Logger, what string) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var ending sync.WaitGroup
	ending.Go(func() {
		tick := time.NewTicker(warnEvery)
		defer tick.Stop()
		for {
			log.Warn().Msg("the bus has no TLS (--insecure-bus): others on the network can read " + what)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		ending.Wait()
	}
}

// control makes the controller, which tells clients what happens to load generators; nil = there are none.
func (f *fleet) control(clients *feed.Hub) {
	if f == nil {
		return
	}
	if clients != nil {
		f.options.Changed = clients.Announce
	}
	f.Controller = cluster.New(f.options)
}

// close closes the bus.
func (f *fleet) close() {
	if f == nil {
		return
	}
	f.warned()
	f.own.Close()
	if f.server != nil {
		f.server.Close()
	}
}

// engines returns the fleet as an engine takes it.
func (f *fleet) engines() engine.Fleet {
	if f == nil {
		return nil
	}
	return f.Controller
}

// shown returns the fleet as the API takes it.
func (f *fleet) shown() api.Cluster {
	if f == nil {
		return nil
	}
	return f.Controller
}

// spawned are load generators that this process has started.
type spawned struct {
	processes []*exec.Cmd
	dir       string
	waiting   sync.WaitGroup
}

// stopPatience is how long load generators that were started have to end when they are asked to.
const stopPatience = 10 * time.Second

// spawnWorkers opens a bus on a free port of the loopback interface and starts load generators on this machine.
func spawnWorkers(ctx context.Context, n int, version string, log zerolog.Logger) (*fleet, *spawned, error) {
	token := rand.Text()
	sum := sha256.Sum256([]byte(token))
	f, err := openFleet(ctx, BusOptions{Listen: "127.0.0.1:0", Tokens: func(holds func(sealed.Sum) bool) (string, int, bool) {
		return "spawned", n, holds(sum)
	}}, version, log)
	if err != nil {
		return nil, nil, err
	}
	s := &spawned{}
	fail := func(err error) (*fleet, *spawned, error) {
		s.stop()
		f.close()
		return nil, nil, fmt.Errorf("start load generators: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	if s.dir, err = os.MkdirTemp("", "aiperfd-workers-"); err != nil {
		return fail(err)
	}
	tokenFile := filepath.Join(s.dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		return fail(err)
	}
	for i := range n {
		name := "w" + strconv.Itoa(i+1)
		cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "worker", "--leave-after", "30s",
			"--join", f.server.URL(), "--token-file", tokenFile, "--name", name, "--data-dir", filepath.Join(s.dir, name))
		cmd.Stderr = &workerLog{log: log.With().Str("worker", name).Logger()}
		if err := cmd.Start(); err != nil {
			return fail(err)
		}
		s.processes = append(s.processes, cmd)
		s.waiting.Go(func() { _ = cmd.Wait() }) // the controller notices one that has ended too early
	}
	return f, s, nil
}

// stop ends the load generators that were started.
func (s *spawned) stop() {
	if s == nil {
		return
	}
	for _, cmd := range s.processes {
		_ = cmd.Process.Signal(os.Interrupt) // one that has ended needs no signal
	}
	kill := time.AfterFunc(stopPatience, func() {
		for _, cmd := range s.processes {
			_ = cmd.Process.Kill()
		}
	})
	s.waiting.Wait()
	kill.Stop()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// workerLog passes the lines that a load generator prints on, as lines of the log.
type workerLog struct {
	log  zerolog.Logger
	rest string
}

// Write implements io.Writer.
func (w *workerLog) Write(p []byte) (int, error) {
	w.rest += string(p)
	for {
		line, rest, ok := strings.Cut(w.rest, "\n")
		if !ok {
			return len(p), nil
		}
		w.log.Debug().Msg(line)
		w.rest = rest
	}
}

// WorkerOptions are the parameters of a load generator.
type WorkerOptions struct {
	URL, Token  string // of the bus
	Name        string
	Labels      map[string]string
	DataDir     string        // of the files of a run, until the controller has them; empty = a temporary folder
	Once        bool          // it ends with its first run
	LeaveAfter  time.Duration // see [worker.Options]
	Creds       string        // file of credentials of an existing NATS; empty = the token is shown to the server of a controller
	Prefix      string        // of the subjects there
	CA          string        // file of the authorities of the bus; empty = those of the system
	Cert, Key   string        // files of the certificate of the load generator; empty = none
	Insecure    bool
	Targets     TargetOptions // which servers parts of runs may reach; without patterns all that are not reserved
	Caps        worker.Caps
	Version     string
	Log         zerolog.Logger
	LoadOptions config.LoadOptions
}

// connect opens the bus for a worker with an id, and says if others can read it.
func (o *WorkerOptions) connect(ctx context.Context, id string) (b bus.Bus, disconnect func(), err error) {
	joins := broker.Options{
		URL: o.URL, ID: id, Creds: o.Creds, Prefix: o.Prefix,
		CA: o.CA, Cert: o.Cert, Key: o.Key, Insecure: o.Insecure, Log: o.Log,
	}
	exposed := "records and results"
	if o.Creds == "" {
		joins.Token, exposed = o.Token, "the token, and with it documents, records and results"
	}
	connection, err := broker.Connect(ctx, joins)
	if err != nil {
		return nil, nil, err
	}
	quiet := func() {}
	if joins.Exposed() {
		quiet = warnExposed(ctx, o.Log, exposed)
	}
	return connection, func() {
		quiet()
		connection.Close()
	}, nil
}

// RunWorker joins a controller and performs parts of runs until the first signal.
func RunWorker(ctx context.Context, o *WorkerOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer onSignals(func(s os.Signal) {
		o.Log.Info().Stringer("signal", s).Msg("stopping")
		cancel()
	}, func(os.Signal) { os.Exit(1) })()
	if o.DataDir == "" {
		dir, err := os.MkdirTemp("", "aiperfd-worker-")
		if err != nil {
			return fmt.Errorf("make a folder for the runs: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		o.DataDir = dir
	}
	db, err := store.Open(ctx, o.DataDir)
	if err != nil {
		return fmt.Errorf("open data directory: %w", err)
	}
	key, err := sealed.NewKey()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	connection, disconnect, err := o.connect(ctx, sealed.Instance(key.Public()))
	if err != nil {
		return errors.Join(fmt.Errorf("connect to the controller: %w", err), db.Close())
	}
	defer disconnect()
	load := o.LoadOptions
	load.Choices, load.LookupEnv = plan.Choices(), os.LookupEnv
	load.Reach.Targets = allow.New(allow.Options{Patterns: o.Targets.Patterns, Open: true})
	e, err := engine.New(engine.Options{
		Store: db, Log: o.Log, Version: o.Version, Load: load, Pacer: pace.Precise, Hub: hub.FromEnvironment(os.Getenv),
		TraceCache: engine.TraceCacheFolder(), Allow: load.Reach.Targets,
	})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(life); err != nil {
			o.Log.Error().Err(err).Msg("engine")
			cancel()
		}
	})
	memory, _ := monitor.MemoryLimit(os.DirFS("/")) // 0 = it is not known
	w := worker.New(worker.Options{
		Bus: connection, Key: key, Token: o.Token, Name: o.Name, Version: o.Version, Labels: o.Labels, Memory: memory,
		Cores:  monitor.Cores(),
		Engine: e, Dir: db.Dir, Load: load, Caps: o.Caps, Once: o.Once, LeaveAfter: o.LeaveAfter, Log: o.Log,
	})
	err = w.Run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	stop()
	running.Wait()
	return errors.Join(err, db.Close())
}
