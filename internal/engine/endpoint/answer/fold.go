package answer

import "strconv"

// appendFolded appends a JSON document with every list that holds nothing but
// numbers replaced by a list of one number: how many they were. Answers made of
// vectors are nearly all numbers, and nobody looks at them, so they are counted
// here instead of becoming values. A list at the root stays as it is, and so does
// anything that is not JSON.
func appendFolded(dst, data []byte) []byte {
	depth, start := 0, 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			i += stringLength(data[i:])
			continue
		case '{':
			depth++
		case '}', ']':
			depth--
		case '[':
			if depth > 0 {
				if n, size := countNumbers(data[i:]); n > 0 {
					dst = append(append(dst, data[start:i]...), '[')
					dst = append(strconv.AppendInt(dst, int64(n), 10), ']')
					i += size
					start = i
					continue
				}
			}
			depth++
		}
		i++
	}
	return append(dst, data[start:]...)
}

// countNumbers reads the list at the start of data. It returns how many numbers it
// holds, and its length in bytes; 0 if it is empty or holds anything else.
func countNumbers(data []byte) (n, size int) {
	i := 1
	for {
		i += spaceLength(data[i:])
		length := numberLength(data[i:])
		if length == 0 {
			return 0, 0
		}
		n++
		i += length
		i += spaceLength(data[i:])
		switch {
		case i >= len(data):
			return 0, 0
		case data[i] == ',':
			i++
		case data[i] == ']':
			return n, i + 1
		default:
			return 0, 0
		}
	}
}

func spaceLength(data []byte) int {
	i := 0
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// numberLength returns the length of the JSON number (RFC 8259, section 6) at the
// start of data; 0 = there is none.
func numberLength(data []byte) int {
	i := 0
	if i < len(data) && data[i] == '-' {
		i++
	}
	whole := digitsLength(data[i:])
	if whole == 0 || whole > 1 && data[i] == '0' {
		return 0
	}
	i += whole
	if i < len(data) && data[i] == '.' {
		n := digitsLength(data[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		n := digitsLength(data[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digitsLength(data []byte) int {
	i := 0
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}
