// Package jsonappend appends JSON values to byte slices.
package jsonappend

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Inner appends s escaped for a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD;
// HTML characters are not escaped.
func Inner(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// String appends s as a JSON string with its quotes.
func String(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = Inner(dst, s)
	return append(dst, '"')
}

// Floats appends numbers as a JSON list.
func Floats(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, f := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(f), 'g', -1, 32)
	}
	return append(dst, ']')
}

// Ints appends numbers as a JSON list.
func Ints(dst []byte, ids []int) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}

// Strings appends texts as a JSON list.
func Strings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, text)
	}
	return append(dst, ']')
}

// Number appends a number in its shortest form.
func Number(dst []byte, f float64) []byte { return strconv.AppendFloat(dst, f, 'g', -1, 64) }
