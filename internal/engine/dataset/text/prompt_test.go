package text

import (
	"math/rand/v2"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

// TestPromptsAreExact: a thousand prompts of the prose with each kind of tokenizer (o200k,
// byte-level BPE like that of Llama 3, SentencePiece), alone, after a prefix and after a
// line, have their lengths when they are counted by encoding them.
func TestPromptsAreExact(t *testing.T) {
	for _, name := range []string{"o200k_base", "byte_level_llama3", "unigram_t5", "bpe_llama2"} {
		t.Run(name, func(t *testing.T) {
			tok := loadTokenizer(t, name)
			ring, err := Corpora()[0].Open(tok)
			if err != nil {
				t.Fatal(err)
			}
			_, words := ring.(*tokenizer.WordRing)
			if words == (name == "bpe_llama2") { // some of its tokens reach over two words
				t.Errorf("a ring of words: %v", words)
			}
			p := NewPrompter(ring, tok, bench.Seed(7).Rand("place"))
			prefix, err := p.Text(bench.Seed(7).Rand("prefix"), 40)
			if err != nil {
				t.Fatal(err)
			}
			for k := range 1000 {
				r := func() *rand.Rand { return bench.Stream(7).At(k) }
				n := 60 + k/2
				made, err := p.At(r, n, p.Spread(k))
				if words && k%10 == 1 {
					made, err = p.After(r, prefix, n-40, p.Spread(k))
				} else if words && k%10 == 2 {
					made, err = p.Unique(r, 7, k, n)
				}
				if got := tok.Count(made.Text); err != nil || got != n || made.Tokens != n {
					t.Fatalf("prompt %d has %d tokens, says %d, want %d, %v", k, got, made.Tokens, n, err)
				}
			}
			if n := p.Inexact.Load(); n != 0 {
				t.Errorf("%d inexact", n)
			}
		})
	}
}
