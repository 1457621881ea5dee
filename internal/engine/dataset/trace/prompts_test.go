package trace

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// tokenizers are one of each family.
func tokenizers(t testing.TB) map[string]tokenizer.Tokenizer {
	t.Helper()
	out := map[string]tokenizer.Tokenizer{"builtin": tokenizer.Builtin()}
	for _, name := range []string{"cl100k_base"} {
		out[name], _ = tokenizer.Encoding(name)
	}
	for _, name := range []string{"byte_level_llama3", "byte_level_gpt2", "bpe_llama2", "unigram_t5", "wordpiece_bert"} {
		tok, err := tokenizer.ReadFile(name, filepath.Join("../../tokenizer/testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = tok
	}
	return out
}

// TestPromptsOfBlocks: a prompt has the tokens of its blocks, one after the other, and as
// many as the trace says. Only the lengths of a tokenizer whose tokens may begin in one
// word and end in the next are not exact; then they are counted.
func TestPromptsOfBlocks(t *testing.T) {
	for name, tok := range tokenizers(t) {
		exact := name != "bpe_llama2"
		for _, size := range []int{1, 2, 16, 512} {
			t.Run(fmt.Sprintf("%s %d", name, size), func(t *testing.T) {
				p, err := newPrompts(&source.Options{Tokenizer: tok, Seed: 7}, size, new(atomic.Int64))
				if err != nil {
					t.Fatal(err)
				}
				if p.additive != exact {
					t.Fatalf("exact = %v, want %v", p.additive, exact)
				}
				for _, tt := range []struct {
					ids    []int64
					length int
				}{{[]int64{1, 2, 3}, 3 * size}, {[]int64{1, 2, 4}, 3*size - size/3}, {[]int64{1, 9}, 2*size + 37}, {[]int64{1}, size}, {nil, 3*size + 1}} {
					prompt, n, err := p.prompt(1, tt.length, tt.ids)
					if err != nil {
						t.Fatalf("%v: %v", tt.ids, err)
					}
					if exact && n != tt.length || tok.Count(prompt) != n || n*10 < tt.length*9 {
						t.Errorf("%v: %d tokens, counted %d; want %d: %.60q", tt.ids, n, tok.Count(prompt), tt.length, prompt)
					}
				}
				checkShared(t, p, size, exact)
			})
		}
	}
}

// checkShared checks that prompts share the tokens of their common blocks, and no more.
func checkShared(t *testing.T, p *prompts, size int, exact bool) {
	t.Helper()
	a, _, _ := p.prompt(1, 3*size, []int64{1, 2, 3})
	b, _, _ := p.prompt(2, 3*size+5, []int64{1, 2, 5})
	if !exact {
		return
	}
	first, second := p.tok.Encode(a), p.tok.Encode(b)
	if !slices.Equal(first[:2*size], second[:2*size]) {
		t.Error("two prompts with the same two blocks have different tokens")
	}
	if size >= 16 && slices.Equal(first[2*size:2*size+16], second[2*size:2*size+16]) {
		t.Error("two different blocks begin with the same 16 tokens")
	}
}

func BenchmarkPrompt(b *testing.B) {
	p, err := newPrompts(&source.Options{Tokenizer: tokenizer.Builtin(), Seed: 7}, 512, new(atomic.Int64))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		ids := []int64{1, 2, 3, 4, int64(100 + i)}
		if _, _, err := p.prompt(i, 5*512, ids); err != nil {
			b.Fatal(err)
		}
	}
}
