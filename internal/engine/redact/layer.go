package redact

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// layer is a text with one or more encodings undone. Byte i of it is what the
// source holds in [start(i), end(i+1)).
type layer struct {
	text    string
	at      []int32 // len(text)+1 offsets in the source, ascending; nil: it is the source
	until   []int32 // where the source of each byte ends; nil: where that of the next begins
	tail    bool    // it reaches the end of the source
	decoded bool    // from digits
	joined  bool    // without line breaks
}

// start returns where the source of byte i begins.
func (l layer) start(i int) int {
	if l.at == nil {
		return i
	}
	return int(l.at[i])
}

// end returns where the source of the bytes in front of i ends.
func (l layer) end(i int) int {
	if l.until == nil || i == 0 {
		return l.start(i)
	}
	return int(l.until[i-1])
}

// buffer is the memory of one layer, used again and again.
type buffer struct {
	text  []byte
	at    []int32
	until []int32 // of joined layers
}

func (b *buffer) reset() { b.text, b.at, b.until = b.text[:0], b.at[:0], b.until[:0] }

// layer returns what was written, whose source ends at end. It is valid until
// the buffer is reset.
func (b *buffer) layer(end int, tail bool) layer {
	b.at = append(b.at, int32(end))
	// The string shares b's memory; it must not be used after the next reset.
	return layer{text: unsafe.String(unsafe.SliceData(b.text), len(b.text)), at: b.at, tail: tail}
}

// unescape undoes one level of percent-encoding, JSON's and Python's
// backslashes, and HTML's entities. An escape that the end of the text cuts
// short is left out. ok is false if that changes nothing.
func (b *buffer) unescape(l layer) (out layer, ok bool) {
	i := firstEscape(l.text)
	if i == len(l.text) {
		return layer{}, false
	}
	b.reset()
	b.copy(l, 0, i)
	for i < len(l.text) {
		c, n := escape(l.text[i:])
		switch {
		case n < 0:
			return b.layer(l.start(i), l.tail), ok || l.tail
		case n == 0:
			end := i + 1
			for end < len(l.text) && l.text[end] != '%' && l.text[end] != '\\' && l.text[end] != '&' {
				end++
			}
			b.copy(l, i, end)
			i = end
			continue
		case c < 0: // one byte, possibly of a longer character
			b.text = append(b.text, byte(^c))
		default:
			b.text = utf8.AppendRune(b.text, c)
		}
		for len(b.at) < len(b.text) {
			b.at = append(b.at, int32(l.start(i)))
		}
		i, ok = i+n, true
	}
	return b.layer(l.start(i), l.tail), ok
}

// copy appends l.text[from:to] as it is.
func (b *buffer) copy(l layer, from, to int) {
	b.text = append(b.text, l.text[from:to]...)
	for i := from; i < to; i++ {
		b.at = append(b.at, int32(l.start(i)))
	}
}

// join removes the breaks from a part of a layer, and the blanks behind them.
func (b *buffer) join(l layer, part span, length breaks) layer {
	b.reset()
	for done := part.from; done < part.to; {
		at := done
		for at < part.to && length(l.text[at:]) == 0 {
			at++
		}
		b.copy(l, done, at)
		for ; done < at; done++ {
			b.until = append(b.until, int32(l.end(done+1)))
		}
		done = skipBreaks(l.text, at, length)
	}
	out := b.layer(l.start(part.to), l.tail && part.to == len(l.text))
	out.until, out.joined, out.decoded = b.until, true, l.decoded
	return out
}

// breaks returns the length of the break at the start of a text, or 0.
type breaks func(s string) int

// hasBreak reports whether s has a line break. It is quick.
func hasBreak(s string) bool {
	return strings.IndexByte(s, '\n') >= 0 || strings.IndexByte(s, '\r') >= 0 ||
		strings.Contains(s, `\n`) || strings.Contains(s, `\r`)
}

// skipBreaks returns the index behind the breaks at i, and behind the blanks that follow
// each.
func skipBreaks(s string, i int, length breaks) int {
	for i < len(s) && length(s[i:]) > 0 {
		i = skipBlanks(s, i+length(s[i:]))
	}
	return i
}

// spaceLength is that of a line break or a blank, which takes the place of line breaks
// in headers and messages.
func spaceLength(s string) int {
	if s[0] == ' ' || s[0] == '\t' {
		return 1
	}
	return breakLength(s)
}

// breakLength is the length of the line break at the start of s, written as such or as \n.
func breakLength(s string) int {
	switch {
	case s[0] == '\n' || s[0] == '\r':
		return 1
	case s[0] == '\\' && len(s) > 1 && (s[1] == 'n' || s[1] == 'r'):
		return 2
	}
	return 0
}

// firstEscape is the index of the first byte that may begin an escape, or the
// length of s.
func firstEscape(s string) int {
	for _, c := range [...]byte{'%', '\\', '&'} {
		if i := strings.IndexByte(s, c); i >= 0 {
			s = s[:i]
		}
	}
	return len(s)
}

// escape reads the escape at the start of s. It returns a character, or ^b for
// a byte b, and the length of the escape: 0 if there is none, -1 if s ends
// before it does.
func escape(s string) (c rune, n int) {
	switch {
	case s[0] == '%':
		mark := 1
		for strings.HasPrefix(s[mark:], "25") { // an escaped mark: all levels at once
			if _, n := hexDigits(s, mark+2, 2); n == 0 {
				break
			}
			mark += 2
		}
		return hexEscape(s, mark, 2)
	case s[0] == '&':
		return entity(s)
	case s[0] != '\\':
		return 0, 0
	case len(s) == 1:
		return 0, -1
	}
	switch s[1] {
	case 'x', 'X':
		return hexEscape(s, 2, 2)
	case 'U':
		if c, n := hexDigits(s, 2, 8); n > 0 {
			return c, n
		}
		return unicodeEscape(s)
	case 'u':
		return unicodeEscape(s)
	}
	if s[1] == '"' || s[1] == '\\' || s[1] == '/' || s[1] == '\'' {
		return rune(s[1]), 2
	}
	return 0, 0 // \n may also be a backslash in front of a word; see [forms]
}

// hexEscape reads one byte in digits hexadecimal digits behind a mark.
func hexEscape(s string, mark, digits int) (c rune, n int) {
	value, n := hexDigits(s, mark, digits)
	return ^value, n
}

// hexDigits reads hexadecimal digits behind a mark and returns the length of
// both, 0 if they are none, or -1 if s ends before them.
func hexDigits(s string, mark, digits int) (value rune, n int) {
	for i := mark; i < mark+digits; i++ {
		if i >= len(s) {
			return 0, -1
		}
		c := lower(s[i])
		switch {
		case isDigit(c):
			value = value<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			value = value<<4 | rune(c-'a'+10)
		default:
			return 0, 0
		}
	}
	return value, mark + digits
}

// unicodeEscape reads \uXXXX, or two of them that make one character.
func unicodeEscape(s string) (c rune, n int) {
	high, n := hexDigits(s, 2, 4)
	if n <= 0 || high < 0xd800 || high > 0xdbff {
		return high, n
	}
	rest := s[n:]
	if rest == "" || rest == `\` {
		return 0, -1
	}
	if !strings.HasPrefix(rest, `\u`) && !strings.HasPrefix(rest, `\U`) {
		return utf8.RuneError, n
	}
	low, m := hexDigits(rest, 2, 4)
	switch {
	case m < 0:
		return 0, -1
	case low < 0xdc00 || low > 0xdfff:
		return utf8.RuneError, n
	}
	return 0x10000 + (high-0xd800)<<10 + (low - 0xdc00), n + m
}

// entity reads an entity of the characters that HTML and XML escape.
func entity(s string) (c rune, n int) {
	for _, known := range [...]struct {
		name string
		c    rune
	}{{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}} {
		n := min(len(s), len(known.name))
		switch {
		case !strings.EqualFold(s[:n], known.name[:n]):
		case n < len(known.name):
			return 0, -1
		default:
			return known.c, n
		}
	}
	if len(s) > 1 && s[1] == '#' {
		return numericEntity(s)
	}
	return 0, 0
}

// numericEntity reads &#34; or &#x22;.
func numericEntity(s string) (c rune, n int) {
	const most = len("&#x10ffff")
	base, i := rune(10), len("&#")
	if i < len(s) && lower(s[i]) == 'x' {
		base, i = 16, i+1
	}
	for first := i; i < len(s) && i <= most; i++ {
		digit, ok := hexDigits(s[i:], 0, 1)
		switch {
		case s[i] == ';' && i > first:
			return c, i + 1
		case ok == 0 || digit >= base:
			return 0, 0
		}
		c = c*base + digit
	}
	if i == len(s) {
		return 0, -1
	}
	return 0, 0
}
