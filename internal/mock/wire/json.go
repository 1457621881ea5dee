package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// JSON appends the encoding of v by package json, without its escapes for HTML.
func JSON(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a response: %v", err)) // all are of types that can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
