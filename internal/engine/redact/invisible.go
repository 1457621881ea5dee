package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Invisible reports whether a character leaves no mark on a screen: a control character
// but for tab and line break, a format character, a filler, a selector of variants, or
// U+FFFD, which stands for a byte that is no text. Programs remove these from texts, and
// then what they have separated stands together. Everything that removes characters
// from texts of servers uses this function, so that a [Set] finds in a text what
// is found in it afterwards.
func Invisible(r rune) bool {
	const firstFormat, lastBefore, firstAfter = 0xad, 0x3164, 0xfe00 // between the last two are no such characters
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < firstFormat:
		return unicode.IsControl(r)
	case lastBefore < r && r < firstAfter:
		return false
	}
	return r == utf8.RuneError ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// withoutInvisible returns s without invisible characters, or s itself if it has none.
func withoutInvisible(s string) string {
	if !strings.ContainsFunc(s, Invisible) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return -1
		}
		return r
	}, s)
}

// hiddenAt returns the place of the first invisible character in s from a place on, as it
// is or as one of the escapes that [escape] leaves alone. It is empty at the end of s if
// there is none.
func hiddenAt(s string, from int) span {
	for i := from; i < len(s); {
		c := s[i]
		if ' ' <= c && c < 0x7f {
			if c == '\\' && i+1 < len(s) && strings.IndexByte("abfv", s[i+1]) >= 0 {
				return span{i, i + 2}
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if Invisible(r) {
			return span{i, i + n}
		}
		i += n
	}
	return span{len(s), len(s)}
}

// see removes the invisible characters of a layer. ok is false if there are none.
func (b *buffer) see(l layer) (out layer, ok bool) {
	hidden := hiddenAt(l.text, 0)
	if hidden.from == len(l.text) {
		return layer{}, false
	}
	b.reset()
	for done := 0; done < len(l.text); hidden = hiddenAt(l.text, done) {
		b.copy(l, done, hidden.from)
		for ; done < hidden.from; done++ {
			b.until = append(b.until, int32(l.end(done+1)))
		}
		done = hidden.to
	}
	out = b.layer(l.start(len(l.text)), l.tail)
	out.until, out.joined = b.until, true
	return out, true
}
