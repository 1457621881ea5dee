package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config/userfile"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/transport"
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

func newExecution(p *plan.Plan, secrets *redact.Set) *execution {
	x := &execution{
		plan: p, secrets: secrets, cancel: newCancellation(),
		notify: notifications{
			log:     zerolog.Nop(),
			note:    func(string, string, map[string]any) {},
			publish: func(run.EventType, *run.Snapshot, int) {}, status: func(string) {}, alarm: func(string) {},
			modelResolved: func(*plan.Plan) {},
		},
	}
	x.state.Store(bench.StateQueued)
	return x
}

// announceAfter is the time after which a step before the first request is shown.
const announceAfter = 2 * time.Second

// preparation performs the steps before the first request of a run.
type preparation struct{ *execution }

// run performs everything that may be slow before the first request: the servers,
// tokenizer, dataset, files. It runs outside the timed windows.
func (x *preparation) run(ctx context.Context, dir string) error {
	x.warnings = append(x.warnings, x.plan.Warnings...)
	x.warnReserved()
	if _, err := x.plan.Dataset.Options.Synthetic.Videos.Encoder(ctx); err != nil {
		return &prepareError{run.DatasetFailed, err}
	}
	if err := transport.CheckSources(x.plan.Transport.Sources); err != nil {
		return &prepareError{run.SourceAddress, err}
	}
	if err := x.checkTargets(ctx); err != nil {
		return &prepareError{run.TargetNotAllowed, err}
	}
	x.servers = x.newServers()
	defer x.servers.Close()
	if err := x.servers.Await(ctx); err != nil {
		return &prepareError{run.NotReady, err}
	}
	models, err := x.resolveModels(ctx)
	if err != nil {
		return &prepareError{run.ModelUnknown, err}
	}
	x.warnOfConnections()
	if x.tokens, err = collect.OpenTokens(ctx, collect.TokenOptions{
		Plan: x.plan, Hub: x.system.hub, Log: x.notify.log, Status: x.notify.status, Warn: x.warn,
	}); err != nil {
		return &prepareError{run.TokenizerFailed, err}
	}
	ctx, x.data.stop = context.WithCancel(ctx)
	if err := x.announce("preparing the dataset", func() error { return x.openDataset(ctx, dir, models.Context) }); err != nil {
		return &prepareError{run.DatasetFailed, err}
	}
	if err := x.servers.ResetCaches(ctx, nil); err != nil {
		return &prepareError{run.CacheReset, err}
	}
	x.clock = bench.NewClock()
	client := transport.New(x.transport(x.clock))
	x.client = client
	if x.observed.stampLag == nil {
		x.observed.stampLag = func() (lags verdict.Histogram) {
			client.Lag().Each(lags.AddN)
			return lags
		}
	}
	x.warnOfPolls()
	x.faults = &collect.Faults{Log: x.notify.log, Secrets: x.secrets}
	if err := x.openFiles(dir); err != nil {
		return &prepareError{run.ExportFailed, fmt.Errorf("open result files: %w", err)}
	}
	x.observed.repeats = collect.NewRepeats(x.plan.CacheBust)
	x.records = &collect.Run{
		Plan: x.plan, Clock: x.clock, Secrets: x.secrets, Tokens: x.tokens, Files: x.files,
		Faults: x.faults, Forced: x.cancel.forced,
	}
	x.work = load.NewWork(load.Options{
		Plan: x.plan, RunID: x.id, Clock: x.clock, Client: client, Received: x.received, Pacer: x.system.pacer,
		Draw: x.data.draw, Restart: func(once bool) error { return x.data.restart(ctx, once) }, TokenIDs: x.tokenIDs(), Stop: x.cancel,
	})
	return nil
}

// announce performs a step and shows what the run is waiting for if that takes long.
func (x *preparation) announce(text string, step func() error) error {
	shown := make(chan struct{})
	timer := time.AfterFunc(announceAfter, func() {
		defer close(shown)
		x.notify.status(text)
	})
	err := step()
	if !timer.Stop() {
		<-shown
		x.notify.status("")
	}
	return err
}

// checkTargets reports a server whose name leads to addresses that the run may not
// connect to. The document was checked before names were resolved.
func (x *preparation) checkTargets(ctx context.Context) error {
	o := x.transport(bench.Clock{})
	for i := range x.plan.Targets {
		if err := o.Denied(ctx, x.plan.Targets[i].URL); err != nil {
			return err
		}
	}
	return nil
}

// newServers returns the servers of the run, for requests that are not load.
func (x *preparation) newServers() *target.Servers {
	return target.New(target.Options{
		Plan: x.plan, Transport: x.transport(bench.NewClock()), Secrets: x.secrets, Log: x.notify.log,
		Status: x.notify.status, Silence: collect.FirstSilence,
		Unanswered: func(request string, since time.Time, length time.Duration) {
			x.notify.alarm(collect.Unanswered(length, request+" is waiting", since))
		},
	})
}

// resolveModels replaces the plan if the server has named the model.
func (x *preparation) resolveModels(ctx context.Context) (*target.Models, error) {
	models, err := x.servers.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	x.warnings = append(x.warnings, models.Warnings...)
	if models.Plan != x.plan {
		x.plan = models.Plan
		x.notify.modelResolved(x.plan)
	}
	return models, nil
}

// recordSeries begins the time series of the run, which goes on without one if there is no
// file for it.
func (x *preparation) recordSeries(dir string) {
	recorder, err := series.Create(series.Options{
		Path: filepath.Join(dir, series.File), Clock: x.clock, CPU: func() float64 { return x.process.read().CPUPercent },
	})
	if err != nil {
		x.warn("series-incomplete", err.Error())
		return
	}
	x.observed.series.Store(recorder)
}

// recordSamples begins the samples of the run.
func (x *preparation) recordSamples(dir string) {
	x.observed.samples.Store(samples.New(samples.Options{
		Path: filepath.Join(dir, samples.File), Clock: x.clock, Rand: x.plan.Seed.Rand(bench.StreamSamples),
	}))
}

// openFiles starts the writers of the record files.
func (x *preparation) openFiles(dir string) (err error) {
	b := &x.plan.Document.Benchmark
	if err := x.plan.Document.WriteUserFiles(userfile.Run{
		Epoch: time.Now().Unix(), JobName: filepath.Base(dir), Model: x.plan.Models.Names[0], EndpointURL: b.Endpoint.URLs[0].String(), ArtifactDir: dir,
	}); err != nil {
		return err
	}
	x.recordSeries(dir)
	x.recordSamples(dir)
	x.files, err = collect.OpenFiles(collect.FileOptions{
		Dir: dir, Plan: x.plan, Clock: x.clock, Secrets: x.secrets,
		Reserve: x.system.reserve, Alarm: x.notify.alarm, Faults: x.faults,
	})
	return err
}

// tokenIDs returns the function that encodes texts as tokens; nil = the API takes
// texts.
func (x *execution) tokenIDs() func(t *bench.Turn, model string) []int {
	if !x.plan.Kind.Caps.TokenIDs {
		return nil
	}
	return x.tokens.Encode
}

// transport returns the options of the connections of the run.
func (x *execution) transport(clock bench.Clock) transport.Options {
	o := x.plan.Transport
	o.Dial, o.Memory, o.Clock = x.system.dial, x.system.memory, clock
	o.Policy.Allow = x.system.allow
	o.Policy.Private = func(body []byte) bool {
		text := string(body)
		return x.secrets.Exact(text) != text
	}
	return o
}

// warnOfConnections adds the warnings about connections to the result.
func (x *preparation) warnOfConnections() {
	o := &x.plan.Transport
	if files, ok := monitor.FileLimit(); ok && x.system.dial == nil {
		if text := plan.Overcommitted(x.plan, files); text != "" {
			x.notify.log.Warn().Msg(text)
			x.warn("file-limit", text)
		}
	}
	if o.SkipTLSVerify && slices.ContainsFunc(x.plan.Targets, func(t plan.Target) bool { return t.URL.Scheme == "https" }) {
		const text = "TLS certificates were NOT verified: the identity of the server is unknown, and API keys may have been sent to anyone"
		x.notify.log.Warn().Msg(text)
		x.warn("tls-not-verified", text)
	}
	switch {
	case o.Proxy != nil:
		x.warn("proxy", fmt.Sprintf("requests went through the proxy %s; all latencies include it", redact.URL(o.Proxy.String())))
	case o.EnvProxy:
		x.warn("proxy", "requests went through the proxy that the environment names, if any; all latencies include it")
	}
}

// warnReserved warns of extra inputs that cannot be sent.
func (x *preparation) warnReserved() {
	for _, f := range x.plan.Settings.Extra {
		if slices.Contains(x.plan.Kind.Reserved, f.Name) {
			x.warn("extra-input-ignored", fmt.Sprintf(
				"extra input %q is not sent: in requests of type %s this field is what the dataset says", f.Name, x.plan.Kind.Name))
		}
	}
}

// warn adds a warning to the result.
func (x *execution) warn(code, detail string) {
	x.warnings = append(x.warnings, bench.Warning{Code: code, Detail: detail})
}

// close releases the resources that the preparation opened.
func (x *execution) close() {
	if x.work != nil {
		x.work.Wait()
	}
	if err := x.data.close(x.warn); err != nil {
		x.warn("dataset", err.Error())
	}
	if x.client != nil {
		x.client.Close()
	}
	if x.files != nil {
		if err := x.files.Close(); err != nil {
			x.warn("records", err.Error())
		}
	}
	x.closeSeries()
	x.closeSamples()
}

// release removes the files that only the computation of the results needs.
func (x *execution) release() {
	if x.files != nil {
		x.files.Release()
	}
}

// releaseInputs drops the references that only an active run needs; the snapshot stays.
func (x *execution) releaseInputs() {
	x.data, x.begun, x.client, x.tokens, x.records, x.work = datasets{}, nil, nil, nil, nil, nil
}

// latest returns the newest snapshot; nil before the first.
func (x *execution) latest() *run.Snapshot { return x.snapshot.Load() }
