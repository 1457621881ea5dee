package redact

import (
	"bytes"
	"encoding/hex"
	"html"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"aiperfd/internal/view"
)

// maxLevels is how many escapings, one around the other, are undone in a text: for example JSON in
// JSON in a query.
const maxLevels = 4

// wall stands for a placeholder in the text of a layer; no character begins with it.
const wall = 0xff

// layer is a text with none or more escapings undone, folded. Its memory is used again and again.
type layer struct {
	text  []byte
	at    []origin   // what each byte of text stands for in the source
	folds *[256]byte // see [foldTable]
}

// origin is a range of bytes of the source.
type origin struct{ from, to int32 }

// load makes l the layer of a source.
func (l *layer) load(source string) {
	l.text = append(l.text[:0], source...)
	l.at = slices.Grow(l.at[:0], len(source))[:len(source)]
	for i := range l.at {
		l.at[i] = origin{int32(i), int32(i + 1)}
	}
	l.fold(false)
}

// folded returns a text as it stands in a layer.
func folded(text string) string {
	l := layer{folds: foldTable()}
	l.load(text)
	return string(l.text)
}

// unclear marks the bytes of which the next ones decide what becomes of them.
const unclear = 0xfe

// foldTable returns what folding makes of each byte; 0 is nothing.
func foldTable() *[256]byte {
	var out [256]byte
	for c := range out {
		switch {
		case c == '<' || c >= utf8.RuneSelf:
			out[c] = unclear
		case c > ' ' && c != '+' && c != 0x7f:
			out[c] = lower(byte(c))
		}
	}
	return &out
}

// fold removes blanks, line breaks, plus signs and invisible characters, and makes letters small: servers break lines, readers of a query make blanks of plus signs, and programs remove
// what cannot be seen. Placeholders become walls; a text that was folded before may have some.
func (l *layer) fold(again bool) {
	n := 0
	for i := 0; i < len(l.text); i++ {
		c, at := l.text[i], l.at[i]
		if folded := l.folds[c]; folded != unclear {
			l.text[n], l.at[n] = folded, at
			n += int(min(folded, 1))
			continue
		}
		size := 1
		switch {
		case c == '<' && bytes.HasPrefix(l.text[i:], []byte(Placeholder)):
			size = len(Placeholder)
			l.text[n], l.at[n] = wall, origin{at.from, l.at[i+size-1].to}
			n++
		case c == '<' || c == wall && again:
			l.text[n], l.at[n] = c, at
			n++
		default:
			var r rune
			if r, size = utf8.DecodeRune(l.text[i:]); !view.Invisible(r) {
				if small := unicode.ToLower(r); utf8.RuneLen(small) == size {
					utf8.EncodeRune(l.text[i:], small)
				}
				copy(l.at[n:], l.at[i:i+size])
				n += copy(l.text[n:], l.text[i:i+size])
			}
		}
		i += size - 1
	}
	l.text, l.at = l.text[:n], l.at[:n]
}

// unescape makes l what undoing one level of percent-encoding, backslashes of JSON and entities of
// HTML makes of another layer. It reports whether that changes anything.
func (l *layer) unescape(from *layer) (changed bool) {
	l.text, l.at = l.text[:0], l.at[:0]
	for i := 0; i < len(from.text); {
		c, n := escape(from.text[i:])
		if n == 0 {
			end := i + 1
			for end < len(from.text) && !isMark(from.text[end]) {
				end++
			}
			l.text, l.at = append(l.text, from.text[i:end]...), append(l.at, from.at[i:end]...)
			i = end
			continue
		}
		if c < 0 { // one byte, possibly of a longer character
			l.text = append(l.text, byte(^c))
		} else {
			l.text = utf8.AppendRune(l.text, c)
		}
		for len(l.at) < len(l.text) {
			l.at = append(l.at, origin{from.at[i].from, from.at[i+n-1].to})
		}
		i, changed = i+n, true
	}
	l.fold(true)
	return changed
}

// isMark reports whether c may begin an escape.
func isMark(c byte) bool { return c == '%' || c == '\\' || c == '&' }

// longestEscape is the length of the longest escape: \ud83d\ude00.
const longestEscape = 12

// escape reads the escape at the start of folded text. It returns a character, or ^b for a byte b,
// and the length of the escape, 0 if there is none.
func escape(s []byte) (c rune, n int) {
	switch {
	case s[0] == '%':
		if c, ok := hexDigits(s[1:], 2); ok {
			return ^c, len("%41")
		}
	case s[0] == '&':
		return entity(s)
	case s[0] != '\\' || len(s) == 1:
	case s[1] == 'x':
		if c, ok := hexDigits(s[2:], 2); ok {
			return ^c, len(`\x41`)
		}
	case s[1] == 'u':
		return unicodeEscape(s)
	case bytes.IndexByte([]byte(`"\/'`), s[1]) >= 0:
		return rune(s[1]), 2
	case bytes.IndexByte([]byte("nrtabfv"), s[1]) >= 0:
		return ' ', 2 // which is which does not matter: they are folded
	}
	return 0, 0
}

// hexDigits reads two or four hexadecimal digits.
func hexDigits(s []byte, digits int) (value rune, ok bool) {
	var b [2]byte
	if len(s) < digits {
		return 0, false
	}
	if _, err := hex.Decode(b[len(b)-digits/2:], s[:digits]); err != nil {
		return 0, false
	}
	return rune(b[0])<<8 | rune(b[1]), true
}

// unicodeEscape reads \uXXXX, or two of them that make one character.
func unicodeEscape(s []byte) (c rune, n int) {
	const one = len(`\u0041`)
	c, ok := hexDigits(s[2:], 4)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(c) && bytes.HasPrefix(s[one:], []byte(`\u`)) {
		low, _ := hexDigits(s[one+2:], 4)
		if both := utf16.DecodeRune(c, low); both != utf8.RuneError {
			return both, 2 * one
		}
	}
	return c, one
}

// entity reads an entity of HTML.
func entity(s []byte) (c rune, n int) {
	end := bytes.IndexByte(s[:min(len(s), len("&#x10ffff;"))], ';')
	plain := html.UnescapeString(string(s[:end+1]))
	c, size := utf8.DecodeRuneInString(plain)
	if size != len(plain) || size == 0 {
		return 0, 0
	}
	return c, end + 1
}
