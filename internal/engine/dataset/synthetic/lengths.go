package synthetic

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/text"
)

// Ratio is the width of the ranges of lengths, relative to their means. The zero value
// means "not given".
type Ratio struct {
	Given         bool
	Input, Output float64 // see [random.Ranges]
}

// lengths are those of one turn that are drawn together; 0 = drawn on its own.
type lengths struct{ input, output int }

// drawLengths draws the lengths of turn k of an entry. All texts of the turn have the
// same input length.
func drawLengths(b *builder, k int, d *draws) lengths {
	switch {
	case b.Pairs.Given():
		input, output := b.Pairs.Draw(d.rand(forPair))
		return lengths{max(1, input-b.special), output}
	case !b.Ratio.Given:
		return lengths{}
	case k == 0:
		return lengths{b.tool.draws.Input(d.entry), b.tool.draws.Output(d.entry)}
	}
	input, output := b.tool.draws.More(d.rand(forRatio))
	return lengths{max(1, input), output}
}

// tool reproduces the lengths and the prompts of `vllm bench serve --dataset-name
// random` or `sglang.bench_serving --dataset-name random-ids`. It is safe for
// concurrent use once it is open.
type tool struct {
	draws *random.Draws
	runs  *text.Runs // nil = the prompts are of another corpus

	prefixes     [][]int
	prefixLength int
	rest         *random.Rest // behind the prefixes; it is only cloned
}

// openTool opens the tool whose draws a dataset reproduces; nil = there is none.
func openTool(b *builder) (*tool, error) {
	if !b.Ratio.Given && !b.corpus.Runs {
		return nil, nil
	}
	t := &tool{}
	ranges := random.Ranges{
		Style: cmp.Or(b.Style, random.VLLM), Special: b.special, Vocab: 1, Prefix: b.PrefixLength, N: b.Entries, Seed: uint64(b.Seed),
		Input: 1 + b.special, // A range without width: no length is drawn.
	}
	if ranges.Style == random.SGLang {
		ranges.InputRatio, ranges.OutputRatio = 1, 1
	}
	if b.Ratio.Given {
		ranges.Input, ranges.Output = b.ISL.Constant(), b.OSL.Constant()
		ranges.InputRatio, ranges.OutputRatio = b.Ratio.Input, b.Ratio.Output
	}
	if b.corpus.Runs {
		t.runs = text.NewRuns(b.Tokenizer, ranges.Style == random.SGLang)
		ranges.Vocab = t.runs.Vocab()
	}
	var err error
	t.draws, err = ranges.Draws()
	return t, err
}

// fillPrefixes generates the pool of prefixes, one after the other.
func (t *tool) fillPrefixes(count, n int) {
	t.rest, t.prefixLength = t.draws.After(), n
	for range count {
		t.prefixes = append(t.prefixes, t.runs.Prefix(n, t.rest))
	}
}

// prompt generates the prompt of entry i: its prefix and n tokens. rest draws missing
// tokens.
func (t *tool) prompt(b *builder, i, n int, rest *random.Rest) text.Prompt {
	var ids []int
	if len(t.prefixes) > 0 {
		ids = slices.Clone(t.prefixes[b.prefixOf(i, len(t.prefixes))])
	}
	ids = t.runs.Run(ids, t.draws.Offset(i)+i, n)
	n += t.prefixLength
	made, ids := t.runs.Fit(ids, n, func(count int) []int { return rest.Below(t.runs.Vocab(), count) })
	if len(ids) != n {
		b.prompts.Inexact.Add(1)
	}
	return text.Prompt{Text: made, Tokens: len(ids)}
}

// toolRest returns the generator of missing tokens of an entry that is used in another
// order than that of the dataset, and whose predecessors are therefore not known.
func toolRest(b *builder, i int) *random.Rest {
	return random.NewRest(uint64(b.Seed.Child(bench.StreamPromptCorpus).Child(strconv.Itoa(i))))
}

// toolSource generates the first texts in the order of the dataset, because the tokens
// that correct them are drawn from one generator.
type toolSource struct {
	source.Indexed
	b    *builder
	rest *random.Rest // before the next entry
}

// Next generates the first text of the next entry; Make generates everything else.
func (s *toolSource) Next(ctx context.Context) (source.Entry, error) {
	e, err := s.Indexed.Next(ctx)
	if err != nil || s.b.Rankings.Given() {
		return e, err
	}
	d := s.b.draws(e.Number)
	n := s.b.inputLength(place{i: e.Number}, drawLengths(s.b, 0, d).input, d)
	if n > maxPromptTokens {
		return e, nil // Make reports it
	}
	made := s.b.tool.prompt(s.b, e.Number, n, s.rest)
	return s.b.entry(e.Number, func(int) text.Prompt { return made }), nil
}

// Rewind begins again at the first entry.
func (s *toolSource) Rewind(ctx context.Context) error {
	s.rest = s.b.tool.rest.Clone()
	return s.Indexed.Rewind(ctx)
}
