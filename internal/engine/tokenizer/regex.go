package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// generic is a matcher for patterns without a hand-written scanner. Its class
// escapes are expanded from our own tables; the rest is regexp2's.
type generic struct{ re *regexp2.Regexp }

func (m generic) find(dst []span, s string) []span {
	// The only errors are time-outs, and no time limit is set.
	all, _ := m.re.FindAllStringIndex(s, -1)
	for _, at := range all {
		if at[1] > at[0] {
			dst = append(dst, span{at[0], at[1]})
		}
	}
	return dst
}

// literal is a matcher for a fixed string.
type literal string

func (m literal) find(dst []span, s string) []span {
	for at := 0; ; {
		i := strings.Index(s[at:], string(m))
		if i < 0 {
			return dst
		}
		dst = append(dst, span{at + i, at + i + len(m)})
		at += i + len(m)
	}
}

// each is a matcher for single characters that have a property.
type each struct {
	classes *classTable
	mask    uint32
}

func (m each) find(dst []span, s string) []span {
	for i := 0; i < len(s); {
		p, w := m.classes.at(s, i)
		if p&m.mask != 0 {
			dst = append(dst, span{i, i + w})
		}
		i += w
	}
	return dst
}

// newRegex returns the matcher of a pattern: a hand-written scanner for the
// well-known ones, else regexp2. isGeneric tells which. Patterns that mean
// something else to the reference's engine (Oniguruma) are refused.
func newRegex(pattern string) (m matcher, isGeneric bool, err error) {
	for _, k := range knownPatterns {
		if k.pattern == pattern {
			return scanner{classes(), k.scan}, false, nil
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

// classMasks are the class escapes that expandClasses knows.
var classMasks = []struct {
	escape string
	mask   uint32
	want   bool
}{
	{`\p{Lu}`, propLu, true}, {`\p{Ll}`, propLl, true}, {`\p{Lt}`, propLt, true},
	{`\p{Lm}`, propLm, true}, {`\p{Lo}`, propLo, true}, {`\p{L}`, propL, true},
	{`\p{M}`, propM, true}, {`\p{N}`, propN, true}, {`\p{P}`, propP, true}, {`\p{S}`, propS, true},
	{`\P{L}`, propL, false}, {`\P{M}`, propM, false}, {`\P{N}`, propN, false},
	{`\P{P}`, propP, false}, {`\P{S}`, propS, false},
	{`\s`, propSpace, true}, {`\S`, propSpace, false},
	{`\w`, propRegexWord, true}, {`\W`, propRegexWord, false},
	{`\d`, propRegexDigit, true}, {`\D`, propRegexDigit, false},
}

// expandClasses writes the class escapes of a pattern as explicit ranges, so
// that they mean what they mean to the reference whatever Unicode version
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
		classes().ranges(k.mask, k.want, func(first, last rune) {
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
