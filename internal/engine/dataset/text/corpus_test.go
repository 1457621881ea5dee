package text

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

var updateProse = flag.Bool("update-prose", false, "write the prose and its words to data/")

// proseGrammar is the grammar of the prose.
//
//go:embed testdata/prose.grammar
var proseGrammar string

// proseText generates the English corpus.
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

// The generated texts are the same in every version: a seed stands for its prompts.
func TestTextsStayTheSame(t *testing.T) {
	for name, text := range map[string]string{"5a63eea87738503e": proseText(), "3ba3f2b522c0ef99": codeText()} {
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]; got != name {
			t.Errorf("text %s", got)
		}
	}
}

// TestProse: the embedded text and its words are those of the grammar.
func TestProse(t *testing.T) {
	ring, ok := tokenizer.NewWordRing(tokenizer.Builtin(), proseText())
	if !ok {
		t.Fatal("words depend on their neighbours")
	}
	files := map[string][]byte{"prose.text": []byte(ring.Text()), "prose.words": ring.Words()}
	if *updateProse {
		for name, data := range files {
			if err := os.WriteFile("data/"+name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Skip("written")
	}
	if prose != ring.Text() || !bytes.Equal(proseWords, files["prose.words"]) {
		t.Error("the embedded prose is another: go test -run TestProse -update-prose")
	}
}

func TestGrammar(t *testing.T) {
	lists := map[string][]string{"noun": {"apple"}, "adj": {"red"}, "two": {"b", "c"}}
	tests := []struct{ template, want string }{
		{"plain text", "plain text"},
		{"the $noun.", "the apple."},
		{"$Noun and $adj", "Apple and red"},
		{"a $noun, a $adj thing, A $noun", "an apple, a red thing, An apple"},
		{"extra $noun", "extra apple"},
		{"costs 5$ or ${$noun}", "costs 5$ or ${apple}"},
		{"$noun1_$Noun1.py", "apple_Apple.py"},
	}
	for _, tt := range tests {
		g := &grammar{rand: bench.Seed(1).Rand(""), lists: lists}
		if got := string(g.fill(nil, tt.template)); got != tt.want {
			t.Errorf("fill(%q) = %q, want %q", tt.template, got, tt.want)
		}
	}
	g := &grammar{rand: bench.Seed(1).Rand(""), lists: lists}
	bound, free := true, true
	for range 50 {
		w := strings.Fields(string(g.fill(nil, "$two1 $Two1 $two $two")))
		bound = bound && strings.EqualFold(w[0], w[1])
		free = free && w[2] == w[3]
	}
	if !bound || free {
		t.Errorf("numbered words always agree: %v, others: %v; want true, false", bound, free)
	}
}

// Each template must find its lists and leave no placeholder behind.
func TestTemplatesAreComplete(t *testing.T) {
	for name, g := range map[string]*grammar{
		"prose": newGrammar(proseGrammar, "prose"),
		"code":  newGrammar(codeGrammar, "code"),
	} {
		used := map[string]bool{}
		for _, template := range g.templates {
			g.fill(nil, template)
			for part := range strings.SplitSeq(template, "$") {
				end := 0
				for end < len(part) && isLetter(part[end]) {
					end++
				}
				used[strings.ToLower(part[:end])] = true
			}
		}
		for list := range g.lists {
			if !used[list] {
				t.Errorf("%s: word list %s is used by no template", name, list)
			}
		}
	}
}

func TestCorpora(t *testing.T) {
	for _, c := range Corpora() {
		if c.Runs {
			continue
		}
		if ring, err := c.Open(tokenizer.Builtin()); err != nil {
			t.Error(err)
		} else if _, words := ring.(*tokenizer.WordRing); !words {
			t.Errorf("%s: prompts are counted", c.Name)
		}
		text := c.text()
		if len(text) < 1_000_000 || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%s: %d bytes, valid %v", c.Name, len(text), utf8.ValidString(text))
		}
		if text != c.text() {
			t.Errorf("%s: the second text differs from the first", c.Name)
		}
		if strings.Contains(text, "<|endoftext|>") {
			t.Errorf("%s: contains a special token", c.Name)
		}
	}
	for _, word := range []string{"a old", "a apple", "an baker", "$"} {
		if strings.Contains(prose, word) {
			t.Errorf("prose contains %q", word)
		}
	}
}
