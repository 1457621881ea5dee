package text

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"aiperfd/internal/engine/bench"
)

// grammar fills templates with words. A template is a text with placeholders:
//
//	$noun    a word from list "noun"
//	$Noun    the same with a capital letter
//	$noun1   a word that stays the same within one expansion; so does $Noun1
//	$num     a number from 2 to 999; $year from 1700 to 1999; $hex: 8 digits
//
// Any other dollar sign stands for itself. An article "a" before a placeholder becomes
// "an" if the word begins with a vowel. A placeholder without a list panics; the tests
// expand every template.
type grammar struct {
	rand      *rand.Rand
	lists     map[string][]string
	templates []string
}

// newGrammar reads templates, each with a line of %% after it, and word lists, one on
// each line: a name, and words between bars.
func newGrammar(text, stream string) *grammar {
	parts := strings.Split(text, "\n%%\n")
	last := len(parts) - 1
	g := &grammar{rand: corpusSeed.Rand(stream), lists: map[string][]string{}, templates: parts[:last]}
	for line := range strings.Lines(parts[last]) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
		g.lists[name] = strings.Split(words, " | ")
	}
	return g
}

// expand appends one randomly chosen template.
func (g *grammar) expand(dst []byte) []byte {
	return g.fill(dst, g.templates[bench.Below(g.rand, len(g.templates))])
}

// fill appends one template.
func (g *grammar) fill(dst []byte, template string) []byte {
	var bound map[string]string // allocated for templates that bind words
	for {
		before, rest, found := strings.Cut(template, "$")
		dst = append(dst, before...)
		if !found {
			return dst
		}
		n := 0
		for n < len(rest) && isLetter(rest[n]) {
			n++
		}
		if n == 0 {
			dst, template = append(dst, '$'), rest
			continue
		}
		end := n
		if end < len(rest) && rest[end] >= '1' && rest[end] <= '9' {
			end++
		}
		if end > n && bound == nil {
			bound = map[string]string{}
		}
		word := g.word(rest[:n], rest[n:end], bound)
		if strings.ContainsRune("aeiou", rune(word[0])) && endsWithArticle(before) {
			dst = append(dst[:len(dst)-1], "n "...)
		}
		dst = append(dst, word...)
		template = rest[end:]
	}
}

// word draws for a placeholder; a bound one keeps its first word.
func (g *grammar) word(name, number string, bound map[string]string) string {
	list := strings.ToLower(name)
	var word string
	if number == "" {
		word = g.pick(list)
	} else if word = bound[list+number]; word == "" {
		word = g.pick(list)
		bound[list+number] = word
	}
	if name != list {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	return word
}

func (g *grammar) pick(list string) string {
	switch list {
	case "num":
		return strconv.Itoa(2 + bench.Below(g.rand, 998))
	case "year":
		return strconv.Itoa(1700 + bench.Below(g.rand, 300))
	case "hex":
		return fmt.Sprintf("%08x", g.rand.Uint32())
	}
	words := g.lists[list]
	if len(words) == 0 {
		panic("no word list " + strconv.Quote(list))
	}
	return words[bench.Below(g.rand, len(words))]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// endsWithArticle reports whether the text ends with the word "a" and a blank.
func endsWithArticle(s string) bool {
	return s == "a " || s == "A " || strings.HasSuffix(s, " a ") || strings.HasSuffix(s, " A ")
}
