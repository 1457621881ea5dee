package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/tokenizer"
)

// datasets are the conversations of a run. Models with different tokenizers have
// datasets of their own, because their texts differ.
type datasets struct {
	readers []*dataset.Reader
	byModel map[string]*dataset.Reader // nil = the first is every model's
	inputs  *collect.Inputs            // nil = inputs.json was not requested
	lengths lengths
	stop    context.CancelFunc // ends reads that wait; nil = nothing was opened
	bodies  bodies

	warmup  *datasets // of the phases of the warm-up; nil = they use this one
	warming bool      // a phase of the warm-up is running
}

// openDatasets opens a dataset per tokenizer and waits until its first conversations are
// complete. limit is the context length of the model; 0 = unknown.
func (x *prepared) openDatasets(ctx context.Context, env *environment, limit bench.Tokens) error {
	x.data.lengths.limit = limit
	if x.plan.Files.Inputs {
		var err error
		if x.data.inputs, err = collect.OpenInputs(collect.InputOptions{
			Dir: env.dir, Plan: x.plan, Secrets: env.secrets, TokenIDs: x.tokenIDs(),
		}); err != nil {
			return err
		}
	}
	for _, tok := range x.tokens.ByTokenizer(x.plan.Models.Names) {
		o := x.plan.Dataset.Options
		var err error
		if o.Tokenizer, err = x.calibrated(ctx, &tok, env); err != nil {
			return err
		}
		o.Public.Hub, o.Agentic.Cache = env.opts.Hub, env.opts.TraceCache
		if tok.Tokenizer != nil {
			o.Synthetic.Marker = x.plan.FirstTurnMarker(tok.Tokenizer.Count)
			if n := o.Synthetic.SharedSystem; n > 0 {
				o.Synthetic.SharedSystem = max(1, n-x.plan.SystemMarker(tok.Tokenizer.Count))
			}
		}
		if err := x.openReader(ctx, x.data, o, tok.Models); err != nil {
			return err
		}
		if !x.plan.Dataset.SeparateWarmup {
			continue
		}
		if x.data.warmup == nil {
			x.data.warmup = &datasets{}
		}
		o.Seed = o.Seed.Child(bench.StreamWarmup)
		if err := x.openReader(ctx, x.data.warmup, o, tok.Models); err != nil {
			return err
		}
	}
	return nil
}

// openReader opens a dataset of some models, of all phases or of those that it serves.
func (x *prepared) openReader(ctx context.Context, into *datasets, o dataset.Options, models []string) error {
	source, err := x.plan.Dataset.Kind.Open(ctx, o)
	if err != nil {
		return err
	}
	phases := served(x.plan, into == x.data.warmup)
	options := dataset.ReaderOptions{
		Source: source, Sampling: cmp.Or(x.plan.Dataset.Sampling, "sequential"), Seed: x.plan.Seed,
		Ahead: ahead(x.plan), Need: need(phases), Once: phases[0].Once, Check: x.check,
	}
	if x.data.inputs != nil && into == x.data && len(into.readers) == 0 {
		options.First = x.data.inputs.Add
	}
	r, err := dataset.NewReader(ctx, options)
	if err != nil {
		return err
	}
	into.add(r, models)
	if err := r.Ready(); err != nil {
		return fmt.Errorf("read dataset: %w", err)
	}
	return nil
}

// served returns the phases that a dataset serves: all, or if the warm-up has one of
// its own, only those of the warm-up or only the others.
func served(p *plan.Plan, warmup bool) []*spec.Phase {
	var out []*spec.Phase
	for i := range p.Phases {
		if !p.Dataset.SeparateWarmup || warmup == (p.Phases[i].Kind == bench.Warmup) {
			out = append(out, &p.Phases[i])
		}
	}
	return out
}

// calibrated returns a tokenizer of the run. If the plan requests it, the tokens that
// the server adds to texts are measured.
func (x *prepared) calibrated(ctx context.Context, tok *collect.ModelTokenizer, env *environment) (tokenizer.Tokenizer, error) {
	if !x.plan.Dataset.Calibrate || tok.Tokenizer == nil {
		return tok.Tokenizer, nil
	}
	model := slices.Concat(tok.Models, x.plan.Models.Names)[0]
	measured, err := target.Calibrate(ctx, x.servers, model, tok.Tokenizer.Count)
	if err != nil {
		return nil, err
	}
	env.notify.log.Info().Str("model", model).Msg(measured.String())
	x.warnings.add("isl-calibrated", measured.String()+"; prompts are shorter by that, so that the server counts the requested length")
	return withOverhead{tok.Tokenizer, measured.Tokens}, nil
}

// withOverhead is a tokenizer of a server that adds tokens to every text.
type withOverhead struct {
	tokenizer.Tokenizer
	tokens int
}

var _ tokenizer.Wrapper = withOverhead{}

func (t withOverhead) SpecialTokensToAdd() int { return t.tokens }

// Unwrap implements [tokenizer.Wrapper].
func (t withOverhead) Unwrap() tokenizer.Tokenizer { return t.Tokenizer }

// ahead returns how many conversations are completed before they are needed: those of
// the first wave of a closed loop, or of about half a second of an open one.
func ahead(p *plan.Plan) int {
	const least, most = 256, 8192
	n := least
	for i := range p.Phases {
		n = max(n, 2*p.Phases[i].Concurrency, int(p.Phases[i].Rate/2))
	}
	return min(n, most)
}

// need returns how many conversations the phases need at most; 0 = without bound.
func need(phases []*spec.Phase) (n int64) {
	for _, phase := range phases {
		bound := phase.Undivided().SessionBound()
		if bound < 0 || phase.Once { // which reads to the end, to see what its bounds cut
			return 0
		}
		n += bound
	}
	return n
}

// add adds the dataset of some models; no models = all.
func (d *datasets) add(r *dataset.Reader, models []string) {
	d.readers = append(d.readers, r)
	for _, model := range models {
		if d.byModel == nil {
			d.byModel = map[string]*dataset.Reader{}
		}
		d.byModel[model] = r
	}
}

// draw returns the next conversation for a model. Not safe for concurrent use.
func (d *datasets) draw(model string, quit <-chan struct{}) (*bench.Conversation, error) {
	if d.warming && d.warmup != nil {
		return d.warmup.draw(model, quit)
	}
	if own := d.byModel[model]; own != nil {
		return own.Next(quit)
	}
	return d.readers[0].Next(quit)
}

// restart begins again with the first conversation. With once, the conversations are
// drawn once, in the order of the dataset.
func (d *datasets) restart(ctx context.Context, once bool) error {
	if d.warming && d.warmup != nil {
		return d.warmup.restart(ctx, once)
	}
	for _, r := range d.readers {
		if err := r.Restart(ctx, once); err != nil {
			return err
		}
	}
	return nil
}

// hash is the hash of everything that was sent: of several datasets, that of their
// hashes. It is empty if there is no dataset.
func (d *datasets) hash() string {
	switch len(d.readers) {
	case 0:
		return ""
	case 1:
		return d.readers[0].Describe().Hash
	}
	all := sha256.New()
	for _, r := range d.readers {
		fmt.Fprintln(all, r.Describe().Hash)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// describe identifies what was sent.
func (d *datasets) describe() export.Dataset {
	out := export.Dataset{Hash: d.hash()}
	if len(d.readers) > 0 {
		about := d.readers[0].Describe()
		out.Source, out.Revision = about.Path, about.Revision
		out.Entries, out.LeftOut = about.Entries, about.LeftOut
	}
	return out
}

// close ends the reading and passes on the warnings.
func (d *datasets) close(warn func(code, detail string)) error {
	if d.stop != nil {
		d.stop()
	}
	var errs []error
	if d.warmup != nil {
		errs = append(errs, d.warmup.close(warn))
	}
	for _, r := range d.readers {
		errs = append(errs, r.Close())
		for _, warning := range r.Describe().Warnings {
			warn("dataset", warning)
		}
	}
	if warning := d.bodies.warning(); warning != "" {
		warn("dataset", warning)
	}
	if warning := d.lengths.warning(); warning != "" {
		warn("context-length", warning)
	}
	if d.inputs != nil {
		warning, err := d.inputs.Close()
		if errs = append(errs, err); warning != "" {
			warn("inputs-cut", warning)
		}
	}
	return errors.Join(errs...)
}

// check checks a conversation before it is used. It is safe for concurrent use.
func (x *prepared) check(ctx context.Context, c *bench.Conversation) error {
	if err := errors.Join(takes(ctx, &x.plan.Kind, c), x.plan.CacheBust.Check(c)); err != nil {
		return err
	}
	x.data.lengths.add(c, x.tokens.Count)
	x.data.bodies.add(c, x.plan)
	return nil
}

// takes returns an error if a conversation, or one that it starts, has content that the
// endpoint type does not accept, or when ctx ends.
func takes(ctx context.Context, kind *endpoint.Kind, c *bench.Conversation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for k := range c.Turns {
		t := &c.Turns[k]
		what := ""
		switch {
		case t.Payload != nil:
		case (t.HasMessages() || t.Tools != nil) && !kind.Messages:
			what = "chat messages or tools"
		case len(t.Images) > 0 && !kind.Caps.Images:
			what = "images"
		case kind.Name != "chat" && slices.ContainsFunc(t.Images, func(m bench.Media) bool { return m.UUID != "" }):
			what = "image_uuids"
		case len(t.Audios) > 0 && !kind.Caps.Audio:
			what = "audio"
		case len(t.Videos) > 0 && !kind.Caps.Video:
			what = "video"
		}
		if what != "" {
			return fmt.Errorf("turn %d of conversation %s has %s; the endpoint type %s takes none", k, c.ID, what, kind.Name)
		}
	}
	for child := range c.Children() {
		if err := takes(ctx, kind, child); err != nil {
			return err
		}
	}
	return nil
}

// lengths compares the first 256 conversations with the context length of the model. It is safe for
// concurrent use.
type lengths struct {
	limit bench.Tokens // 0 = unknown

	checked atomic.Int64

	mu             sync.Mutex
	compared, over int          // guarded by mu
	longest        bench.Tokens // guarded by mu
}

// add checks a conversation.
func (l *lengths) add(c *bench.Conversation, count func(string) bench.Tokens) {
	const most = 256
	if l.limit == 0 || l.checked.Add(1) > most {
		return
	}
	n := length(c, count)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compared++
	if l.longest = max(l.longest, n); n > l.limit {
		l.over++
	}
}

// warning returns the warning about conversations that do not fit; empty = all do.
func (l *lengths) warning() string {
	if l.over == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%d of %d conversations checked need more tokens than the context length of %d (max_model_len), up to %d; expect errors or truncated responses",
		l.over, l.compared, l.limit, l.longest)
}

// length returns how many tokens a conversation needs at its end: all texts, and
// the longest responses that are requested. Texts count 0 without a tokenizer.
func length(c *bench.Conversation, count func(string) bench.Tokens) bench.Tokens {
	total := count(c.System) + count(c.Context)
	longest := bench.Tokens(0)
	for i := range c.Turns {
		t := &c.Turns[i]
		input := t.InputTokens
		if input == 0 {
			input = count(strings.Join(t.Texts, " "))
		}
		if c.Mode == bench.MessageArrayWithResponses {
			longest = max(longest, total+input+t.MaxTokens)
			continue
		}
		total += input + t.MaxTokens
		longest = total
	}
	return longest
}

// TraceCacheFolder returns the folder of the user for [Options.TraceCache]; empty = there is none.
func TraceCacheFolder() string { return agentic.CacheFolder() }
