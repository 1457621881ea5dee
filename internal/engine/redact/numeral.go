package redact

import "strings"

// numeral is a way to write bytes as digits of a power of two.
type numeral struct {
	digits [256]int8 // the value of each digit; -1 = none
	bits   int       // of a digit
	starts int       // digits at which the first byte may begin
}

// numerals returns base64 in both alphabets of RFC 4648, and hexadecimal numbers.
func numerals() [2]numeral {
	base64 := newNumeral(6, 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
	base64.digits['-'], base64.digits['_'] = 62, 63
	hex := newNumeral(4, 2, "0123456789abcdef")
	for c := 'A'; c <= 'F'; c++ {
		hex.digits[c] = int8(c - 'A' + 10)
	}
	return [2]numeral{base64, hex}
}

func newNumeral(bits, starts int, digits string) numeral {
	n := numeral{bits: bits, starts: starts}
	for c := range n.digits {
		n.digits[c] = -1
	}
	for value, c := range []byte(digits) {
		n.digits[c] = int8(value)
	}
	return n
}

// length returns how many digits so many bytes take at least.
func (n *numeral) length(bytes int) int { return (bytes*8 + n.bits - 1) / n.bits }

// begin returns where the digits at the end of text begin.
func (n *numeral) begin(text string) int {
	i := len(text)
	for i > 0 && n.digits[text[i-1]] >= 0 {
		i--
	}
	return i
}

// end returns where the digits at i end.
func (n *numeral) end(text string, i int) int {
	for i < len(text) && n.digits[text[i]] >= 0 {
		i++
	}
	return i
}

// run returns the first run of at least so many digits that ends behind from;
// it is empty if there is none.
func (n *numeral) run(text string, from, least int) span {
	// A run that is long enough has a digit at one of these places.
	for i := from + least - 1; i < len(text); i += least {
		if n.digits[text[i]] < 0 {
			continue
		}
		begin, end := from+n.begin(text[from:i]), n.end(text, i)
		if end-begin >= least {
			return span{begin, end}
		}
		i = end
	}
	return span{}
}

// decode decodes the digits at a place of a layer.
func (b *buffer) decode(l layer, run span, n *numeral) layer {
	b.reset()
	var value uint32
	bits := 0
	for i := run.from; i < run.to; i++ {
		value = value<<n.bits | uint32(n.digits[l.text[i]])
		bits += n.bits
		if bits >= 8 {
			// The digit that a byte shares with the one before it is a part of both.
			bits -= 8
			b.text = append(b.text, byte(value>>bits))
			b.at = append(b.at, int32(l.start(i-1)))
			if l.joined {
				b.until = append(b.until, int32(l.end(i+1)))
			}
		}
	}
	end := run.to + len(padding(l.text[run.to:]))
	out := b.layer(l.end(end), l.tail && end == len(l.text))
	out.decoded = true
	if n := len(b.until); n > 0 {
		if end > run.to {
			b.until[n-1] = int32(l.end(end))
		}
		out.until = b.until
	}
	return out
}

// padding returns the padding of base64 at the start of a text.
func padding(text string) string {
	return text[:len(text)-len(strings.TrimPrefix(strings.TrimPrefix(text, "="), "="))]
}
