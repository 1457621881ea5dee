package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
)

// prepareError says which part of the preparation failed.
type prepareError struct {
	code ErrorCode
	err  error
}

func (e *prepareError) Error() string { return e.err.Error() }
func (e *prepareError) Unwrap() error { return e.err }

func newExecution(plan *Plan, secrets *redact.Set) *execution {
	x := &execution{
		plan: plan, secrets: secrets, cancelAsked: make(chan struct{}),
		ids:     newIdentities(),
		publish: func(EventType, *Snapshot) {}, say: func(string) {}, alarm: func(string) {}, adopted: func() {}, logs: zerolog.Nop(),
	}
	x.state.Store(bench.Queued)
	return x
}

// prepare does everything that may be slow before the first request: the servers,
// tokenizer, dataset, files. Nothing of it is inside a timed window.
func (x *execution) prepare(ctx context.Context, dir string) error {
	x.warnings = append(x.warnings, x.plan.Doubts...)
	x.warnReserved()
	ask := x.newCaller()
	defer ask.close()
	if err := x.awaitModel(ctx, ask); err != nil {
		return &prepareError{NotReady, err}
	}
	if err := x.settleModels(ctx, ask); err != nil {
		return &prepareError{ModelUnknown, err}
	}
	x.doubtReach()
	counts, err := x.openTokenizer()
	if err != nil {
		return &prepareError{TokenizerFailed, err}
	}
	if err := x.openDataset(ctx, counts); err != nil {
		return &prepareError{DatasetFailed, fmt.Errorf("open dataset: %w", err)}
	}
	x.checkLengths()
	if err := x.resetCaches(ctx, ask); err != nil {
		return &prepareError{CacheReset, err}
	}
	x.choose = x.plan.Seed.Rand(bench.StreamModelSelection)
	x.clock = bench.NewClock()
	x.plan.Transport.Clock = x.clock
	client := transport.New(x.plan.Transport)
	x.client = client
	if x.stampLag == nil {
		x.stampLag = func() (lags verdict.Histogram) {
			client.Lag().Each(lags.AddN)
			return lags
		}
	}
	x.warnOfPolls()
	if err := x.openFiles(dir); err != nil {
		return &prepareError{ExportFailed, fmt.Errorf("open result files: %w", err)}
	}
	return nil
}

// doubtReach says in the result what a reader must know of the way to the server.
func (x *execution) doubtReach() {
	o := &x.plan.Transport
	if o.SkipTLSVerify && slices.ContainsFunc(x.plan.Targets, func(t Target) bool { return t.URL.Scheme == "https" }) {
		const text = "TLS certificates were NOT verified: nobody knows who answered, and keys may have gone to anybody"
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

// openTokenizer loads the run's tokenizer if anything needs it. A tokenizer that
// the user named must exist; where only a model is named and its tokenizer is
// not on this machine, the built-in one counts, and the result says so.
func (x *execution) openTokenizer() (tokenizer.Tokenizer, error) {
	t := &x.plan.Tokens
	x.tokens.plan, x.tokens.caps = *t, x.plan.Kind.Caps
	x.tokens.noInput = !x.plan.Kind.Caps.TokenizesInput
	if t.Optional {
		return nil, nil
	}
	name := cmp.Or(t.Name, "builtin")
	tok, err := t.load(name)
	if err != nil && !t.Explicit && errors.Is(err, tokenizer.ErrNotLocal) {
		tok, err = tokenizer.Builtin(), nil
		x.tokens.substitute = &Warning{Code: "tokenizer-substituted", Detail: fmt.Sprintf(
			"no tokenizer of model %q on this machine: lengths are counted with the built-in %s; name a tokenizer.json to count as the model does",
			name, tok.Method())}
		if !t.Spare {
			x.warnings = append(x.warnings, *x.tokens.substitute)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	if !t.Server {
		x.tokens.tokenizer = tok
	}
	if x.plan.Kind.Caps.TokenIDs {
		x.encoder = tok
	}
	return tok, nil
}

// load finds a tokenizer by its name. In an untrusted document only built-in
// names and files within the document's bounds exist.
func (t *tokenPlan) load(name string) (tokenizer.Tokenizer, error) {
	if t.Open == nil || tokenizer.IsBuiltin(name) {
		return tokenizer.Load(name)
	}
	file, err := t.Open()
	if err != nil {
		return nil, fmt.Errorf("%w (%q)", tokenizer.ErrNotLocal, name)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, tokenizer.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return tokenizer.Read(name, content)
}

func (x *execution) openDataset(ctx context.Context, tok tokenizer.Tokenizer) error {
	o := x.plan.Dataset.Options
	o.Tokenizer = tok
	source, err := x.plan.Dataset.Kind.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := takes(&x.plan.Kind, source); err != nil {
		return err
	}
	for _, doubt := range source.Describe().Warnings {
		x.warn("dataset", doubt)
	}
	x.source = source
	x.sampler, err = dataset.NewSampler(cmp.Or(x.plan.Dataset.Sampling, "sequential"), source.Len(), x.plan.Seed)
	return err
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
	x.warnings = append(x.warnings, Warning{Code: code, Detail: detail})
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
	x.source, x.sampler, x.spares, x.finished, x.client = nil, nil, nil, nil, nil
	x.tokens.tokenizer, x.encoder = nil, nil
}

// latest returns the newest snapshot; nil before the first.
func (x *execution) latest() *Snapshot { return x.snapshot.Load() }

// onCancel registers what a cancel has to stop while there is no phase.
func (x *execution) onCancel(stop context.CancelFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopPreparing = stop
	if stop != nil && x.request != nil {
		stop()
	}
}
