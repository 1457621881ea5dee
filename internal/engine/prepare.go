package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// prepareError says which part of the preparation failed.
type prepareError struct {
	code run.ErrorCode
	err  error
}

func (e *prepareError) Error() string { return e.err.Error() }
func (e *prepareError) Unwrap() error { return e.err }

func newExecution(p *plan.Plan, secrets *redact.Set) *execution {
	x := &execution{
		plan: p, secrets: secrets, cancelAsked: make(chan struct{}),
		ids:     newIdentities(),
		publish: func(run.EventType, *run.Snapshot) {}, say: func(string) {}, alarm: func(string) {}, modelResolved: func(*plan.Plan) {}, logs: zerolog.Nop(),
	}
	x.state.Store(bench.Queued)
	return x
}

// prepare does everything that may be slow before the first request: the servers,
// tokenizer, dataset, files. Nothing of it is inside a timed window.
func (x *execution) prepare(ctx context.Context, dir string) error {
	x.warnings = append(x.warnings, x.plan.Warnings...)
	x.warnReserved()
	x.servers = x.newServers()
	defer x.servers.Close()
	if err := x.servers.Await(ctx); err != nil {
		return &prepareError{run.NotReady, err}
	}
	models, err := x.resolveModels(ctx)
	if err != nil {
		return &prepareError{run.ModelUnknown, err}
	}
	x.doubtReach()
	counts, err := x.openTokenizers(ctx)
	if err != nil {
		return &prepareError{run.TokenizerFailed, err}
	}
	if err := x.openDataset(ctx, counts); err != nil {
		return &prepareError{run.DatasetFailed, err}
	}
	x.checkLengths(models.Context)
	if err := x.servers.ResetCaches(ctx); err != nil {
		return &prepareError{run.CacheReset, err}
	}
	x.choose = x.plan.Seed.Rand(bench.StreamModelSelection)
	x.clock = bench.NewClock()
	client := transport.New(x.transport(x.clock))
	x.client = client
	if x.stampLag == nil {
		x.stampLag = func() (lags verdict.Histogram) {
			client.Lag().Each(lags.AddN)
			return lags
		}
	}
	x.warnOfPolls()
	if err := x.openFiles(dir); err != nil {
		return &prepareError{run.ExportFailed, fmt.Errorf("open result files: %w", err)}
	}
	return nil
}

// newServers returns the servers of the run, for requests that are not load.
func (x *execution) newServers() *target.Servers {
	return target.New(target.Options{
		Plan: x.plan, Transport: x.transport(bench.NewClock()), Secrets: x.secrets, Log: x.logs,
		Status: x.say, Silence: firstSilence,
		Unanswered: func(request string, since time.Time, length time.Duration) {
			x.alarm(unanswered(length, request+" is waiting", since))
		},
	})
}

// resolveModels replaces the plan if the server has named the model.
func (x *execution) resolveModels(ctx context.Context) (*target.Models, error) {
	models, err := x.servers.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	x.warnings = append(x.warnings, models.Warnings...)
	if models.Plan != x.plan {
		x.plan = models.Plan
		x.modelResolved(x.plan)
	}
	return models, nil
}

// transport returns how the connections of this run are made.
func (x *execution) transport(clock bench.Clock) transport.Options {
	o := x.plan.Transport
	o.Dial, o.Memory, o.Clock = x.dial, x.memory, clock
	return o
}

// doubtReach says in the result what a reader must know of the way to the server.
func (x *execution) doubtReach() {
	o := &x.plan.Transport
	if o.SkipTLSVerify && slices.ContainsFunc(x.plan.Targets, func(t plan.Target) bool { return t.URL.Scheme == "https" }) {
		const text = "TLS certificates were NOT verified: the identity of the server is unknown, and API keys may have been sent to anyone"
		x.logs.Warn().Msg(text)
		x.warn("tls-not-verified", text)
	}
	switch {
	case o.Proxy != nil:
		x.warn("proxy", fmt.Sprintf("requests went through the proxy %s; all latencies include it", redact.URL(o.Proxy.String())))
	case o.EnvProxy:
		x.warn("proxy", "requests went through the proxy that the environment names, if any; all latencies include it")
	}
}

// openDataset opens the dataset for each tokenizer: models with tokenizers of their
// own get prompts of their own.
func (x *execution) openDataset(ctx context.Context, counts *tokenizers) error {
	bySource := map[*named]dataset.Source{}
	for i, tok := range counts.distinct(x.plan.Models.Names) {
		o := x.plan.Dataset.Options
		if tok != nil {
			o.Tokenizer = tok
		}
		source, err := x.plan.Dataset.Kind.Open(ctx, o)
		if err != nil {
			return err
		}
		if err := takes(&x.plan.Kind, source); err != nil {
			return fmt.Errorf("open dataset: %w", err)
		}
		for _, doubt := range source.Describe().Warnings {
			x.warn("dataset", doubt)
		}
		if bySource[tok] = source; i == 0 {
			x.source = source
		}
	}
	for model, tok := range counts.byModel {
		if x.sources == nil {
			x.sources = map[string]dataset.Source{}
		}
		x.sources[model] = bySource[tok]
	}
	var err error
	x.sampler, err = dataset.NewSampler(cmp.Or(x.plan.Dataset.Sampling, "sequential"), x.source.Len(), x.plan.Seed)
	return err
}

// sourceOf returns the dataset of a model.
func (x *execution) sourceOf(model string) dataset.Source {
	if own := x.sources[model]; own != nil {
		return own
	}
	return x.source
}

// datasetHash is the hash of everything that may be sent: of several datasets, in
// the order of their models, that of their hashes.
func (x *execution) datasetHash() string {
	if len(x.sources) == 0 {
		return x.source.Hash()
	}
	all := sha256.New()
	for _, model := range x.plan.Models.Names {
		fmt.Fprintln(all, x.sourceOf(model).Hash())
	}
	return hex.EncodeToString(all.Sum(nil))
}

// warnReserved tells of extra inputs that cannot be sent.
func (x *execution) warnReserved() {
	for _, f := range x.plan.Settings.Extra {
		if slices.Contains(x.plan.Kind.Reserved, f.Name) {
			x.warn("extra-input-ignored", fmt.Sprintf(
				"extra input %q is not sent: in requests of type %s this field is what the dataset says", f.Name, x.plan.Kind.Name))
		}
	}
}

// takes reports the first turn that carries what an endpoint type does not take.
func takes(kind *endpoint.Kind, source dataset.Source) error {
	for i := range source.Len() {
		talk := source.At(i)
		for k := range talk.Turns {
			t := &talk.Turns[k]
			what := ""
			switch {
			case t.Payload != nil:
			case len(t.Images) > 0 && !kind.Caps.Images:
				what = "images"
			case len(t.Audios) > 0 && !kind.Caps.Audio:
				what = "audio"
			case len(t.Videos) > 0 && !kind.Caps.Video:
				what = "video"
			}
			if what != "" {
				return fmt.Errorf("turn %d of conversation %s has %s; the endpoint type %s takes none", k, talk.ID, what, kind.Name)
			}
		}
	}
	return nil
}

// warn keeps a doubt for the result.
func (x *execution) warn(code, detail string) {
	x.warnings = append(x.warnings, bench.Warning{Code: code, Detail: detail})
}

// close ends what prepare opened.
func (x *execution) close() {
	if x.client != nil {
		x.takebacks.Wait()
		x.client.Close()
	}
	if err := x.closeFiles(); err != nil {
		x.warn("records", err.Error())
	}
}

// forget lets go of what only a run that goes on needs; the snapshot stays.
func (x *execution) forget() {
	x.source, x.sources, x.sampler, x.spares, x.finished, x.client = nil, nil, nil, nil, nil, nil
	x.tokens.tokenizers, x.encoders = tokenizers{}, tokenizers{}
}

// latest returns the newest snapshot; nil before the first.
func (x *execution) latest() *run.Snapshot { return x.snapshot.Load() }

// onCancel registers what a cancel has to stop while there is no phase.
func (x *execution) onCancel(stop context.CancelFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopPreparing = stop
	if stop != nil && x.request != nil {
		stop()
	}
}
