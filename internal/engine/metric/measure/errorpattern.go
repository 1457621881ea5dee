package measure

import "strings"

// maxPattern bounds the part of a message that a pattern is made of, in bytes.
const maxPattern = 512

// ErrorPattern returns the common part of messages that differ only in numbers and
// identifiers: UUIDs become <uuid>, long hexadecimal words <hex>, long words of
// letters and digits <id>, and other numbers <n>; white space becomes one blank.
func ErrorPattern(message string) string {
	if len(message) > maxPattern {
		message = strings.ToValidUTF8(message[:maxPattern], "")
	}
	var b strings.Builder
	b.Grow(len(message))
	for i := 0; i < len(message); {
		switch c := message[i]; {
		case isWord(c):
			end := i + 1
			for end < len(message) && isWord(message[end]) {
				end++
			}
			writeWord(&b, message[i:end])
			i = end
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if s := b.String(); s != "" && s[len(s)-1] != ' ' {
				b.WriteByte(' ')
			}
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// writeWord writes one run of letters, digits, hyphens and underscores.
func writeWord(b *strings.Builder, w string) {
	if isUUID(w) {
		b.WriteString("<uuid>")
		return
	}
	for w != "" {
		end := strings.IndexAny(w, "-_")
		if end == 0 {
			b.WriteByte(w[0])
			w = w[1:]
			continue
		}
		if end < 0 {
			end = len(w)
		}
		writePart(b, w[:end])
		w = w[end:]
	}
}

// writePart writes one run of letters and digits.
func writePart(b *strings.Builder, w string) {
	digits, hex := 0, true
	for i := range len(w) {
		if isDigit(w[i]) {
			digits++
		}
		hex = hex && isHex(w[i])
	}
	switch {
	case digits == len(w):
		writeNumber(b)
	case digits == 0:
		b.WriteString(w)
	case hex && len(w) >= 8:
		b.WriteString("<hex>")
	case len(w) >= 16:
		b.WriteString("<id>")
	default:
		writeMixed(b, w)
	}
}

// writeMixed writes a short word with its digits replaced.
func writeMixed(b *strings.Builder, w string) {
	for i := 0; i < len(w); i++ {
		if !isDigit(w[i]) {
			b.WriteByte(w[i])
			continue
		}
		if i == 0 || !isDigit(w[i-1]) {
			writeNumber(b)
		}
	}
}

// writeNumber writes <n>, and joins it with a number before a decimal point.
func writeNumber(b *strings.Builder) {
	if s := b.String(); strings.HasSuffix(s, "<n>.") {
		b.Reset()
		b.WriteString(strings.TrimSuffix(s, "."))
		return
	}
	b.WriteString("<n>")
}

// isUUID reports whether w is of the form 8-4-4-4-12.
func isUUID(w string) bool {
	if len(w) != 36 {
		return false
	}
	for i := range len(w) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if w[i] != '-' {
				return false
			}
		} else if !isHex(w[i]) {
			return false
		}
	}
	return true
}

// isWord reports whether c can be part of an identifier.
func isWord(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// isAlnum reports whether c is an ASCII letter or digit.
func isAlnum(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// isHex reports whether c is a hexadecimal digit.
func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isDigit reports whether c is a decimal digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
