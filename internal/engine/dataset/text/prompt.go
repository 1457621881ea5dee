package text

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

// The limits of the search for a text of the right length. If it fails, a text of
// another length is used.
const (
	promptTries = 4 // each tries its neighbours, too
	promptSlack = 8 // tokens more or less
	prefixTries = 16
)

// Prompter cuts texts of exact lengths out of a ring. It is safe for concurrent
// use; the generators it is given are not.
type Prompter struct {
	ring    Ring
	words   *tokenizer.WordRing // the ring, if it is one of words; nil = texts have to be counted
	tok     tokenizer.Tokenizer
	step    int // coprime to the ring's length
	shift   int
	Inexact atomic.Int64 // texts that missed their length
}

// Prompt is a text with its length in tokens.
type Prompt struct {
	Text   string
	Tokens int
}

// NewPrompter draws from r how the starts of prompts are spread over the ring.
func NewPrompter(ring Ring, tok tokenizer.Tokenizer, r *rand.Rand) *Prompter {
	n := ring.Len()
	words, _ := ring.(*tokenizer.WordRing)
	p := &Prompter{ring: ring, words: words, tok: tok, step: 1, shift: bench.Below(r, n)}
	// A step of about a quarter to three quarters of the ring separates neighbouring
	// entries. Almost two of three numbers are coprime to n.
	for try := n/4 + bench.Below(r, n/2+1); try > 1; try-- {
		if gcd(try, n) == 1 {
			p.step = try
			break
		}
	}
	return p
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Places returns the number of places of the ring.
func (p *Prompter) Places() int { return p.ring.Len() }

// Spread returns the start of prompt k. It visits every place of the ring once before
// it repeats one. So while there are fewer prompts than places, no two prompts have
// the same beginning, and the prefix cache of a server has no accidental hits.
func (p *Prompter) Spread(k int) int {
	n := uint64(p.ring.Len())
	return int((uint64(p.shift) + uint64(k)%n*uint64(p.step)) % n)
}

// Text returns n tokens from a random place.
func (p *Prompter) Text(r *rand.Rand, n int) (Prompt, error) {
	return p.At(func() *rand.Rand { return r }, n, bench.Below(r, p.ring.Len()))
}

// At returns n tokens from the given place, or from a random one, which the generator that r
// returns draws, if that place does not yield exactly n. If no place does, it returns the nearest possible length and
// counts the text as inexact; without a near one, it returns an error.
func (p *Prompter) At(r func() *rand.Rand, n, start int) (Prompt, error) {
	for range promptTries {
		if text, ok := p.ring.Prompt(start, n); ok {
			return Prompt{text, n}, nil
		}
		start = bench.Below(r(), p.ring.Len())
	}
	for off := 1; off <= promptSlack; off++ {
		for _, size := range []int{n - off, n + off} {
			if text, ok := p.ring.Prompt(start, size); ok {
				p.Inexact.Add(1)
				return Prompt{text, size}, nil
			}
		}
	}
	return Prompt{}, fmt.Errorf("no text of %d tokens (± %d) could be generated with this tokenizer", n, promptSlack)
}

// following returns n tokens from the given place that keep their number after a text;
// false = that is not known.
func (p *Prompter) following(text string, n, start int) (string, bool) {
	if p.words == nil || text == "" || text[len(text)-1] <= ' ' {
		return "", false
	}
	return p.words.Following(start, n)
}

// After returns n tokens that follow a prefix. If joining may add or remove a token, it
// tries several places until it does not, and returns the last text otherwise.
func (p *Prompter) After(r func() *rand.Rand, prefix Prompt, n, start int) (Prompt, error) {
	if text, ok := p.following(prefix.Text, n, start); ok {
		return Prompt{prefix.Text + text, prefix.Tokens + n}, nil
	}
	var joined Prompt
	for range prefixTries {
		made, err := p.At(r, n, start)
		if err != nil {
			return Prompt{}, err
		}
		joined.Text = prefix.Text + made.Text
		joined.Tokens = p.tok.Count(joined.Text)
		if joined.Tokens == prefix.Tokens+made.Tokens {
			return joined, nil
		}
		start = bench.Below(r(), p.ring.Len())
	}
	p.Inexact.Add(1)
	return joined, nil
}
