package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/request"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/telemetry/push"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/transport/netpath"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// prepareError names the part of the preparation that failed.
type prepareError struct {
	code run.ErrorCode
	err  error
}

func (e *prepareError) Error() string { return e.err.Error() }
func (e *prepareError) Unwrap() error { return e.err }

// announceAfter is the time after which a step before the first request is shown.
const announceAfter = 2 * time.Second

// prepared is a run that can begin: its servers answer, and its dataset, connections and
// files are open. [prepare] makes it complete.
type prepared struct {
	plan     *plan.Plan // with the model that the server has named
	warnings warnings

	clock   bench.Clock
	servers *target.Servers // for requests that are not load
	tokens  *collect.Tokens
	data    *datasets
	client  *transport.Client
	faults  *collect.Faults // of the processing of responses
	files   *collect.Files
	records *collect.Run
	work    *load.Work
	sender  *request.Polling // of the load
	// observers observe the run besides the judgement of its client and its servers.
	observers []collect.RunObserver
	// server is what the servers' metrics say; nil before the observers have ended, and if they were not read.
	server *diagnose.Server
	// devices is what accelerators did; nil like server.
	devices *gpu.Report
	// paths keeps what the kernel counts of the connections; nil if it is off.
	paths   *collect.PathRecorder
	path    *paths.Report     // nil before the observers have ended, and if nothing was counted
	senders push.Senders      // to OpenTelemetry collectors
	mlflow  *experiment       // of the results
	spans   *otel.ServerSpans // of servers; nil before the observers have ended, and if none are received
	trips   *roundTrips       // of the probes of the network; nil = the document does not ask for them
	samples *samples.Recorder // of single requests
	// jobs collects the plays of recorded sessions; nil = the dataset has none.
	jobs *agents.Jobs
	// carried counts what earlier runs have sent; nil = it is not known.
	carried *collect.Carried
}

// prepare does everything that may be slow before the first request: servers, tokenizers,
// dataset, files. It runs outside the timed windows. After an error nothing is open; else
// the caller closes what it returns, and releases it once the results are computed.
func prepare(ctx context.Context, p *plan.Plan, env *environment) (_ *prepared, err error) {
	if err := checkSurroundings(ctx, p, env); err != nil {
		return nil, err
	}
	servers := newServers(p, env)
	defer servers.Close()
	if err := servers.Await(ctx); err != nil {
		return nil, &prepareError{run.NotReady, err}
	}
	models, err := servers.Resolve(ctx)
	if err != nil {
		return nil, &prepareError{run.ModelUnknown, err}
	}
	if models.Plan != p {
		env.notify.modelResolved(models.Plan)
	}
	x := &prepared{
		plan: models.Plan, servers: servers, data: &datasets{},
		warnings: slices.Concat(p.Warnings, reservedInputs(p), models.Warnings, connectionWarnings(models.Plan, env)),
		faults:   &collect.Faults{Log: env.notify.log, Secrets: env.secrets},
	}
	defer func() {
		if err != nil {
			_ = x.close() // the run fails for the other reason
			x.endObservers(env.live)
			x.release()
		}
	}()
	if x.tokens, err = collect.OpenTokens(ctx, collect.TokenOptions{
		Plan: x.plan, Hub: env.opts.Hub, Log: env.notify.log, Status: env.notify.status, Warn: x.warnings.add,
	}); err != nil {
		return nil, &prepareError{run.TokenizerFailed, err}
	}
	ctx, x.data.stop = context.WithCancel(ctx)
	if err := announce(env.notify.status, "preparing the dataset", func() error {
		return x.openDatasets(ctx, env, models.Context)
	}); err != nil {
		return nil, &prepareError{run.DatasetFailed, err}
	}
	if err := servers.ResetCaches(ctx, nil); err != nil {
		return nil, &prepareError{run.CacheReset, err}
	}
	x.clock = env.clock()
	connections := env.connections(x.plan, x.clock)
	if x.plan.Document.Benchmark.Path.Enabled {
		connections.Path = &netpath.Log{}
		x.paths = collect.NewPathRecorder(connections.Path, connections.Proxy != nil || connections.EnvProxy)
	}
	x.client = transport.New(connections)
	x.warnings = append(x.warnings, pollWarnings(x.plan)...)
	if err := x.openFiles(env); err != nil { //nolint:contextcheck // what it starts goes on when ctx has ended
		return nil, &prepareError{run.ExportFailed, fmt.Errorf("open result files: %w", err)}
	}
	x.records = &collect.Run{
		Plan: x.plan, Clock: x.clock, Secrets: env.secrets, Tokens: x.tokens, Files: x.files,
		Faults: x.faults, Forced: env.cancel.forced, Prefixes: agents.NewPrefixes(),
	}
	x.work = x.newWork(ctx, env)
	return x, nil
}

// checkSurroundings checks what needs no server.
func checkSurroundings(ctx context.Context, p *plan.Plan, env *environment) error {
	if _, err := p.Dataset.Options.Synthetic.Videos.Encoder(ctx); err != nil {
		return &prepareError{run.DatasetFailed, err}
	}
	if err := transport.CheckSources(p.Transport.Sources); err != nil {
		return &prepareError{run.SourceAddress, err}
	}
	o := env.connections(p, bench.Clock{})
	if err := checkConnections(ctx, p, &o); err != nil {
		return &prepareError{run.Connections, err}
	}
	// The document was checked before the names of servers were resolved: one may lead to
	// an address that the run may not connect to.
	for i := range p.Targets {
		if err := o.Denied(ctx, p.Targets[i].URL); err != nil {
			return &prepareError{run.TargetNotAllowed, err}
		}
	}
	return nil
}

// announce performs a step, and shows what the run is waiting for if that takes long.
func announce(status func(text string), text string, step func() error) error {
	shown := make(chan struct{})
	timer := time.AfterFunc(announceAfter, func() {
		defer close(shown)
		status(text)
	})
	err := step()
	if !timer.Stop() {
		<-shown
		status("")
	}
	return err
}

// newServers returns the servers of the run, for requests that are not load.
func newServers(p *plan.Plan, env *environment) *target.Servers {
	return target.New(target.Options{
		Plan: p, Transport: env.connections(p, bench.NewClock()), Secrets: env.secrets, Log: env.notify.log,
		Status: env.notify.status, Silence: collect.FirstSilence,
		Unanswered: func(request string, since time.Time, length time.Duration) {
			env.notify.alarm(collect.Unanswered(length, request+" is waiting", since))
		},
	})
}

// observe begins to observe the run. A new observer is a row.
func (x *prepared) observe(env *environment) {
	x.mlflow = new(experiment)
	for _, o := range []collect.RunObserver{
		collect.NewRepeats(x.plan.CacheBust),
		findCarried(x.plan, env, &x.carried),
		x.recordSeries(env),
		x.recordSamples(env),
		x.readServerMetrics(env),
		x.readPaths(env),
		x.probeNetwork(env),
		x.collectJobs(),
		receiveSpans(x.plan, env, x.files, &x.spans),
		sendMetrics(x.plan, env, &x.senders),
		sendSpans(x.plan, x.clock, env, &x.senders),
		findExperiment(x.plan, env, x.mlflow),
		collect.NewTwin(env.twin),
		showPart(env.part),
	} {
		if o.Phase != nil {
			x.observers = append(x.observers, o)
		}
	}
	env.live.senders.Store(&x.senders)
}

// findCarried finds out which prompts earlier runs have sent to the servers.
func findCarried(p *plan.Plan, env *environment, to **collect.Carried) collect.RunObserver {
	var servers []string
	for i := range p.Targets {
		servers = append(servers, p.Targets[i].Address)
	}
	*to = env.history.Begin(servers)
	return (*to).Observer()
}

// recordSeries begins the time series of the run, which others can read from now on. It
// is zero if there is no file for it, and the run goes on without one.
func (x *prepared) recordSeries(env *environment) collect.RunObserver {
	o := series.Options{
		Path: filepath.Join(env.dir, series.File), Clock: x.clock,
		CPU: func() float64 { return env.live.process.read().CPUPercent },
	}
	if env.part != nil {
		o.Closed = env.part.ShowSecond
	}
	to, err := series.Create(o)
	if err != nil {
		x.warnings.add(collect.WarnSeries, err.Error())
		return collect.RunObserver{}
	}
	env.live.series.Store(to)
	return collect.NewSeries(to)
}

// recordSamples begins the samples of the run, which others can read from now on.
func (x *prepared) recordSamples(env *environment) collect.RunObserver {
	to := samples.New(samples.Options{
		Path: filepath.Join(env.dir, samples.File), Clock: x.clock, Rand: x.plan.Seed.Rand(bench.StreamSamples),
	})
	env.live.samples.Store(to)
	x.samples = to
	return collect.NewSamples(to)
}

// readServerMetrics begins to read the metrics of servers and accelerators, if the plan asks for it.
func (x *prepared) readServerMetrics(env *environment) collect.RunObserver {
	to := startTelemetry(x.plan, env, x.clock, &x.files.Readings, x.warnings.add)
	if to == nil {
		return collect.RunObserver{}
	}
	return collect.NewServerMetrics(collect.ServerMetricsOptions{
		To: to, Forced: env.cancel.forced, Apart: x.plan.Document.Benchmark.Datasets[0].Apart(),
		Paths: x.paths,
		Ended: func(s *diagnose.Server, d *gpu.Report) { x.server, x.devices = s, d },
	})
}

// startTelemetry begins to read the metrics of servers and accelerators; nil = the plan does not ask for it.
func startTelemetry(
	p *plan.Plan, env *environment, clock bench.Clock, to *collect.Readings, warn func(code, detail string),
) *telemetry.Recorder {
	m, g := &p.ServerMetrics, &p.GPUTelemetry
	if !m.Reads() && !g.Reads() {
		return nil
	}
	lines, err := to.ServerMetricsLines()
	if err != nil {
		warn("server-metrics-incomplete", err.Error())
	}
	devices := telemetry.DeviceOptions{Period: g.Period, Local: g.Local, Select: g.Devices, Extra: g.Extra}
	if g.Reads() {
		devices.Lines = to.DeviceLines()
	}
	r := telemetry.Start(telemetry.Options{
		Targets: slices.Concat(m.Targets, g.Targets), Discover: m.Discover, Transport: env.connections(p, clock),
		Clock: clock, Period: m.Period, Slice: m.Slice, Formats: m.Formats, Servers: m.Servers,
		Secrets: env.secrets, Log: env.notify.log, Lines: lines, Devices: devices,
	})
	env.live.servers.Store(r)
	return r
}

// readPaths begins to keep what the kernel counts of the connections, if the document asks for it.
func (x *prepared) readPaths(env *environment) collect.RunObserver {
	if x.paths == nil {
		return collect.RunObserver{}
	}
	env.live.paths.Store(x.paths)
	return collect.NewPath(collect.PathOptions{
		To: x.paths, Read: x.client.ReadPaths, Ended: func(r *paths.Report) { x.path = r },
	})
}

// collectJobs begins to collect the plays of recorded sessions, if the dataset has some.
func (x *prepared) collectJobs() collect.RunObserver {
	if !x.plan.Dataset.Kind.Agentic {
		return collect.RunObserver{}
	}
	x.jobs = agents.NewJobs()
	return collect.NewAgents(x.jobs)
}

// pathLoss returns how many responses of a phase a loss on the network has concerned; nil = it is not known.
func (x *prepared) pathLoss(p *spec.Phase) func(last bool) *verdict.Path {
	if x.paths == nil {
		return nil
	}
	return func(last bool) *verdict.Path {
		if last {
			x.client.ReadPaths()
		}
		all := x.paths.Counted(p.Index)
		return &verdict.Path{
			Responses: all.Responses, Affected: all.Affected, Sent: all.Segments, Retransmitted: all.Retransmitted,
			Received: all.Received, OutOfOrder: all.OutOfOrder,
		}
	}
}

// openFiles writes the files of the user and starts what writes during the run.
func (x *prepared) openFiles(env *environment) (err error) {
	b := &x.plan.Document.Benchmark
	if err := x.plan.Document.WriteUserFiles(config.UserFileRun{
		Epoch: time.Now().Unix(), JobName: filepath.Base(env.dir), Model: x.plan.Models.Names[0],
		EndpointURL: b.Endpoint.URLs[0].String(), ArtifactDir: env.dir,
	}); err != nil {
		return err
	}
	x.files, err = collect.OpenFiles(collect.FileOptions{
		Dir: env.dir, Plan: x.plan, Clock: x.clock, Secrets: env.secrets,
		Reserve: env.opts.DiskReserve, Alarm: env.notify.alarm, Faults: x.faults, Worker: env.worker(),
	})
	if err != nil {
		return err
	}
	x.observe(env)
	return nil
}

// tokenIDs returns the function that encodes texts as tokens; nil = the API takes
// texts.
func (x *prepared) tokenIDs() func(t *bench.Turn, model string) []int {
	if !x.plan.Kind.Caps.TokenIDs {
		return nil
	}
	return x.tokens.Encode
}

// received returns the number of reads from the servers so far.
func (x *prepared) received() uint64 {
	lag := x.client.Lag()
	return lag.Kernel + lag.Read
}

// stampLag returns how long received bytes waited for the client since the run began, by the
// kernel's stamps.
func (x *prepared) stampLag() (lags verdict.Histogram) {
	x.client.Lag().Each(lags.AddN)
	return lags
}

// connectionWarnings returns the warnings about connections.
func connectionWarnings(p *plan.Plan, env *environment) []bench.Warning {
	var out warnings
	o := &p.Transport
	if files, ok := monitor.FileLimit(); ok && env.opts.Dial == nil {
		if text := plan.Overcommitted(p, files); text != "" {
			env.notify.log.Warn().Msg(text)
			out.add("file-limit", text)
		}
	}
	if env.part == nil && env.opts.Dial == nil {
		if text := plan.NeedsWorkers(p, runtime.GOMAXPROCS(0)); text != "" {
			env.notify.log.Warn().Msg(text)
			out.add(plan.NeedsWorkersCode, text)
		}
	}
	if o.SkipTLSVerify && slices.ContainsFunc(p.Targets, func(t plan.Target) bool { return t.URL.Scheme == "https" }) {
		const text = "TLS certificates were NOT verified: the identity of the server is unknown, " +
			"and API keys may have been sent to anyone"
		env.notify.log.Warn().Msg(text)
		out.add("tls-not-verified", text)
	}
	switch {
	case o.Proxy != nil:
		proxy := redact.URL(o.Proxy.String())
		out.add("proxy", fmt.Sprintf("requests went through the proxy %s; all latencies include it", proxy))
	case o.EnvProxy:
		out.add("proxy", "requests went through the proxy that the environment names, if any; all latencies include it")
	}
	return out
}

// reservedInputs returns the warnings about extra inputs that cannot be sent.
func reservedInputs(p *plan.Plan) []bench.Warning {
	var out warnings
	for _, f := range p.Settings.Extra {
		if slices.Contains(p.Kind.Reserved, f.Name) {
			out.add("extra-input-ignored", fmt.Sprintf(
				"extra input %q is not sent: in requests of type %s this field is what the dataset says", f.Name, p.Kind.Name))
		}
	}
	return out
}

// close ends the reading of the dataset and the connections, and makes the record files
// durable. The observers go on.
func (x *prepared) close() error {
	var fault error
	if x.files != nil {
		fault = x.files.Close()
	}
	fault = errors.Join(fault, x.data.close(x.warnings.add))
	if x.sender != nil {
		x.sender.Wait()
	}
	if x.client != nil {
		x.client.Close()
	}
	return fault
}

// endObservers ends the observers, all at the same time: some wait for others to answer. What they have recorded is read
// from its files then.
func (x *prepared) endObservers(l *live) {
	l.series.Store(nil)
	l.samples.Store(nil)
	l.servers.Store(nil)
	l.paths.Store(nil)
	l.senders.Store(nil)
	warned := make([]warnings, len(x.observers))
	var crash atomic.Pointer[string]
	var ending sync.WaitGroup
	for i, o := range x.observers {
		if o.End == nil {
			continue
		}
		ending.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					crash.Store(new(fmt.Sprintf("%v\n%s", fault, debug.Stack())))
				}
			}()
			o.End(warned[i].add)
		})
	}
	ending.Wait()
	if text := crash.Load(); text != nil {
		panic(*text) // of the run, which reports it
	}
	for _, w := range warned {
		x.warnings = append(x.warnings, w...)
	}
}

// release removes the files that only the computation of the results needs.
func (x *prepared) release() {
	if x.files != nil {
		x.files.Release()
	}
}
