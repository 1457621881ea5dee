// Package synthetic generates conversations: texts of exact lengths, images, audio and
// ranking requests.
package synthetic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/text"
)

// Bounds that prevent a typing error from exhausting the memory.
const (
	maxTurns        = 100_000 // of one conversation
	maxPromptTokens = 1 << 24 // of one text
	maxBatch        = 10_000
	maxPool         = 1_000_000
)

// Spec describes generated conversations. Lengths are in tokens of the
// run's tokenizer. ISL is the size of the generated user text of one turn:
// prefixes, system prompts, user contexts and the history of earlier turns are
// additional.
type Spec struct {
	ISL        random.Dist // input length of each text; required without Pairs
	Turns      random.Dist // turns of a conversation; not given = 1
	TurnDelay  random.Dist // think time before each turn but the first, milliseconds; not given = none
	DelayRatio float64     // factor on think times, ≥ 0; 0 = no think time
	BatchSize  int         // texts of one turn, ≥ 1
	Corpus     string      // name of the corpus, see [Corpora]
	Marker     int         // tokens of a marker that first turns get later, subtracted from their length

	Pairs random.Pairs // both lengths of each turn instead of ISL and OSL; not given = none
	Ratio Ratio        // lengths from a range around ISL and OSL
	Style random.Style // the tool whose draws Ratio and the corpus random reproduce; empty = vllm

	SharedSystem int // length of one system message for all conversations; 0 = none
	UserContext  int // length of the context message of each conversation, all different; 0 = none
	PrefixPool   int // number of prefixes, of which each conversation draws one; 0 = none
	PrefixLength int // length of each prefix; 0 = none

	Images   Images
	Audio    Audio
	Videos   Videos
	Rankings Rankings // given = a query and passages instead of texts
}

// check returns all problems of the options.
func (b *builder) check() error {
	var errs []error
	whole := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s %d: must be from %d to %d", name, v, low, high))
		}
	}
	whole("entries", b.Entries, 1, source.MaxEntries)
	whole("batch size", b.BatchSize, 1, maxBatch)
	whole("shared system length", b.SharedSystem, 0, maxPromptTokens)
	whole("user context length", b.UserContext, 0, maxPromptTokens)
	whole("prefix pool size", b.PrefixPool, 0, maxPool)
	whole("prefix length", b.PrefixLength, 0, maxPromptTokens)
	if (b.PrefixPool > 0) != (b.PrefixLength > 0) {
		errs = append(errs, fmt.Errorf("prefix pool size %d and prefix length %d: both or neither must be above 0",
			b.PrefixPool, b.PrefixLength))
	}
	if !b.ISL.Given() && !b.Pairs.Given() {
		errs = append(errs, errors.New("input length is missing"))
	}
	if !(b.DelayRatio >= 0 && b.DelayRatio <= random.MaxValue) {
		errs = append(errs, fmt.Errorf("turn delay ratio %v: must be a number from 0 to %g", b.DelayRatio, random.MaxValue))
	}
	if b.Tokenizer == nil {
		errs = append(errs, errors.New("a tokenizer is needed to make prompts of a given length"))
	}
	if b.DelayCap != nil && *b.DelayCap < 0 {
		errs = append(errs, fmt.Errorf("delay cap %v: must not be negative", *b.DelayCap))
	}
	if _, err := text.FindCorpus(b.Corpus); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, b.Images.check(), b.Audio.check(), b.Videos.check(), b.Rankings.check())...)
}

// Open returns the conversations of a specification. Each is generated when it is needed.
func Open(ctx context.Context, o source.Options, spec Spec) (source.Source, error) {
	b := &builder{Options: o, Spec: spec, streams: newStreams(o.Seed)}
	err := b.check()
	if err == nil {
		err = b.prepare(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open synthetic dataset: %w", err)
	}
	entries := source.NewIndexed(o.Entries, func(i int) source.Entry {
		return b.entry(i, func(n int) text.Prompt { return b.tool.prompt(b, i, n, toolRest(b, i)) })
	}, b.describe)
	if b.corpus.Runs {
		return &toolSource{Indexed: entries, b: b, rest: b.tool.rest.Clone()}, nil
	}
	return entries, nil
}

// entry returns entry i. first generates its first text, of n tokens, if that is one of
// a tool.
func (b *builder) entry(i int, first func(n int) text.Prompt) source.Entry {
	return source.Entry{Number: i, Make: func() (*bench.Conversation, error) {
		c, err := b.conversation(i, first)
		if err != nil {
			return nil, fmt.Errorf("synthetic dataset: entry %d: %w", i, err)
		}
		return c, nil
	}}
}

// builder generates the entries of one dataset. It is safe for concurrent use once it
// is prepared.
type builder struct {
	source.Options
	Spec
	streams  streams
	prompts  *text.Prompter
	corpus   text.Corpus
	tool     *tool // nil = lengths and prompts are not those of vLLM or SGLang
	system   string
	prefixes []text.Prompt
	special  int // tokens the server adds to a text

	images, audios, videos *mediaPool // nil = none
	warnings               []string
}

// prepare generates what the entries share.
func (b *builder) prepare(ctx context.Context) error {
	var err error
	if b.corpus, err = text.FindCorpus(b.Corpus); err != nil {
		return err
	}
	b.special = b.Tokenizer.SpecialTokensToAdd()
	if b.tool, err = openTool(b); err != nil {
		return err
	}
	if b.prompts, err = b.prompter(); err != nil {
		return fmt.Errorf("open corpus %s: %w", b.corpus.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.system = b.System
	if n := b.SharedSystem; n > 0 {
		shared, err := b.prompts.Text(b.Seed.Rand(bench.StreamSystemPrompt), n)
		if err != nil {
			return fmt.Errorf("shared system prompt: %w", err)
		}
		b.system = strings.TrimPrefix(b.system+"\n\n"+shared.Text, "\n\n")
	}
	if err := b.fillPrefixes(ctx); err != nil {
		return err
	}
	return b.openMedia(ctx)
}

// prompter returns the generator of texts.
func (b *builder) prompter() (*text.Prompter, error) {
	start := b.Seed.Rand(bench.StreamPromptCorpus)
	if b.corpus.Runs {
		return text.NewPrompter(b.tool.runs, b.Tokenizer, start), nil
	}
	ring, err := b.corpus.Open(b.Tokenizer)
	if err != nil {
		return nil, err
	}
	return text.NewPrompter(ring, b.Tokenizer, start), nil
}

// fillPrefixes generates the pool of prefixes.
func (b *builder) fillPrefixes(ctx context.Context) error {
	if b.corpus.Runs {
		b.tool.fillPrefixes(b.PrefixPool, b.PrefixLength)
		return nil
	}
	b.prefixes = make([]text.Prompt, b.PrefixPool)
	seed := b.Seed.Child(bench.StreamPromptPrefix)
	return parallel(ctx, len(b.prefixes), func(k int) (err error) {
		if b.prefixes[k], err = b.prompts.Text(seed.Index("pool", k), b.PrefixLength); err != nil {
			return fmt.Errorf("prefix %d: %w", k, err)
		}
		return nil
	})
}

// describe describes what was generated so far.
func (b *builder) describe() source.Description {
	d := source.Description{Inexact: int(b.prompts.Inexact.Load()), Warnings: slices.Clone(b.warnings)}
	if d.Inexact > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf(
			"%d generated texts missed their length, because this tokenizer does not reproduce its own tokens; "+
				"their real lengths are used", d.Inexact))
	}
	d.Warnings = append(d.Warnings, b.images.warnings("images", b.advice())...)
	d.Warnings = append(d.Warnings, b.audios.warnings("audio clips", "")...)
	d.Warnings = append(d.Warnings, b.videos.warnings("videos", "")...)
	return d
}

// turns returns the number of turns of entry i.
func (b *builder) turns(i int) int {
	if !b.Turns.Given() {
		return 1
	}
	return b.Turns.DrawInt(b.streams[forTurns].At(i))
}

// conversation builds entry i. Its draws come from streams that no other entry uses.
func (b *builder) conversation(i int, first func(n int) text.Prompt) (*bench.Conversation, error) {
	turns := b.turns(i)
	if turns > maxTurns {
		return nil, fmt.Errorf("%d turns: at most %d are accepted", turns, maxTurns)
	}
	c := &bench.Conversation{
		ID:     fmt.Sprintf("session_%06d", i),
		System: b.system,
		Turns:  make([]bench.Turn, turns),
	}
	if b.UserContext > 0 {
		own, err := b.prompts.Text(b.streams[forContext].At(i), b.UserContext)
		if err != nil {
			return nil, fmt.Errorf("user context: %w", err)
		}
		c.Context = own.Text
	}
	d := b.draws(i)
	d.first = first
	for k := range c.Turns {
		if err := b.turn(&c.Turns[k], i, k, d); err != nil {
			return nil, fmt.Errorf("turn %d: %w", k, err)
		}
	}
	return c, nil
}

// purpose is what an entry draws random numbers for. Each has a stream of its own.
type purpose int

const (
	forTurns purpose = iota
	forContext
	forPrefix
	forLength
	forStart
	forOutput
	forPair
	forRatio
	forDelay
	forRanks
	purposes
)

// streams are the random streams of the entries by purpose.
type streams [purposes]bench.Stream

func newStreams(seed bench.Seed) streams {
	return streams{
		forTurns:   seed.Stream(bench.StreamTurnCount),
		forContext: seed.Stream(bench.StreamUserContext),
		forPrefix:  seed.Child(bench.StreamPromptPrefix).Stream("choice"),
		forLength:  seed.Stream(bench.StreamPromptLength),
		forStart:   seed.Stream(bench.StreamPromptCorpus),
		forOutput:  seed.Stream(bench.StreamMaxTokens),
		forPair:    seed.Stream(bench.StreamSequence),
		forRatio:   seed.Stream(bench.StreamRangeRatio),
		forDelay:   seed.Stream(bench.StreamTurnDelay),
		forRanks:   seed.Stream(bench.StreamRankings),
	}
}

// draws are the generators of one entry. Each is made when it is used.
type draws struct {
	entry   int
	streams *streams
	made    [purposes]*rand.Rand
	first   func(n int) text.Prompt // see [builder.entry]
}

// rand returns the generator for a purpose.
func (d *draws) rand(p purpose) *rand.Rand {
	if d.made[p] == nil {
		d.made[p] = d.streams[p].At(d.entry)
	}
	return d.made[p]
}

// start returns the generator of the places of prompts.
func (d *draws) start() *rand.Rand { return d.rand(forStart) }

func (b *builder) draws(i int) *draws { return &draws{entry: i, streams: &b.streams} }

// turn fills turn k of entry i.
func (b *builder) turn(t *bench.Turn, i, k int, d *draws) error {
	err := error(nil)
	if b.Rankings.Given() {
		err = b.ranking(t, i, k, d)
	} else {
		err = b.texts(t, i, k, d)
	}
	if err != nil {
		return err
	}
	if t.Images, err = b.images.take(i, k); err != nil {
		return fmt.Errorf("make images: %w", err)
	}
	if t.Audios, err = b.audios.take(i, k); err != nil {
		return fmt.Errorf("make audio: %w", err)
	}
	if t.Videos, err = b.videos.take(i, k); err != nil {
		return fmt.Errorf("make videos: %w", err)
	}
	if t.MaxTokens == 0 && b.OSL.Given() {
		t.MaxTokens = bench.Tokens(b.OSL.DrawInt(d.rand(forOutput)))
	}
	if k > 0 && b.TurnDelay.Given() {
		t.Delay = source.Milliseconds(b.TurnDelay.Draw(d.rand(forDelay))*b.DelayRatio, b.DelayCap)
	}
	return nil
}

// texts generates the prompts of turn k of entry i.
func (b *builder) texts(t *bench.Turn, i, k int, d *draws) error {
	t.Texts = make([]string, b.BatchSize)
	together := drawLengths(b, k, d)
	t.MaxTokens = bench.Tokens(together.output)
	for j := range t.Texts {
		made, err := b.prompt(place{i, k, j}, together.input, d)
		if err != nil {
			return err
		}
		t.Texts[j] = made.Text
		t.InputTokens += bench.Tokens(made.Tokens)
	}
	return nil
}

// place is text j of turn k of entry i.
type place struct{ i, k, j int }

// prompt generates a text of n tokens; 0 = the length is drawn. Only first turns are
// spread over the ring: the others follow a history that is already different.
func (b *builder) prompt(at place, n int, d *draws) (text.Prompt, error) {
	n = b.inputLength(at, n, d)
	number := at.i*b.BatchSize + at.j
	switch {
	case n > maxPromptTokens:
		return text.Prompt{}, fmt.Errorf("a text of %d tokens: at most %d are accepted", n, maxPromptTokens)
	case b.corpus.Runs && at.k == 0 && at.j == 0:
		return d.first(n), nil
	case at.k > 0:
		return b.prompts.Text(d.start(), n)
	case b.corpus.Unique:
		return b.prompts.Unique(d.start, bench.Seed(b.streams[forStart]), number, n)
	case at.j > 0 || len(b.prefixes) == 0:
		return b.prompts.At(d.start, n, b.prompts.Spread(number))
	}
	return b.prompts.After(d.start, b.prefixes[b.prefixOf(at.i, len(b.prefixes))], n, b.prompts.Spread(number))
}

// inputLength returns the length of a text that is to have n tokens; 0 = it is drawn.
func (b *builder) inputLength(at place, n int, d *draws) int {
	if n == 0 {
		n = b.ISL.DrawInt(d.rand(forLength)) - b.special
	}
	if at.k == 0 && at.j == 0 {
		n -= b.Marker
	}
	return max(1, n)
}

// prefixOf returns which of n prefixes entry i has.
func (b *builder) prefixOf(i, n int) int {
	return bench.Below(b.streams[forPrefix].At(i), n)
}
