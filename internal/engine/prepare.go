package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
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
			publish: func(run.EventType, *run.Snapshot) {}, status: func(string) {}, alarm: func(string) {},
			modelResolved: func(*plan.Plan) {},
		},
	}
	x.state.Store(bench.StateQueued)
	return x
}

// preparation performs the steps before the first request of a run.
type preparation struct{ *execution }

// run performs everything that may be slow before the first request: the servers,
// tokenizer, dataset, files. It runs outside the timed windows.
func (x *preparation) run(ctx context.Context, dir string) error {
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
	x.warnOfConnections()
	if x.tokens, err = collect.OpenTokens(ctx, collect.TokenOptions{
		Plan: x.plan, Hub: x.system.hub, Log: x.notify.log, Status: x.notify.status, Warn: x.warn,
	}); err != nil {
		return &prepareError{run.TokenizerFailed, err}
	}
	if err := x.openDataset(ctx); err != nil {
		return &prepareError{run.DatasetFailed, err}
	}
	x.checkLengths(models.Context)
	if err := x.servers.ResetCaches(ctx); err != nil {
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
	if err := x.openFiles(dir); err != nil {
		return &prepareError{run.ExportFailed, fmt.Errorf("open result files: %w", err)}
	}
	x.records = &collect.Run{Plan: x.plan, Clock: x.clock, Secrets: x.secrets, Tokens: x.tokens, Files: x.files}
	x.work = load.NewWork(load.Options{
		Plan: x.plan, Clock: x.clock, Client: client, Received: x.received, Pacer: x.system.pacer,
		Draw: x.data.draw, Restart: x.restart, TokenIDs: x.tokenIDs(), Stop: x.cancel,
	})
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

// openFiles writes the files that do not depend on responses, and starts the writers
// of the record files.
func (x *preparation) openFiles(dir string) error {
	if err := collect.WriteInputs(&collect.InputOptions{
		Dir: dir, Plan: x.plan, Source: x.data.first, Secrets: x.secrets, TokenIDs: x.tokenIDs(), Warn: x.warn,
	}); err != nil {
		return err
	}
	var err error
	x.files, err = collect.OpenFiles(collect.FileOptions{Dir: dir, Plan: x.plan, Clock: x.clock, Secrets: x.secrets})
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
	return o
}

// warnOfConnections adds the warnings about connections to the result.
func (x *preparation) warnOfConnections() {
	o := &x.plan.Transport
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

// openDataset opens a dataset per tokenizer: models with different tokenizers get
// different prompts.
func (x *preparation) openDataset(ctx context.Context) error {
	for _, tok := range x.tokens.ByTokenizer(x.plan.Models.Names) {
		o := x.plan.Dataset.Options
		o.Tokenizer = tok.Tokenizer
		source, err := x.plan.Dataset.Kind.Open(ctx, o)
		if err != nil {
			return err
		}
		if err := takes(&x.plan.Kind, source); err != nil {
			return fmt.Errorf("open dataset: %w", err)
		}
		for _, warning := range source.Describe().Warnings {
			x.warn("dataset", warning)
		}
		x.data.add(source, tok.Models)
	}
	return x.restart(false)
}

// add adds the dataset of some models; no models = all.
func (d *datasets) add(source dataset.Source, models []string) {
	if d.first == nil {
		d.first = source
	}
	for _, model := range models {
		if d.byModel == nil {
			d.byModel = map[string]dataset.Source{}
		}
		d.byModel[model] = source
	}
}

// of returns the dataset of a model.
func (d *datasets) of(model string) dataset.Source {
	if own := d.byModel[model]; own != nil {
		return own
	}
	return d.first
}

// draw returns the next conversation for a model. Not safe for concurrent use.
func (d *datasets) draw(model string) (*bench.Conversation, error) {
	if d.once {
		if d.drawn == d.first.Len() {
			return nil, io.EOF
		}
		d.drawn++
	}
	return d.of(model).At(d.sampler.Next()), nil
}

// restart begins again with the first conversation, to read all of them once or
// repeatedly.
func (x *execution) restart(once bool) (err error) {
	d := &x.data
	d.once, d.drawn = once, 0
	d.sampler, err = dataset.NewSampler(cmp.Or(x.plan.Dataset.Sampling, "sequential"), d.first.Len(), x.plan.Seed)
	return err
}

// hash is the hash of everything that may be sent: of several datasets, in the order
// of their models, that of their hashes.
func (d *datasets) hash(models []string) string {
	if len(d.byModel) == 0 {
		return d.first.Hash()
	}
	all := sha256.New()
	for _, model := range models {
		fmt.Fprintln(all, d.of(model).Hash())
	}
	return hex.EncodeToString(all.Sum(nil))
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

// takes reports the first turn with content that the endpoint type does not accept.
func takes(kind *endpoint.Kind, source dataset.Source) error {
	for i := range source.Len() {
		conversation := source.At(i)
		for k := range conversation.Turns {
			t := &conversation.Turns[k]
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
				return fmt.Errorf("turn %d of conversation %s has %s; the endpoint type %s takes none", k, conversation.ID, what, kind.Name)
			}
		}
	}
	return nil
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
	if x.client != nil {
		x.client.Close()
	}
	if x.files != nil {
		if err := x.files.Close(); err != nil {
			x.warn("records", err.Error())
		}
	}
}

// release removes the files that only the computation of the results needs.
func (x *execution) release() {
	if x.files != nil {
		x.files.Release()
	}
}

// releaseInputs drops the references that only an active run needs; the snapshot stays.
func (x *execution) releaseInputs() {
	x.data, x.finished, x.client, x.tokens, x.records, x.work = datasets{}, nil, nil, nil, nil, nil
}

// latest returns the newest snapshot; nil before the first.
func (x *execution) latest() *run.Snapshot { return x.snapshot.Load() }
