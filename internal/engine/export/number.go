package export

import (
	"math"
	"strconv"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// appendFloat writes a finite number as Python prints it: the shortest text that
// gives v back, with a decimal point or an exponent.
func appendFloat(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	if v >= 1e-4 && v < micros {
		if n := math.Round(v * 1e6); n/1e6 == v {
			return appendMicros(b, uint64(n))
		}
	}
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if v == math.Trunc(v) {
		b = append(b, ".0"...)
	}
	return b
}

// micros is where six decimals are the last of fifteen digits: below it a number
// that is n millionths is written as those digits, which are the only ones of
// their length that mean it. Nearly all our numbers are whole nanoseconds in
// milliseconds.
const micros = 1e9

// appendMicros appends n millionths, without zeros at the end but for one.
func appendMicros(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n/1e6, 10)
	rest := n % 1e6
	b = append(b, '.')
	for unit := uint64(1e5); ; unit /= 10 {
		b = append(b, '0'+byte(rest/unit))
		if rest %= unit; rest == 0 {
			return b
		}
	}
}

// finite reports whether a number can be written to JSON.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// appendText writes a JSON string without HTML escaping.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEscaped is appendText for text that needs care.
func appendEscaped(b []byte, s string) []byte {
	data, err := plainjson.Marshal(s)
	if err != nil {
		return append(b, `""`...) // cannot happen: every string can be encoded
	}
	return append(b, data...)
}

// decimal formats a number for a CSV file with the given number of decimals. Without
// one, it has two decimals, and if it is below 1 as many as four significant digits
// need, without zeros at the end.
func decimal(v float64, digits *int) string {
	if digits != nil {
		return strconv.FormatFloat(v, 'f', *digits, 64)
	}
	a := math.Abs(v)
	if a == 0 || a >= 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	if a < 1e-9 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	text := strconv.FormatFloat(v, 'f', 3-int(math.Floor(math.Log10(a))), 64)
	for dot := strings.IndexByte(text, '.'); len(text) > dot+3 && text[len(text)-1] == '0'; {
		text = text[:len(text)-1]
	}
	return text
}
