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
