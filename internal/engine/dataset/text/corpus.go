// Package text generates texts of an exact number of tokens. They are cut out of
// corpora, which are generated with a fixed seed and encoded once per tokenizer.
package text

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

// Corpus is one row of the table of texts that prompts are cut from.
type Corpus struct {
	Name string // as documents write it
	text func(tokenizer.Tokenizer) string
	// ring holds its tokens of the built-in tokenizer; nil = not embedded.
	ring []byte

	Runs   bool // prompts are [Runs] instead
	Unique bool // prompts begin with a line of their own, see [Prompter.Unique]
}

// proseRing is the prose as tokens of the built-in tokenizer: most runs need it, and
// encoding it would take longer than all other steps before their first request. A
// test writes it.
//
//go:embed data/prose.ring
var proseRing []byte

// The grammars of the prose, and of functions in several languages with texts around
// code, such as logs and messages.
var (
	//go:embed data/prose.grammar
	proseGrammar string
	//go:embed data/code.grammar
	codeGrammar string
)

// Open returns the corpus as tokens of the tokenizer.
func (c *Corpus) Open(t tokenizer.Tokenizer) (*tokenizer.Ring, error) {
	if c.ring != nil && tokenizer.IsBuiltin(t.Name()) {
		return tokenizer.OpenRing(t, c.ring)
	}
	r := tokenizer.NewRing(t, c.text(t))
	if r.Len() == 0 {
		return nil, errors.New("the tokenizer makes no tokens of it")
	}
	return r, nil
}

// Corpora lists the texts in the order of the documentation; the first is the
// default. They are generated with a fixed seed, so they are equal in every run on
// every platform.
func Corpora() []Corpus {
	return []Corpus{
		{Name: "sonnet", text: func(tokenizer.Tokenizer) string { return proseText() }, ring: proseRing},
		{Name: "coding", text: func(tokenizer.Tokenizer) string { return codeText() }},
		{Name: "random", text: randomText, Runs: true},
		{Name: "unique", text: func(tokenizer.Tokenizer) string { return proseText() }, ring: proseRing, Unique: true},
	}
}

// FindCorpus returns the corpus with a name. The error lists the names.
func FindCorpus(name string) (Corpus, error) {
	var names []string
	for _, c := range Corpora() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Corpus{}, fmt.Errorf("unknown corpus %q; accepted: %s", name, strings.Join(names, ", "))
}

const (
	corpusSeed  bench.Seed = 20251121
	corpusBytes            = 1 << 20 // of the generated corpora; about a quarter as many tokens
	// randomTokens bounds the random corpus. Larger vocabularies give a sample.
	randomTokens = 200_000
)

// proseText returns the English corpus.
func proseText() string {
	g := newGrammar(proseGrammar, "corpus.prose")
	b := make([]byte, 0, corpusBytes+4096)
	for len(b) < corpusBytes {
		for range 3 + bench.Below(g.rand, 5) {
			b = append(g.expand(b), ' ')
		}
		b = append(b[:len(b)-1], "\n\n"...)
	}
	return string(b)
}

// codeText returns the corpus of code-like texts.
func codeText() string {
	g := newGrammar(codeGrammar, "corpus.code")
	b := make([]byte, 0, corpusBytes+4096)
	for len(b) < corpusBytes {
		b = append(g.expand(b), "\n\n"...)
	}
	return string(b)
}

// randomText returns the texts of the ordinary tokens in one random order. Two
// neighbours may merge to another token when they are encoded; the ring corrects
// the length.
func randomText(t tokenizer.Tokenizer) string {
	ids := make([]int, t.VocabSize())
	for i := range ids {
		ids[i] = i
	}
	r := corpusSeed.Rand("corpus.random")
	for i := len(ids) - 1; i > 0; i-- {
		j := bench.Below(r, i+1)
		ids[i], ids[j] = ids[j], ids[i]
	}
	var b strings.Builder
	n := 0
	for _, id := range ids {
		if text := t.Decode([]int{id}); n < randomTokens && ordinary(text) && t.Count(text) == 1 {
			b.WriteString(text)
			n++
		}
	}
	return b.String()
}

// ordinary reports whether a token's text may stand in a prompt: complete
// characters, and no text that looks like a special token (<|end|>, <s>, [PAD]),
// which a server could take for one.
func ordinary(text string) bool {
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		return false
	}
	bare := strings.TrimSpace(text)
	angled := strings.HasPrefix(bare, "<") && strings.HasSuffix(bare, ">")
	square := strings.HasPrefix(bare, "[") && strings.HasSuffix(bare, "]")
	return !(angled || square || strings.Contains(bare, "<|") || strings.Contains(bare, "|>"))
}
