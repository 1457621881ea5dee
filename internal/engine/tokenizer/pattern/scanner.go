package pattern

import (
	"strings"
)

// Span is a match inside a piece, in bytes.
type Span struct{ Start, End int }

// A Matcher finds the non-overlapping, non-empty matches of a pattern, in
// order. It is immutable, so it is safe for concurrent use.
type Matcher interface {
	Find(dst []Span, s string) []Span
}

// Func returns the end of the match that begins at s[i], or i if none begins there.
type Func func(c *Table, s string, i int) int

// Scanner is a hand-written matcher for one well-known pattern. Make one with
// [NewScanner].
type Scanner struct {
	Classes *Table
	Scan    Func
}

// NewScanner returns the matcher of a function, with the reference implementation's
// classes.
func NewScanner(f Func) Scanner { return Scanner{Reference(), f} }

// Find implements [Matcher].
func (m Scanner) Find(dst []Span, s string) []Span {
	for i := 0; i < len(s); {
		end := m.Scan(m.Classes, s, i)
		if end > i {
			dst = append(dst, Span{i, end})
			i = end
			continue
		}
		_, w := m.Classes.At(s, i)
		i += w
	}
	return dst
}

// knownPatterns are the patterns of well-known vocabularies, as they stand in
// tokenizer.json, with the scanner that does the same work.
var knownPatterns = []struct {
	pattern string
	scan    Func
}{
	{gpt2Pattern, ScanGPT2},
	// cl100k in tokenizer.json form: Llama 3, GLM 4, converted GPT-4.
	{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, words{PropL, 3}.scan},
	// Qwen 2 and 3: single digits.
	{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, words{PropL, 1}.scan},
	// Qwen 3.5: marks count as letters.
	{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, words{PropL | PropM, 1}.scan},
	// o200k: GPT-4o, gpt-oss, Llama 4.
	{`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`, casedWords{3, true}.scan},
	// Mistral's tekken: o200k with single digits and without contractions.
	{`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`, casedWords{1, false}.scan},
	// The three steps of DeepSeek V3.
	{`\p{N}{1,3}`, scanDigits3},
	{`[一-龥぀-ゟ゠-ヿ]+`, scanHanKana},
	{"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+", scanDeepSeek},
}

// gpt2Pattern is the pattern of a ByteLevel pre-tokenizer with use_regex.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// contraction returns the length of an English contraction ('s, 't, 're, 've,
// 'm, 'll, 'd) at s[i], or 0. With fold set case does not matter, and U+017F,
// which folds to s, counts as s.
func contraction(s string, i int, fold bool) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	letter := func(j int) byte {
		if j >= len(s) {
			return 0
		}
		if fold && s[j] >= 'A' && s[j] <= 'Z' {
			return s[j] | 0x20
		}
		return s[j]
	}
	switch letter(i + 1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if letter(i+2) == 'e' {
			return 3
		}
	case 'l':
		if letter(i+2) == 'l' {
			return 3
		}
	}
	if fold && strings.HasPrefix(s[i+1:], "\u017f") {
		return 3
	}
	return 0
}

// digits returns the end of a run of at most limit numbers at s[i].
func digits(c *Table, s string, i, limit int) int {
	for range limit {
		p, w := c.At(s, i)
		if p&PropN == 0 {
			break
		}
		i += w
	}
	return i
}

func newlines(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// trailingSpace matches \s+(?!\S)|\s+ at s[i]: a run of white space leaves its
// last character to the word that follows, if it has more than one.
func trailingSpace(c *Table, s string, i int) int {
	last, end := i, i
	for end < len(s) {
		p, w := c.At(s, end)
		if p&PropSpace == 0 {
			break
		}
		last = end
		end += w
	}
	if end < len(s) && last > i {
		return last
	}
	return end
}

// space matches \s*[\r\n]+|\s+(?!\S)|\s+ at s[i].
func space(c *Table, s string, i int) int {
	newline := i
	for end := i; end < len(s); {
		p, w := c.At(s, end)
		if p&PropSpace == 0 {
			break
		}
		if s[end] == '\r' || s[end] == '\n' {
			newline = end + 1
		}
		end += w
	}
	if newline > i {
		return newline
	}
	return trailingSpace(c, s, i)
}

// ScanCL100k is the [Func] of cl100k_base.
func ScanCL100k(c *Table, s string, i int) int { return words{PropL, 3}.scan(c, s, i) }

// ScanO200k is the [Func] of o200k_base.
func ScanO200k(c *Table, s string, i int) int { return casedWords{3, true}.scan(c, s, i) }

// ScanGPT2 is the [Func] of GPT-2, r50k_base and p50k_base.
func ScanGPT2(c *Table, s string, i int) int {
	if n := contraction(s, i, false); n > 0 {
		return i + n
	}
	start := i
	if s[i] == ' ' && i+1 < len(s) {
		start++
	}
	p, _ := c.At(s, start)
	switch {
	case p&PropSpace != 0:
		return trailingSpace(c, s, i)
	case p&PropL != 0:
		return c.Run(s, start, PropL)
	case p&PropN != 0:
		return c.Run(s, start, PropN)
	}
	return c.RunNot(s, start, PropSpace|PropL|PropN)
}

// words is the cl100k family: (?i:contraction) | [^\r\n L N]? letters+ |
// N{1,digits} | ?[^\s letters N]+[\r\n]* | white space.
type words struct {
	letters uint32
	digits  int
}

func (k words) scan(c *Table, s string, i int) int {
	if n := contraction(s, i, true); n > 0 {
		return i + n
	}
	p, w := c.At(s, i)
	if p&k.letters != 0 {
		return c.Run(s, i+w, k.letters)
	}
	if p&PropN != 0 {
		return digits(c, s, i, k.digits)
	}
	after, _ := c.At(s, i+w)
	if after&k.letters != 0 && s[i] != '\r' && s[i] != '\n' {
		return c.Run(s, i+w, k.letters)
	}
	other := PropSpace | k.letters | PropN
	if p&other == 0 {
		return newlines(s, c.RunNot(s, i+w, other))
	}
	if s[i] == ' ' && i+1 < len(s) && after&other == 0 {
		return newlines(s, c.RunNot(s, i+1, other))
	}
	return space(c, s, i)
}

// casedwords is the o200k family, in which a word is upper-case letters
// followed by lower-case ones.
type casedWords struct {
	digits      int
	contraction bool
}

func (k casedWords) scan(c *Table, s string, i int) int {
	if end := k.word(c, s, i); end > i {
		if k.contraction {
			end += contraction(s, end, true)
		}
		return end
	}
	p, w := c.At(s, i)
	if p&PropN != 0 {
		return digits(c, s, i, k.digits)
	}
	other := PropSpace | PropL | PropN
	start := i
	if s[i] == ' ' {
		start, w = i+1, 0
		p, _ = c.At(s, start)
	}
	if start < len(s) && p&other == 0 {
		end := c.RunNot(s, start+w, other)
		for end < len(s) && (s[end] == '\r' || s[end] == '\n' || s[end] == '/') {
			end++
		}
		return end
	}
	return space(c, s, i)
}

// word matches [^\r\n L N]?U*l+ | [^\r\n L N]?U+l*, where U is [Lu Lt Lm Lo M]
// and l is [Ll Lm Lo M], and returns i if neither matches.
func (k casedWords) word(c *Table, s string, i int) int {
	p, w := c.At(s, i)
	start := i
	if p&(PropL|PropN) == 0 && s[i] != '\r' && s[i] != '\n' {
		start += w
	}
	// both is the end of the last character of the U run that l may also have.
	end, both := start, -1
	for end < len(s) {
		p, w := c.At(s, end)
		if p&PropUpper == 0 {
			break
		}
		end += w
		if p&PropLower != 0 {
			both = end
		}
	}
	if lower := c.Run(s, end, PropLower); lower > end {
		return lower
	}
	if both >= 0 {
		return both // U* gives back what l+ needs
	}
	if start > i && p&PropM != 0 {
		return start // the optional first character gives itself back to l+
	}
	return end0(start, end, i)
}

// end0 is end if the run [start, end) is not empty, else none.
func end0(start, end, none int) int {
	if end > start {
		return end
	}
	return none
}

func scanDigits3(c *Table, s string, i int) int { return digits(c, s, i, 3) }

// scanHanKana matches [一-龥぀-ゟ゠-ヿ]+: U+4E00-9FA5 and U+3040-30FF.
func scanHanKana(_ *Table, s string, i int) int {
	for j, r := range s[i:] {
		if (r < 0x4E00 || r > 0x9FA5) && (r < 0x3040 || r > 0x30FF) {
			return i + j
		}
	}
	return len(s)
}

func asciiLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func scanDeepSeek(c *Table, s string, i int) int {
	const letters, symbols = PropL | PropM, PropP | PropS
	p, w := c.At(s, i)
	if s[i] < 0x80 && p&symbols != 0 && i+1 < len(s) && asciiLetter(s[i+1]) {
		end := i + 1
		for end < len(s) && asciiLetter(s[end]) {
			end++
		}
		return end
	}
	if p&letters != 0 {
		return c.Run(s, i+w, letters)
	}
	after, _ := c.At(s, i+w)
	if p&symbols == 0 && s[i] != '\r' && s[i] != '\n' && after&letters != 0 {
		return c.Run(s, i+w, letters)
	}
	if p&symbols != 0 {
		return newlines(s, c.Run(s, i+w, symbols))
	}
	if s[i] == ' ' && after&symbols != 0 {
		return newlines(s, c.Run(s, i+1, symbols))
	}
	if p&PropSpace != 0 {
		return space(c, s, i)
	}
	return i
}
