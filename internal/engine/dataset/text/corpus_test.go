package text

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

var updateRing = flag.Bool("update-ring", false, "write the ring of the prose to data/")

// The generated texts are the same in every version: a seed stands for its prompts.
func TestTextsStayTheSame(t *testing.T) {
	for name, text := range map[string]string{"5a63eea87738503e": proseText(), "3ba3f2b522c0ef99": codeText()} {
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]; got != name {
			t.Errorf("text %s", got)
		}
	}
}

// TestProseRing: the embedded ring equals the encoded corpus.
func TestProseRing(t *testing.T) {
	ring := tokenizer.NewRing(tokenizer.Builtin(), proseText()).Append(nil)
	if *updateRing {
		if err := os.WriteFile("data/prose.ring", ring, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("written")
	}
	if !bytes.Equal(proseRing, ring) {
		t.Error("data/prose.ring is another: go test -run TestProseRing -update-ring")
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
	tok := tokenizer.Builtin()
	for _, c := range Corpora() {
		text := c.text(tok)
		if len(text) < 1_000_000 || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%s: %d bytes, valid %v", c.Name, len(text), utf8.ValidString(text))
		}
		if text != c.text(tok) {
			t.Errorf("%s: the second text differs from the first", c.Name)
		}
		if strings.Contains(text, "<|endoftext|>") {
			t.Errorf("%s: contains a special token", c.Name)
		}
	}
	for _, word := range []string{"a old", "a apple", "an baker", "$"} {
		if strings.Contains(proseText(), word) {
			t.Errorf("prose contains %q", word)
		}
	}
}

func TestOrdinary(t *testing.T) {
	for text, want := range map[string]bool{
		"word": true, " word": true, "<": true, "a>b": true, "[x": true, "é": true,
		"": false, "\xff": false, "\ufffd": false, "<s>": false, " </s>": false, "<|end|>": false, "[PAD]": false, "x<|": false,
	} {
		if got := ordinary(text); got != want {
			t.Errorf("ordinary(%q) = %v, want %v", text, got, want)
		}
	}
}
