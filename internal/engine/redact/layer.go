package redact

import (
	"html"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// layer is a text with one or more escapings undone. Byte i of it is what the source holds in
// [start(i), start(i+1)).
type layer struct {
	text string
	at   []int32 // len(text)+1 offsets in the source, ascending; nil: it is the source
}

// start returns where the source of byte i begins.
func (l layer) start(i int) int {
	if l.at == nil {
		return i
	}
	return int(l.at[i])
}

// buffer is the memory of one layer, used again and again.
type buffer struct {
	text []byte
	at   []int32
}

// layer returns what was written, whose source ends at end. It is valid until the buffer is used
// again.
func (b *buffer) layer(end int) layer {
	b.at = append(b.at, int32(end))
	// The string shares b's memory; it must not be used after that.
	return layer{text: unsafe.String(unsafe.SliceData(b.text), len(b.text)), at: b.at}
}

// unescape undoes one level of percent-encoding, JSON's and Python's
// backslashes, and HTML's entities. An escape that the end of the text cuts
// short is left out. ok is false if that changes nothing.
func (b *buffer) unescape(l layer) (out layer, ok bool) {
	i := firstEscape(l.text)
	if i == len(l.text) {
		return layer{}, false
	}
	b.text, b.at = b.text[:0], b.at[:0]
	b.copy(l, 0, i)
	for i < len(l.text) {
		c, n := escape(l.text[i:])
		switch {
		case n < 0:
			return b.layer(l.start(i)), true
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
	return b.layer(l.start(i)), ok
}

// copy appends l.text[from:to] as it is.
func (b *buffer) copy(l layer, from, to int) {
	b.text = append(b.text, l.text[from:to]...)
	for i := from; i < to; i++ {
		b.at = append(b.at, int32(l.start(i)))
	}
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
	switch s[1] {
	case '"', '\\', '/', '\'':
		return rune(s[1]), 2
	case 'n', 'r', 't', 'a', 'b', 'f', 'v': // which is which does not matter: they are squeezed out
		return '\n', 2
	}
	return 0, 0
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

// entity reads an entity of HTML.
func entity(s string) (c rune, n int) {
	const most = len("&#x10ffff;")
	end := strings.IndexByte(s[:min(len(s), most)], ';')
	if end < 0 {
		if len(s) < most && !strings.ContainsFunc(s[1:], func(r rune) bool { return r != '#' && !isAlnum(byte(r)) }) {
			return 0, -1
		}
		return 0, 0
	}
	plain := html.UnescapeString(s[:end+1])
	c, size := utf8.DecodeRuneInString(plain)
	if size != len(plain) || end == 0 {
		return 0, 0
	}
	return c, end + 1
}
