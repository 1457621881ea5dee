// Package text generates texts of an exact number of tokens. They are cut out of
// corpora, which are generated with a fixed seed and encoded once per tokenizer.
package text

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

// Corpus is one row of the table of texts that prompts are cut from.
type Corpus struct {
	Name string // as documents write it
	text func() string
	// words has the words of the text for the built-in tokenizer, see
	// [tokenizer.WordRing]; nil = not embedded.
	words  []byte
	Runs   bool // prompts are [Runs] instead
	Unique bool // prompts begin with a line of their own, see [Prompter.Unique]
}

var (
	// prose is the English text, as a [tokenizer.WordRing] has it. Most runs need it, and
	// with its words they begin without reading it. A test writes both files, and the
	// grammar of the prose is beside that test.
	//
	//go:embed data/prose.text
	prose string
	//go:embed data/prose.words
	proseWords []byte
	// codeGrammar is that of functions in several languages with texts around code, such
	// as logs and messages.
	//
	//go:embed data/code.grammar
	codeGrammar string
)

// Ring is a corpus whose end is joined to its beginning. It is safe for concurrent use.
type Ring interface {
	// Len returns the number of places where prompts begin.
	Len() int
	// Prompt returns a text of n tokens from place start on (0 ≤ start < Len, n ≥ 1);
	// false = there is none.
	Prompt(start, n int) (string, bool)
}

// Open returns the corpus as a ring of words, if their tokens do not depend on their
// neighbours, or else of tokens.
func (c *Corpus) Open(t tokenizer.Tokenizer) (Ring, error) {
	if c.words != nil && tokenizer.IsEmbedded(t) {
		return tokenizer.OpenWordRing(t, c.text(), c.words)
	}
	text := c.text()
	if r, ok := tokenizer.NewWordRing(t, text); ok {
		return r, nil
	}
	r := tokenizer.NewRing(t, text)
	if r.Len() == 0 {
		return nil, errors.New("the tokenizer makes no tokens of it")
	}
	return r, nil
}

// Corpora lists the texts in the order of the documentation; the first is the
// default. They were or are generated with a fixed seed, so they are equal in every run on
// every platform.
func Corpora() []Corpus {
	english := func() string { return prose }
	return []Corpus{
		{Name: "sonnet", text: english, words: proseWords},
		{Name: "coding", text: codeText},
		{Name: "random", Runs: true},
		{Name: "unique", text: english, words: proseWords, Unique: true},
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
)

// codeText returns the corpus of code-like texts.
func codeText() string {
	g := newGrammar(codeGrammar, "corpus.code")
	b := make([]byte, 0, corpusBytes+4096)
	for len(b) < corpusBytes {
		b = append(g.expand(b), "\n\n"...)
	}
	return string(b)
}
