package dataset

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"aiperfd/internal/engine/tokenizer"
)

// The limits of the search for a text of the right length. If it fails, a text of
// another length is used.
const (
	promptTries = 4 // each tries its neighbours, too
	promptSlack = 8 // tokens more or less
	prefixTries = 16
)

// ring is an encoded corpus whose end is joined to its beginning. It is safe for
// concurrent use.
type ring interface {
	// Len returns the number of tokens.
	Len() int
	// Prompt returns the text of n tokens from token start on (0 ≤ start < Len,
	// n ≥ 1), corrected until it encodes to n tokens; false = it does not.
	Prompt(start, n int) (string, bool)
}

var _ ring = (*tokenizer.Ring)(nil)

// prompter cuts texts of exact lengths out of a ring. It is safe for concurrent
// use; the generators it is given are not.
type prompter struct {
	ring    ring
	tok     tokenizer.Tokenizer
	step    int // coprime to the ring's length
	shift   int
	inexact atomic.Int64 // texts that missed their length
}

// prompt is a text with its length in tokens.
type prompt struct {
	text   string
	tokens int
}

// newPrompter draws from r how the starts of prompts are spread over the ring.
func newPrompter(ring ring, tok tokenizer.Tokenizer, r *rand.Rand) *prompter {
	n := ring.Len()
	p := &prompter{ring: ring, tok: tok, step: 1, shift: below(r, n)}
	// A step of about a quarter to three quarters of the ring separates neighbouring
	// entries. Almost two of three numbers are coprime to n.
	for try := n/4 + below(r, n/2+1); try > 1; try-- {
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

// spread returns the start of prompt k. It visits every place of the ring once before
// it repeats one. So while there are fewer prompts than places, no two prompts have
// the same beginning, and the prefix cache of a server has no accidental hits.
func (p *prompter) spread(k int) int {
	n := uint64(p.ring.Len())
	return int((uint64(p.shift) + uint64(k)%n*uint64(p.step)) % n)
}

// text returns n tokens from a random place.
func (p *prompter) text(r *rand.Rand, n int) (prompt, error) {
	return p.at(r, n, below(r, p.ring.Len()))
}

// at returns n tokens from the given place, or from a random one if that place does
// not yield exactly n. If no place does, it returns the nearest possible length and
// counts the text as inexact; without a near one, it returns an error.
func (p *prompter) at(r *rand.Rand, n, start int) (prompt, error) {
	for range promptTries {
		if text, ok := p.ring.Prompt(start, n); ok {
			return prompt{text, n}, nil
		}
		start = below(r, p.ring.Len())
	}
	for off := 1; off <= promptSlack; off++ {
		for _, size := range []int{n - off, n + off} {
			if text, ok := p.ring.Prompt(start, size); ok {
				p.inexact.Add(1)
				return prompt{text, size}, nil
			}
		}
	}
	return prompt{}, fmt.Errorf("no text of %d tokens (± %d) could be generated with this tokenizer", n, promptSlack)
}

// after returns n tokens that follow a prefix. Joining may add or remove a token;
// after tries several places until it does not, and returns the last text otherwise.
func (p *prompter) after(r *rand.Rand, prefix prompt, n, start int) (prompt, error) {
	var joined prompt
	for range prefixTries {
		made, err := p.at(r, n, start)
		if err != nil {
			return prompt{}, err
		}
		joined.text = prefix.text + made.text
		joined.tokens = p.tok.Count(joined.text)
		if joined.tokens == prefix.tokens+made.tokens {
			return joined, nil
		}
		start = below(r, p.ring.Len())
	}
	p.inexact.Add(1)
	return joined, nil
}
