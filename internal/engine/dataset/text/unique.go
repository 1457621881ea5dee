package text

import (
	"fmt"
	"math/rand/v2"

	"aiperfd/internal/engine/bench"
)

// uniqueBits is the number of bits of a unique line: there are more lines than a
// dataset can have texts.
const uniqueBits = 48

// UniqueLine returns line k of a seed, 0 ≤ k < 2⁴⁸. No two lines of a seed are equal,
// and neighbours differ from their first digits on.
func UniqueLine(seed bench.Seed, k int) string {
	const odd = 0x9e3779b97f4b // 2⁴⁸ divided by the golden ratio
	return fmt.Sprintf("%012x\n", (uint64(k)*odd+uint64(seed))&(1<<uniqueBits-1))
}

// Unique returns n tokens that begin with a line that no other text of the seed has.
// If the line alone is longer, the text is the beginning of the line.
func (p *Prompter) Unique(r func() *rand.Rand, seed bench.Seed, k, n int) (Prompt, error) {
	line := UniqueLine(seed, k)
	if made, ok := p.afterLine(line, k, n); ok {
		return made, nil
	}
	ids := p.tok.Encode(line)
	if len(ids) < n {
		return p.After(r, Prompt{line, len(ids)}, n-len(ids), p.Spread(k))
	}
	for take := len(line); take > 0; take-- {
		if p.tok.Count(line[:take]) == n {
			return Prompt{line[:take], n}, nil
		}
	}
	return p.At(r, n, p.Spread(k))
}

// afterLine returns n tokens that begin with a line, of which only the line and the word
// after it are counted. false = the ring is not one of words, or n is too small.
func (p *Prompter) afterLine(line string, k, n int) (Prompt, bool) {
	if p.words == nil {
		return Prompt{}, false
	}
	start := p.Spread(k)
	head := line + p.words.Word(start)
	switch tokens := p.tok.Count(head); {
	case tokens > n:
		return Prompt{}, false
	case tokens == n:
		return Prompt{head, n}, true
	default:
		text, ok := p.words.Following(start+1, n-tokens)
		return Prompt{head + text, n}, ok
	}
}
