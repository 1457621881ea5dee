package synthetic

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
)

// Rankings describes generated ranking requests: one query and passages that a
// server puts into an order. Lengths are in tokens of the run's tokenizer. The
// zero value means none.
type Rankings struct {
	Passages      random.Dist // passages of a request
	PassageTokens random.Dist // length of each passage
	QueryTokens   random.Dist // length of the query
}

// Given reports whether ranking requests are configured.
func (o *Rankings) Given() bool {
	return o.Passages.Given() || o.PassageTokens.Given() || o.QueryTokens.Given()
}

// check returns all problems of the options.
func (o *Rankings) check() error {
	if !o.Given() {
		return nil
	}
	var errs []error
	for name, d := range map[string]random.Dist{"passages": o.Passages, "passage tokens": o.PassageTokens, "query tokens": o.QueryTokens} {
		if !d.Given() {
			errs = append(errs, fmt.Errorf("rankings: %s are missing", name))
		}
	}
	return errors.Join(errs...)
}

// The names of the texts of a ranking request.
const (
	nameQuery    = "query"
	namePassages = "passages"
)

// ranking generates the query and the passages of turn k of entry i.
func (b *builder) ranking(t *bench.Turn, i, k int, d *draws) error {
	o := &b.Rankings
	n := o.Passages.DrawInt(d.rand(forRanks))
	if n > maxBatch {
		return fmt.Errorf("%d passages: at most %d are accepted", n, maxBatch)
	}
	query, err := b.ranked(t, o.QueryTokens.DrawInt(d.rand(forRanks)), b.queryStart(i, k, d), d)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	passages := make([]string, n)
	for j := range passages {
		start := bench.Below(d.start(), b.prompts.Places())
		if passages[j], err = b.ranked(t, o.PassageTokens.DrawInt(d.rand(forRanks)), start, d); err != nil {
			return fmt.Errorf("passage %d: %w", j, err)
		}
	}
	t.Named = []bench.NamedTexts{{Name: nameQuery, Texts: []string{query}}, {Name: namePassages, Texts: passages}}
	return nil
}

// queryStart spreads the queries of first turns over the ring, like prompts.
func (b *builder) queryStart(i, k int, d *draws) int {
	if k > 0 {
		return bench.Below(d.start(), b.prompts.Places())
	}
	return b.prompts.Spread(i)
}

// ranked generates one text of n tokens and counts it.
func (b *builder) ranked(t *bench.Turn, n, start int, d *draws) (string, error) {
	if n > maxPromptTokens {
		return "", fmt.Errorf("a text of %d tokens: at most %d are accepted", n, maxPromptTokens)
	}
	made, err := b.prompts.At(d.start, n, start)
	t.InputTokens += bench.Tokens(made.Tokens)
	return made.Text, err
}
