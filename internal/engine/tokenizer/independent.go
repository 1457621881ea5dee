package tokenizer

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// independentWords reports whether the words of a text, as [WordRing] defines them, have
// the same tokens for a tokenizer whatever stands before and after them.
//
// That holds if every step looks at a few characters only, and either the pre-tokenizer
// divides a text where a word begins, or no token of the model reaches over that place.
// A step that is not known to be like that, such as a regular expression without a
// scanner, makes words dependent.
func independentWords(t Tokenizer, text string) bool {
	p, ok := pipelineOf(t)
	return ok && localNormalizer(p.normalizer, text) && localPre(p.pre) && (p.dividesWords() || !p.spansWords()) && !p.addsWords(text)
}

// localNormalizer reports whether a normalizer rewrites a word of a text alike everywhere,
// but perhaps adds or removes a blank at the ends of what it gets.
func localNormalizer(n normalizer, text string) bool {
	switch n := n.(type) {
	case nil, stripper, prepender, perRune, lowercaser, unicodeForm, byteLevelNorm, cjkPadder, *precompiled:
		return true
	case replacer:
		m, literal := n.matcher.(pattern.Literal)
		return literal && m == " " && n.content == metaspaceMark || len(n.matcher.Find(nil, text)) == 0
	case sequenceNorm:
		return !slices.ContainsFunc(n, func(step normalizer) bool { return !localNormalizer(step, text) })
	}
	return false
}

// metaspaceMark is what SentencePiece writes for a blank.
const metaspaceMark = "\u2581"

// localPre reports whether a pre-tokenizer decides by a few characters where it divides.
func localPre(pre preTokenizer) bool {
	switch pre := pre.(type) {
	case nil, metaspace, byteLevelPre:
		return true
	case splitter:
		switch pre.matcher.(type) {
		case pattern.Scanner, pattern.Each, pattern.Literal:
			return true
		}
	case sequencePre:
		return !slices.ContainsFunc(pre, func(step preTokenizer) bool { return !localPre(step) })
	}
	return false
}

// dividesWords reports whether the pre-tokenizer divides a text where a word begins.
func (t *pipeline) dividesWords() bool {
	const next = " next"
	for _, before := range []string{" word", " Word.", " it's", " (word)", " word,", " 12", " x_", " word:\"", " don't!", " a/", " é"} {
		both := t.piecesOf(before + next)
		if !slices.Equal(both, append(t.piecesOf(before), t.piecesOf(next)...)) {
			return false
		}
	}
	return t.pre != nil
}

// piecesOf returns the pieces of a text that the model gets.
func (t *pipeline) piecesOf(text string) (out []string) {
	if t.normalizer != nil {
		text, _ = t.normalizer.normalize(text)
	}
	if t.pre == nil {
		return []string{text}
	}
	for _, p := range t.pre.split(new(scratch), nil, piece{text: text}) {
		out = append(out, p.text)
	}
	return out
}

// spansWords reports whether a token of the model reaches over the beginning of a word.
func (t *pipeline) spansWords() bool {
	v := t.model.vocabulary()
	for id := range uint32(v.size()) {
		if spansWords(v.text(id)) {
			return true
		}
	}
	return false
}

// spansWords reports whether a token has a blank after another character.
func spansWords(token string) bool {
	token = strings.ReplaceAll(token, metaspaceMark, " ")
	return strings.Contains(strings.TrimLeft(token, " "), " ")
}

// addsWords reports whether an added token is in a text, or could be where two of its words
// meet.
func (t *pipeline) addsWords(text string) bool {
	normalized := text
	if t.normalizer != nil {
		normalized, _ = t.normalizer.normalize(text)
	}
	for set, in := range map[*addedSet]string{t.added: text, t.addedNormed: normalized} {
		if set == nil {
			continue
		}
		if len(set.find(nil, in)) > 0 {
			return true
		}
		for _, a := range set.tokens {
			foreign := func(part string) bool { return !strings.Contains(in, part) }
			if spansWords(a.Content) && !slices.ContainsFunc(strings.Fields(a.Content), foreign) {
				return true
			}
		}
	}
	return false
}
