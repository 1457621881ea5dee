package text

import (
	"slices"

	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/tokenizer"
)

// runCorrections is how often a run of tokens is corrected until its text encodes to
// its length, as in vLLM.
const runCorrections = 10

// Runs makes the prompts of the random datasets of vLLM and SGLang: tokens whose ids
// follow one another. It is immutable and safe for concurrent use.
type Runs struct {
	tok     tokenizer.Tokenizer
	vocab   int   // offsets and additional tokens are below it
	skipped []int // ids below vocab that are not used, ascending
	exact   bool  // correct texts until they have their length
}

// NewRuns returns the runs of vLLM (special tokens are left out, texts are corrected to
// their length) or, if full, of SGLang (every token is used, texts are as they are).
func NewRuns(t tokenizer.Tokenizer, full bool) *Runs {
	vocab, special := t.Base()
	if full {
		special = nil
	}
	return &Runs{tok: t, vocab: vocab, skipped: special, exact: !full}
}

// Vocab returns the number of ids below which offsets are drawn.
func (r *Runs) Vocab() int { return r.vocab }

// Allowed returns the number of ids that runs consist of.
func (r *Runs) Allowed() int { return r.vocab - len(r.skipped) }

// Run appends n ids that follow one another from place start on: the place is reduced
// modulo the number of allowed ids, and the ids after the last one are the first ones.
func (r *Runs) Run(dst []int, start, n int) []int {
	at := start % r.Allowed()
	for range n {
		dst = append(dst, r.id(at))
		if at++; at == r.Allowed() {
			at = 0
		}
	}
	return dst
}

// id returns the allowed id at a place.
func (r *Runs) id(place int) int {
	for _, skipped := range r.skipped {
		if skipped > place {
			break
		}
		place++
	}
	return place
}

var _ Ring = (*Runs)(nil)

// Len implements [Ring].
func (r *Runs) Len() int { return r.Allowed() }

// Prompt implements [Ring] for texts that the tools do not have, such as later turns:
// missing tokens are those that follow the run.
func (r *Runs) Prompt(start, n int) (string, bool) {
	next := start + n
	text, ids := r.correct(r.Run(nil, start, n), n, func(count int) []int {
		added := r.Run(nil, next, count)
		next += count
		return added
	})
	return text, len(ids) == n
}

// Fit returns the text of ids, corrected until it encodes to n tokens, and these
// tokens. more draws additional ids (count of them, each below [Runs.Vocab]) where
// tokens are missing. After ten corrections, the text is returned as it is.
func (r *Runs) Fit(ids []int, n int, more func(count int) []int) (string, []int) {
	if !r.exact {
		text := r.tok.Decode(ids)
		return text, r.tok.Encode(text)
	}
	return r.correct(ids, n, more)
}

func (r *Runs) correct(ids []int, n int, more func(count int) []int) (string, []int) {
	for left := runCorrections; ; left-- {
		text := r.tok.Decode(ids)
		ids = r.tok.Encode(text)
		switch {
		case left == 0 || len(ids) == n:
			return text, ids
		case len(ids) < n:
			ids = slices.Concat(ids, more(n-len(ids)))
		default:
			ids = ids[:n]
		}
	}
}

// Prefix returns n ids for the beginning of every prompt, drawn and corrected as by
// vLLM.
func (r *Runs) Prefix(n int, rest *random.Rest) []int {
	if n == 0 {
		return nil
	}
	ids := rest.Below(r.Allowed(), n)
	for i, place := range ids {
		ids[i] = r.id(place)
	}
	_, ids = r.Fit(ids, n, func(count int) []int { return rest.Below(r.vocab, count) })
	return ids
}
