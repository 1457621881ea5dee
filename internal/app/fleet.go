package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
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
	"aiperfd/internal/cluster/worker"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/store"
)

// BusOptions say where load generators join; the zero BusOptions have none.
type BusOptions struct {
	Listen string // host:port; empty = there is no bus
	// Tokens authenticate load generators, see [broker.ServerOptions].
	Tokens func(token string) (name string, most int, ok bool)
	// Cert, Key and ClientCA are files of TLS; see [broker.ServerOptions].
	Cert, Key, ClientCA string
	Insecure            bool
}

// fleet is the controller of load generators with its bus.
type fleet struct {
	*cluster.Controller // nil before [fleet.control]
	options             cluster.Options
	server              *broker.Server
	own                 bus.Bus
}

// openFleet opens the bus. nil = the options have none.
func openFleet(ctx context.Context, o BusOptions, version string, log zerolog.Logger) (*fleet, error) {
	if o.Listen == "" {
		return nil, nil //nolint:nilnil // without a bus there is no fleet, which is no error
	}
	server, err := broker.Listen(ctx, broker.ServerOptions{
		Listen: o.Listen, Authenticate: o.Tokens, Cert: o.Cert, Key: o.Key, ClientCA: o.ClientCA, Insecure: o.Insecure, Log: log,
	})
	if err != nil {
		return nil, err
	}
	own, err := server.Connect(ctx)
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("connect to the bus: %w", err)
	}
	return &fleet{options: cluster.Options{Bus: own, Version: version, Log: log}, server: server, own: own}, nil
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
	if f != nil {
		f.own.Close()
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
	f, err := openFleet(ctx, BusOptions{Listen: "127.0.0.1:0", Tokens: func(text string) (string, int, bool) {
		return "spawned", n, subtle.ConstantTimeCompare([]byte(text), []byte(token)) == 1
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
	CA          string        // file of the authorities of the bus; empty = those of the system
	Cert, Key   string        // files of the certificate of the load generator; empty = none
	Insecure    bool
	Targets     TargetOptions
	Version     string
	Log         zerolog.Logger
	LoadOptions config.LoadOptions
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
	id := strings.ToLower(rand.Text())
	connection, err := broker.Connect(ctx, broker.Options{
		URL: o.URL, ID: id, Token: o.Token, CA: o.CA, Cert: o.Cert, Key: o.Key, Insecure: o.Insecure, Log: o.Log,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("connect to the controller: %w", err), db.Close())
	}
	defer connection.Close()
	load := o.LoadOptions
	load.Choices, load.LookupEnv = plan.Choices(), os.LookupEnv
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
		Bus: connection, ID: id, Name: o.Name, Version: o.Version, Labels: o.Labels, Engine: e, Dir: db.Dir, Load: load,
		Once: o.Once, LeaveAfter: o.LeaveAfter, Log: o.Log, Memory: memory,
	})
	err = w.Run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	stop()
	running.Wait()
	return errors.Join(err, db.Close())
}
