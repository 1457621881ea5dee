package tokenizer

import (
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// A normalizer rewrites a text before it is cut. headCut reports that
// characters at its beginning were removed, which decides whether a Metaspace
// pre-tokenizer still sees the start of the text. Normalizers are immutable.
type normalizer interface {
	normalize(s string) (out string, headCut bool)
}

type sequenceNorm []normalizer

func (n sequenceNorm) normalize(s string) (string, bool) {
	cut := false
	for _, step := range n {
		var c bool
		s, c = step.normalize(s)
		cut = cut || c
	}
	return s, cut
}

// perRune rewrites single characters: keep is called with every character and
// returns what replaces it; drop removes it.
type perRune func(r rune) (to rune, drop bool)

func (n perRune) normalize(s string) (string, bool) {
	var b strings.Builder
	cut := false
	clean := 0 // everything before it is unchanged
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		to, drop := n(r)
		if drop || to != r {
			b.WriteString(s[clean:i])
			clean = i + w
			if !drop {
				b.WriteRune(to)
			} else if i == 0 {
				cut = true
			}
		}
		i += w
	}
	if clean == 0 {
		return s, false
	}
	b.WriteString(s[clean:])
	return b.String(), cut
}

// lowercaser lowers characters one by one, so a final sigma is an ordinary one.
type lowercaser struct{ classes *pattern.Table }

func (n lowercaser) normalize(s string) (string, bool) {
	if strings.Contains(s, "\u0130") { // the one mapping to two characters
		s = strings.ReplaceAll(s, "\u0130", "i\u0307")
	}
	return perRune(n.lower).normalize(s)
}

func (n lowercaser) lower(r rune) (rune, bool) {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r, false
	}
	if to, ok := n.classes.Lower(r); ok {
		return to, false
	}
	return r, false
}

// stripper trims white space.
type stripper struct {
	classes     *pattern.Table
	left, right bool
}

func (n stripper) normalize(s string) (string, bool) {
	isSpace := func(r rune) bool { return n.classes.Of(r)&pattern.PropSpace != 0 }
	out := s
	if n.right {
		out = strings.TrimRightFunc(out, isSpace)
	}
	if n.left {
		trimmed := strings.TrimLeftFunc(out, isSpace)
		return trimmed, len(trimmed) < len(out)
	}
	return out, false
}

// dropper removes the characters that have a property.
func dropper(c *pattern.Table, mask uint32) perRune {
	return func(r rune) (rune, bool) { return r, c.Of(r)&mask != 0 }
}

// replacer replaces every match of a pattern.
type replacer struct {
	matcher pattern.Matcher
	content string
}

func (n replacer) normalize(s string) (string, bool) {
	if m, ok := n.matcher.(pattern.Literal); ok {
		return strings.ReplaceAll(s, string(m), n.content), n.content == "" && strings.HasPrefix(s, string(m))
	}
	spans := n.matcher.Find(nil, s)
	if len(spans) == 0 {
		return s, false
	}
	var b strings.Builder
	at := 0
	for _, m := range spans {
		b.WriteString(s[at:m.Start])
		b.WriteString(n.content)
		at = m.End
	}
	b.WriteString(s[at:])
	return b.String(), n.content == "" && spans[0].Start == 0
}

// prepender puts a string before every text that is not empty.
type prepender string

func (n prepender) normalize(s string) (string, bool) {
	if s == "" {
		return s, false
	}
	return string(n) + s, false
}

// byteLevelNorm writes the bytes of a text as characters of the byte alphabet.
type byteLevelNorm struct{ alphabet *byteAlphabet }

func (n byteLevelNorm) normalize(s string) (string, bool) { return n.alphabet.toChars(s), false }

// nmt removes control characters and unifies white space as SentencePiece's
// nmt rules do.
func nmt(r rune) (rune, bool) {
	switch {
	case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return r, true
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' ', false
	}
	return r, false
}

// bertNorm is BERT's basic clean-up, in its fixed order.
func bertNorm(clean, cjk, stripAccents, lower bool) sequenceNorm {
	c := pattern.Reference()
	var n sequenceNorm
	if clean {
		n = append(n, perRune(func(r rune) (rune, bool) {
			p := c.Of(r)
			if p&pattern.PropControl != 0 {
				return r, true
			}
			if p&pattern.PropSpace != 0 {
				return ' ', false
			}
			return r, false
		}))
	}
	if cjk {
		n = append(n, cjkPadder{})
	}
	if stripAccents {
		n = append(n, unicodeForm{nfd, c}, dropper(c, pattern.PropBertAccent))
	}
	if lower {
		n = append(n, lowercaser{c})
	}
	return n
}

// cjkPadder puts blanks around Chinese characters.
type cjkPadder struct{}

func (cjkPadder) normalize(s string) (string, bool) {
	var b strings.Builder
	at := 0
	for i, r := range s {
		if isChinese(r) {
			b.WriteString(s[at:i])
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			at = i + utf8.RuneLen(r)
		}
	}
	if at == 0 {
		return s, false
	}
	b.WriteString(s[at:])
	return b.String(), false
}

// isChinese is BERT's list of blocks as the reference has it; the fifth begins
// at U+2B920 there, a hundred code points after the block does.
func isChinese(r rune) bool {
	if r < 0x3400 {
		return false
	}
	return r <= 0x4DBF || r >= 0x4E00 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}
