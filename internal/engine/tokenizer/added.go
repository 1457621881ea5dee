package tokenizer

import (
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// addedToken is a token that is cut out of the text before anything else
// happens to it, or after normalization only.
type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addedSet finds one group of added tokens.
type addedSet struct {
	tokens  []addedToken
	trie    *trie // to indexes of tokens
	classes *pattern.Table
}

// newAddedSet returns a set that searches for texts[i] to find tokens[i], or
// nil if there are none.
func newAddedSet(tokens []addedToken, texts []string) *addedSet {
	if len(tokens) == 0 {
		return nil
	}
	index := make([]uint32, len(tokens))
	for i := range index {
		index[i] = uint32(i)
	}
	return &addedSet{tokens: tokens, trie: newTrie(texts, index), classes: pattern.Reference()}
}

// found is an added token in a text, with the blanks that it swallows.
type found struct {
	pattern.Span
	id uint32
}

// find returns the added tokens of s from left to right, the longest first
// if several begin.
func (a *addedSet) find(dst []found, s string) []found {
	done := 0
	for i := 0; i < len(s); {
		if !a.trie.heads[s[i]] {
			i++
			continue
		}
		index, n := a.trie.longest(0, s[i:])
		if n == 0 {
			i++
			continue
		}
		start, stop := i, i+n
		i = stop
		if stop <= done {
			continue // the one before it has swallowed it
		}
		t := &a.tokens[index]
		if t.SingleWord && (a.wordBefore(s, start) || a.wordAfter(s, stop)) {
			continue
		}
		if t.LStrip {
			start = max(a.spaceBefore(s, start), done)
		}
		if t.RStrip {
			stop = a.classes.Run(s, stop, pattern.PropSpace)
		}
		dst = append(dst, found{pattern.Span{Start: max(start, done), End: stop}, t.ID})
		done = stop
	}
	return dst
}

func (a *addedSet) wordBefore(s string, i int) bool {
	r, w := utf8.DecodeLastRuneInString(s[:i])
	return w > 0 && a.classes.Of(r)&pattern.PropWord != 0
}

func (a *addedSet) wordAfter(s string, i int) bool {
	p, _ := a.classes.At(s, i)
	return p&pattern.PropWord != 0
}

func (a *addedSet) spaceBefore(s string, i int) int {
	return len(strings.TrimRightFunc(s[:i], func(r rune) bool { return a.classes.Of(r)&pattern.PropSpace != 0 }))
}
