// Package pattern finds the matches of the patterns by which pre-tokenizers split
// text. Patterns of well-known vocabularies have hand-written scanners; all others
// use regexp2.
package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// generic is a matcher for patterns without a hand-written scanner. Its class
// escapes are expanded from the table of [Reference]; the rest is left to regexp2.
type generic struct{ re *regexp2.Regexp }

// Find implements [Matcher].
func (m generic) Find(dst []Span, s string) []Span {
	// The only errors are time-outs, and no time limit is set.
	all, _ := m.re.FindAllStringIndex(s, -1)
	for _, at := range all {
		if at[1] > at[0] {
			dst = append(dst, Span{at[0], at[1]})
		}
	}
	return dst
}

// Literal is a matcher for a fixed string.
type Literal string

// Find implements [Matcher].
func (m Literal) Find(dst []Span, s string) []Span {
	for at := 0; ; {
		i := strings.Index(s[at:], string(m))
		if i < 0 {
			return dst
		}
		dst = append(dst, Span{at + i, at + i + len(m)})
		at += i + len(m)
	}
}

// Each is a matcher for single characters that have a property. Make one with
// [NewEach].
type Each struct {
	classes *Table
	mask    uint32
}

// NewEach returns a matcher for characters that have any property of mask.
func NewEach(mask uint32) Each { return Each{Reference(), mask} }

// Find implements [Matcher].
func (m Each) Find(dst []Span, s string) []Span {
	for i := 0; i < len(s); {
		p, w := m.classes.At(s, i)
		if p&m.mask != 0 {
			dst = append(dst, Span{i, i + w})
		}
		i += w
	}
	return dst
}

// Compile returns the matcher of a pattern: a hand-written scanner for the
// well-known ones, else regexp2. isGeneric reports which. Patterns that mean
// something else to the reference's engine (Oniguruma) are refused.
func Compile(pattern string) (m Matcher, isGeneric bool, err error) {
	for _, k := range knownPatterns {
		if k.pattern == pattern {
			return Scanner{Reference(), k.scan}, false, nil
		}
	}
	for _, foreign := range []string{"&&", "[:", "-[", `\h`, `\H`, `\b`, `\B`, `\R`, `\X`, `\K`, `\G`, `\y`, `\Y`, `\O`, `\Z`, `\g`, `\p{^`, "(?~", "(?#", "?+", "*+", "++"} {
		if strings.Contains(pattern, foreign) {
			return nil, false, fmt.Errorf("pattern %q: unsupported construct %q", pattern, foreign)
		}
	}
	re, err := regexp2.Compile(expandClasses(pattern))
	if err != nil {
		return nil, false, fmt.Errorf("compile pattern %q: %w", pattern, err)
	}
	if ok, err := re.MatchString(""); ok || err != nil {
		return nil, false, fmt.Errorf("pattern %q: unsupported, it matches the empty string", pattern)
	}
	return generic{re}, true, nil
}

// classMasks are the class escapes that expandClasses supports.
var classMasks = []struct {
	escape string
	mask   uint32
	want   bool
}{
	{`\p{Lu}`, PropLu, true}, {`\p{Ll}`, PropLl, true}, {`\p{Lt}`, PropLt, true},
	{`\p{Lm}`, PropLm, true}, {`\p{Lo}`, PropLo, true}, {`\p{L}`, PropL, true},
	{`\p{M}`, PropM, true}, {`\p{N}`, PropN, true}, {`\p{P}`, PropP, true}, {`\p{S}`, PropS, true},
	{`\P{L}`, PropL, false}, {`\P{M}`, PropM, false}, {`\P{N}`, PropN, false},
	{`\P{P}`, PropP, false}, {`\P{S}`, PropS, false},
	{`\s`, PropSpace, true}, {`\S`, PropSpace, false},
	{`\w`, PropRegexWord, true}, {`\W`, PropRegexWord, false},
	{`\d`, PropRegexDigit, true}, {`\D`, PropRegexDigit, false},
}

// expandClasses writes the class escapes of a pattern as explicit ranges, so
// that they have the meaning of the reference, regardless of the Unicode version
// regexp2 and Go have.
func expandClasses(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '\\':
			n := writeEscape(&b, pattern[i:], inClass)
			i += n
			continue
		case c == '[' && !inClass:
			inClass = true
			// A bracket that directly follows is a member.
			if rest := pattern[i+1:]; strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, "^]") {
				n := strings.IndexByte(pattern[i:], ']') + 1
				b.WriteString(pattern[i : i+n])
				i += n
				continue
			}
		case c == ']':
			inClass = false
		}
		b.WriteByte(pattern[i])
		i++
	}
	return b.String()
}

// writeEscape writes the escape that begins s and returns its length in s.
func writeEscape(b *strings.Builder, s string, inClass bool) int {
	for _, k := range classMasks {
		if !strings.HasPrefix(s, k.escape) {
			continue
		}
		if !inClass {
			b.WriteByte('[')
		}
		Reference().Ranges(k.mask, k.want, func(first, last rune) {
			if inClass && k.escape == `\w` {
				writeWords(b, first, last)
				return
			}
			writeRange(b, first, last)
		})
		if inClass && k.escape == `\W` {
			b.WriteString(latinNumbers)
		}
		if !inClass {
			b.WriteByte(']')
		}
		return len(k.escape)
	}
	n := min(2, len(s))
	if len(s) > 1 && s[1] >= utf8.RuneSelf {
		_, w := utf8.DecodeRuneInString(s[1:])
		n = 1 + w
	}
	b.WriteString(s[:n])
	return n
}

// latinNumbers are the superscripts and fractions of Latin-1. The reference's engine
// counts them as words outside of character classes and not inside of them.
const latinNumbers = "²³¹¼½¾"

// writeWords writes a range of words without the latinNumbers.
func writeWords(b *strings.Builder, first, last rune) {
	for _, r := range latinNumbers {
		if first > r || last < r {
			continue
		}
		if first < r {
			writeRange(b, first, r-1)
		}
		first = r + 1
	}
	if first <= last {
		writeRange(b, first, last)
	}
}

func writeRange(b *strings.Builder, first, last rune) {
	writeRune(b, first)
	b.WriteByte('-')
	writeRune(b, last)
}

func writeRune(b *strings.Builder, r rune) {
	if r < 0x10000 {
		fmt.Fprintf(b, `\u%04X`, r)
		return
	}
	b.WriteRune(r)
}
