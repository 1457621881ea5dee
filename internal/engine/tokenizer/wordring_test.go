package tokenizer

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sentencePiece returns a tokenizer like that of Llama 2: without a pre-tokenizer, and
// without tokens that reach over the end of a word.
func sentencePiece(t testing.TB) Tokenizer {
	t.Helper()
	var file map[string]any
	readJSON(t, "bpe_llama2.json", &file)
	model := file["model"].(map[string]any)
	vocab := model["vocab"].(map[string]any)
	for token := range vocab {
		if spansWords(token) {
			delete(vocab, token)
		}
	}
	model["merges"] = slices.DeleteFunc(model["merges"].([]any), func(merge any) bool {
		pair, ok := merge.([]any)
		if !ok {
			left, right, _ := strings.Cut(merge.(string), " ")
			pair = []any{left, right}
		}
		return spansWords(pair[0].(string) + pair[1].(string))
	})
	content, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Read("sentencepiece", content)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestWordRing: prompts and texts that follow others have exactly their tokens, counted by
// encoding them, for every tokenizer whose words are independent.
func TestWordRing(t *testing.T) {
	// One fixture has the word as an added token.
	corpus := strings.ReplaceAll(prose(t, 60_000), "whole", "hole")
	dependent := map[string]bool{"generic_pattern": true, "bpe_llama2": true}
	for _, name := range append([]string{o200kName, "cl100k_base", "p50k_base", "sentencepiece"}, fixtures...) {
		t.Run(name, func(t *testing.T) {
			tok := sentencePiece(t)
			if name != "sentencepiece" {
				tok = load(t, name)
			}
			ring, ok := NewWordRing(tok, corpus)
			if ok == dependent[name] {
				t.Fatalf("words are independent: %v", ok)
			}
			if !ok {
				return
			}
			rng := rand.New(rand.NewPCG(5, uint64(len(name))))
			joined, tokens, followed := "", 0, 0
			for i := range 1000 {
				start, n := rng.IntN(1<<20)-1<<19, 1+i%40
				if i >= 900 {
					n = 1 + rng.IntN(3000)
				}
				text, ok := ring.Prompt(start, n)
				if got := tok.Count(text); !ok || got != n {
					t.Fatalf("Prompt(%d, %d) = %.60q has %d tokens, %v", start, n, text, got, ok)
				}
				if text, ok := ring.Following(start, n); ok && i < 900 {
					joined, tokens, followed = joined+text, tokens+n, followed+1
				}
			}
			if ring.trim {
				joined = joined[1:]
			}
			if got := tok.Count(joined); got != tokens || followed < 500 {
				t.Errorf("%d texts one after the other have %d tokens, want %d", followed, got, tokens)
			}
		})
	}
}

// TestWordRingRefuses: words of tokenizers with tokens over several words, or with added
// tokens in the corpus, are not independent.
func TestWordRingRefuses(t *testing.T) {
	for token, want := range map[string]bool{
		"word": false, " word": false, "\u2581word": false, "\u2581\u2581word": false, "  word": false,
		"x\u2581": true, ", ": true, "of the": true, "\u2581of\u2581the": true, "x y": true,
	} {
		if got := spansWords(token); got != want {
			t.Errorf("spansWords(%q) = %v, want %v", token, got, want)
		}
	}
	tok := load(t, "byte_level_llama3") // "whole" is an added token
	if _, ok := NewWordRing(tok, "one whole three four"); ok {
		t.Error("a corpus with an added token has a ring")
	}
	if _, ok := NewWordRing(tok, " \n "); ok {
		t.Error("an empty corpus has a ring")
	}
}

func TestWordRingEdges(t *testing.T) {
	ring, ok := NewWordRing(Builtin(), "one two three\n\n  four 5 five\n")
	if !ok || ring.Len() != 5 || ring.Text() != " one two three four 5 five" {
		t.Fatalf("ring %q of %d words, %v", ring.Text(), ring.Len(), ok)
	}
	for _, tt := range []struct {
		start, n int
		want     string
	}{
		{0, 3, " one two three"},
		{-1, 1, " five"},
		{3, 5, " four 5 five one"},
		{4, 16, " five one two three four 5 five one two three four 5 five one"},
		{5, 1, " one"},
	} {
		if got, ok := ring.Prompt(tt.start, tt.n); got != tt.want || !ok {
			t.Errorf("Prompt(%d, %d) = %q, %v, want %q", tt.start, tt.n, got, ok, tt.want)
		}
	}
	if _, ok := ring.Prompt(0, 0); ok {
		t.Error("Prompt(0, 0) is ok")
	}
}

// TestOpenWordRing: a ring that was written gives the prompts of the one it was made of,
// and damage is noticed.
func TestOpenWordRing(t *testing.T) {
	ring, _ := NewWordRing(Builtin(), prose(t, 30_000))
	data := ring.Words()
	read, err := OpenWordRing(Builtin(), ring.Text(), data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		want, _ := ring.Prompt(31*i, 1+i)
		if got, ok := read.Prompt(31*i, 1+i); got != want || !ok {
			t.Fatalf("Prompt(%d, %d) = %q, want %q", 31*i, 1+i, got, want)
		}
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "cut": data[:len(data)-1], "too short": data[:20], "too long": append(bytes.Clone(data), 1, 1),
		"long number": bytes.Repeat([]byte{0xff}, 30),
	} {
		if _, err := OpenWordRing(Builtin(), ring.Text(), data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestWordRingAllocations: a prompt that ends with a word of the corpus is a part of it, and
// others are one copy.
func TestWordRingAllocations(t *testing.T) {
	ring, _ := NewWordRing(Builtin(), prose(t, 60_000))
	start := 0
	if n := testing.AllocsPerRun(1000, func() {
		ring.Prompt(start, 550)
		start += 9973
	}); n > 1 {
		t.Errorf("%v allocations per prompt, want at most 1", n)
	}
}

// BenchmarkPrompt550 makes prompts as a synthetic dataset does: of words, or, if the words of
// the tokenizer are not independent, by counting.
func BenchmarkPrompt550(b *testing.B) {
	corpus := strings.ReplaceAll(prose(b, 300_000), "whole", "full") // an added token of byte_level_llama3
	for _, name := range []string{o200kName, "byte_level_llama3", "bpe_llama2", "unigram_t5"} {
		b.Run(name, func(b *testing.B) {
			tok := load(b, name)
			prompt := NewRing(tok, corpus).Prompt
			if ring, ok := NewWordRing(tok, corpus); ok {
				prompt = ring.Prompt
			}
			start := 0
			for b.Loop() {
				if _, ok := prompt(start, 550); !ok {
					b.Fatalf("no prompt at %d", start)
				}
				start += 9973
			}
		})
	}
}
