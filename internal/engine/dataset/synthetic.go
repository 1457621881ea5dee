package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/text"
)

// Bounds that prevent a typing error from exhausting the memory.
const (
	maxEntries      = 10_000_000
	maxTurns        = 100_000 // of one conversation
	maxPromptTokens = 1 << 24 // of one text
	maxTotalTokens  = 1 << 30 // of the dataset
	maxBatch        = 10_000
	turnCost        = 32 // a turn without text, or a reference to an image, takes as much memory as this many tokens
	maxPool         = 1_000_000
)

// Synthetic describes generated conversations. Lengths are in tokens of the
// run's tokenizer. ISL is the size of the generated user text of one turn:
// prefixes, system prompts, user contexts and the history of earlier turns are
// additional.
type Synthetic struct {
	ISL        random.Dist // input length of each text; required
	OSL        random.Dist // output cap of each turn; not given = none is sent
	Turns      random.Dist // turns of a conversation; not given = 1
	TurnDelay  random.Dist // think time before each turn but the first, milliseconds; not given = none
	DelayRatio float64     // factor on think times, ≥ 0; 0 = no think time
	BatchSize  int         // texts of one turn, ≥ 1
	Corpus     string      // name of the corpus, see [Corpora]

	SharedSystem int // length of one system message for all conversations; 0 = none
	UserContext  int // length of the context message of each conversation, all different; 0 = none
	PrefixPool   int // number of prefixes, of which each conversation draws one; 0 = none
	PrefixLength int // length of each prefix; 0 = none

	Images   Images
	Audio    Audio
	Rankings Rankings // given = a query and passages in place of texts
}

// syntheticFields documents the options under the names of the document.
func syntheticFields() []Field {
	return []Field{
		{"entries", "integer", "Distinct conversations."},
		{"prompts.isl", "distribution", "Tokens of each generated text. The tokens that the server adds to every sequence (with `applyChatTemplate`, those of the chat template) are subtracted, to no less than 1."},
		{"prompts.osl", "distribution", "Maximum output tokens of each turn; not sent if absent."},
		{"prompts.batchSize", "integer", "Texts per turn."},
		{"prompts.corpus", "string", "Source of the texts, see below."},
		{"turns", "distribution", "Turns per conversation."},
		{"turnDelay", "distribution", "Think time before each turn except the first, in milliseconds."},
		{"turnDelayRatio", "number", "Factor applied to think times."},
		{"interTurnDelayCapSeconds", "number", "Maximum think time, in seconds."},
		{"systemPrompt", "string", "Literal system message, placed before a generated one."},
		{"prefixPrompts.sharedSystemLength", "integer", "Tokens of a generated system message that all conversations share."},
		{"prefixPrompts.userContextLength", "integer", "Tokens of a generated message before the first turn, different for each conversation."},
		{"prefixPrompts.poolSize", "integer", "Number of generated prefixes; the first text of each conversation starts with one of them."},
		{"prefixPrompts.length", "integer", "Tokens of each prefix."},
		{"images.batchSize", "integer", "Images per turn; 0 = none. Default 1 if any other image option is set."},
		{"images.width, images.height", "distribution", "Pixels; default 512."},
		{"images.format", "string", "jpeg (quality 85, 4:2:0), png, or random: one of the two for each image. AIPerf writes JPEG with 4:4:4: noise of 512 × 512 has 415 KB there and 199 KB here; use png for images of the same size in bytes."},
		{"images.source", "string", "noise: independent pixels, which do not compress (a PNG of 1024 × 1024 is 3 MiB); noise-smooth or assets: " +
			"noise of low frequency, with about the size of a photograph; otherwise a directory of PNG, JPEG, GIF or WebP files, which are scaled to the drawn width and height."},
		{"images.sourceSampling", "string", "Order in which the files of a directory are used: random-with-replacement, shuffle-cycle or sequential-cycle."},
		{"audio.batchSize", "integer", "Audio clips per turn; 0 = none. Default 1 if any other audio option is set."},
		{"audio.length", "distribution", "Seconds per clip of noise, at least 0.01; default 10."},
		{"audio.format", "string", "wav."},
		{"audio.depths", "list of integers", "Bits per sample (8, 16, 24 or 32); one is drawn for each clip."},
		{"audio.sampleRates", "list of numbers", "Sample rates in kHz, or in Hz if above 96; one is drawn for each clip."},
		{"audio.channels", "integer", "1 or 2."},
		{"rankings.passages", "distribution", "Passages per request. Endpoint types that rank receive a query and passages instead of prompts."},
		{"rankings.passageTokens", "distribution", "Tokens of each passage."},
		{"rankings.queryTokens", "distribution", "Tokens of each query."},
	}
}

// Check returns all problems of the options.
func (o Options) checkSynthetic() error {
	var errs []error
	s := o.Synthetic
	whole := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s %d: must be from %d to %d", name, v, low, high))
		}
	}
	whole("entries", o.Entries, 1, maxEntries)
	whole("batch size", s.BatchSize, 1, maxBatch)
	whole("shared system length", s.SharedSystem, 0, maxPromptTokens)
	whole("user context length", s.UserContext, 0, maxPromptTokens)
	whole("prefix pool size", s.PrefixPool, 0, maxPool)
	whole("prefix length", s.PrefixLength, 0, maxPromptTokens)
	if (s.PrefixPool > 0) != (s.PrefixLength > 0) {
		errs = append(errs, fmt.Errorf("prefix pool size %d and prefix length %d: both or neither must be above 0",
			s.PrefixPool, s.PrefixLength))
	}
	if !s.ISL.Given() {
		errs = append(errs, errors.New("input length is missing"))
	}
	if !(s.DelayRatio >= 0 && s.DelayRatio <= random.MaxValue) {
		errs = append(errs, fmt.Errorf("turn delay ratio %v: must be a number from 0 to %g", s.DelayRatio, random.MaxValue))
	}
	if o.Tokenizer == nil {
		errs = append(errs, errors.New("a tokenizer is needed to make prompts of a given length"))
	}
	if o.DelayCap != nil && *o.DelayCap < 0 {
		errs = append(errs, fmt.Errorf("delay cap %v: must not be negative", *o.DelayCap))
	}
	if _, err := text.FindCorpus(s.Corpus); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.Images.check(), s.Audio.check(), s.Rankings.check())...)
}

// openSynthetic builds the conversations of kind synthetic.
func openSynthetic(ctx context.Context, o Options) (Source, error) {
	if err := o.checkSynthetic(); err != nil {
		return nil, fmt.Errorf("open synthetic dataset: %w", err)
	}
	b, err := newBuilder(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open synthetic dataset: %w", err)
	}
	entries := make([]*bench.Conversation, o.Entries)
	err = parallel(ctx, o.Entries, func(i int) error {
		c, err := b.conversation(i)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		entries[i] = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open synthetic dataset: %w", err)
	}
	about := Description{Kind: "synthetic", Inexact: int(b.prompts.Inexact.Load())}
	if about.Inexact > 0 {
		about.Warnings = append(about.Warnings, fmt.Sprintf(
			"%d generated texts missed their length, because this tokenizer does not reproduce its own tokens; "+
				"their real lengths are used", about.Inexact))
	}
	about.Warnings = append(about.Warnings, b.warnings...)
	return newMemory(entries, about)
}

// builder holds the state that the entries of one dataset share.
type builder struct {
	Options
	prompts  *text.Prompter
	system   string
	prefixes []text.Prompt
	special  int          // Tokens the server adds to a text
	total    atomic.Int64 // Tokens requested so far

	images, audios *mediaPool // nil = none
	warnings       []string
}

func newBuilder(ctx context.Context, o Options) (*builder, error) {
	corpus, err := text.FindCorpus(o.Synthetic.Corpus)
	if err != nil {
		return nil, err
	}
	ring, err := corpus.Open(o.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("open corpus %s: %w", corpus.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := &builder{Options: o, special: o.Tokenizer.SpecialTokensToAdd()}
	b.prompts = text.NewPrompter(ring, o.Tokenizer, o.Seed.Rand(bench.StreamPromptCorpus))
	b.system = o.System
	if n := o.Synthetic.SharedSystem; n > 0 {
		shared, err := b.prompts.Text(o.Seed.Rand(bench.StreamSystemPrompt), n)
		if err != nil {
			return nil, fmt.Errorf("shared system prompt: %w", err)
		}
		b.system = strings.TrimPrefix(b.system+"\n\n"+shared.Text, "\n\n")
	}
	b.prefixes = make([]text.Prompt, o.Synthetic.PrefixPool)
	seed := o.Seed.Child(bench.StreamPromptPrefix)
	err = parallel(ctx, len(b.prefixes), func(k int) error {
		err := b.spend(o.Synthetic.PrefixLength)
		if err == nil {
			b.prefixes[k], err = b.prompts.Text(seed.Index("pool", k), o.Synthetic.PrefixLength)
		}
		if err != nil {
			return fmt.Errorf("prefix %d: %w", k, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, b.fillMedia(ctx)
}

// spend counts tokens against the bound of the whole dataset.
func (b *builder) spend(n int) error {
	if n > maxPromptTokens {
		return fmt.Errorf("a text of %d tokens: at most %d are accepted", n, maxPromptTokens)
	}
	if b.total.Add(int64(n)) > maxTotalTokens {
		return fmt.Errorf("the dataset has more than %d tokens; use fewer entries or shorter prompts", maxTotalTokens)
	}
	return nil
}

// turns returns the number of turns of entry i.
func (b *builder) turns(i int) int {
	if !b.Synthetic.Turns.Given() {
		return 1
	}
	return b.Synthetic.Turns.DrawInt(b.Seed.Index(bench.StreamTurnCount, i))
}

// conversation builds entry i. Its draws come from streams that no other entry uses.
func (b *builder) conversation(i int) (*bench.Conversation, error) {
	s := &b.Synthetic
	turns := b.turns(i)
	if turns > maxTurns {
		return nil, fmt.Errorf("%d turns: at most %d are accepted", turns, maxTurns)
	}
	if err := b.spend(turns * turnCost); err != nil {
		return nil, err
	}
	c := &bench.Conversation{
		ID:     fmt.Sprintf("session_%06d", i),
		System: b.system,
		Turns:  make([]bench.Turn, turns),
	}
	if s.UserContext > 0 {
		if err := b.spend(s.UserContext); err != nil {
			return nil, err
		}
		own, err := b.prompts.Text(b.Seed.Index(bench.StreamUserContext, i), s.UserContext)
		if err != nil {
			return nil, fmt.Errorf("user context: %w", err)
		}
		c.Context = own.Text
	}
	d := draws{
		length: b.Seed.Index(bench.StreamPromptLength, i),
		start:  b.Seed.Index(bench.StreamPromptCorpus, i),
		output: b.Seed.Index(bench.StreamMaxTokens, i),
		delay:  b.Seed.Index(bench.StreamTurnDelay, i),
		ranks:  b.Seed.Index(bench.StreamRankings, i),
	}
	for k := range c.Turns {
		if err := b.turn(&c.Turns[k], i, k, d); err != nil {
			return nil, fmt.Errorf("turn %d: %w", k, err)
		}
	}
	return c, nil
}

// draws are the random streams of one entry.
type draws struct{ length, start, output, delay, ranks *rand.Rand }

// turn fills turn k of entry i.
func (b *builder) turn(t *bench.Turn, i, k int, d draws) error {
	s := &b.Synthetic
	err := error(nil)
	if s.Rankings.Given() {
		err = b.ranking(t, i, k, d)
	} else {
		err = b.texts(t, i, k, d)
	}
	if err != nil {
		return err
	}
	if err := b.spend((s.Images.BatchSize + s.Audio.BatchSize) * turnCost); err != nil {
		return err
	}
	t.Images, t.Audios = b.images.take(i, k), b.audios.take(i, k)
	if s.OSL.Given() {
		t.MaxTokens = bench.Tokens(s.OSL.DrawInt(d.output))
	}
	if k > 0 && s.TurnDelay.Given() {
		t.Delay = milliseconds(s.TurnDelay.Draw(d.delay)*s.DelayRatio, b.DelayCap)
	}
	return nil
}

// texts generates the prompts of turn k of entry i.
func (b *builder) texts(t *bench.Turn, i, k int, d draws) error {
	t.Texts = make([]string, b.Synthetic.BatchSize)
	for j := range t.Texts {
		n := max(1, b.Synthetic.ISL.DrawInt(d.length)-b.special)
		if err := b.spend(n); err != nil {
			return err
		}
		made, err := b.prompt(i, k, j, n, d.start)
		if err != nil {
			return err
		}
		t.Texts[j] = made.Text
		t.InputTokens += bench.Tokens(made.Tokens)
	}
	return nil
}

// Prompt generates text j of turn k of entry i. Only first turns are spread over the
// ring: the others follow a history that is already different.
func (b *builder) prompt(i, k, j, n int, r *rand.Rand) (text.Prompt, error) {
	if k > 0 {
		return b.prompts.Text(r, n)
	}
	start := b.prompts.Spread(i*b.Synthetic.BatchSize + j)
	if j > 0 || len(b.prefixes) == 0 {
		return b.prompts.At(r, n, start)
	}
	seed := b.Seed.Child(bench.StreamPromptPrefix)
	prefix := b.prefixes[bench.Below(seed.Index("choice", i), len(b.prefixes))]
	return b.prompts.After(r, prefix, n, start)
}
