package answer

import (
	"strconv"

	"aiperfd/internal/engine/eventlog"
)

// countNumbers appends a JSON document in which every non-empty list of numbers is
// replaced by a list of one number: its length. Responses with vectors consist almost
// entirely of numbers that nothing reads, so they are counted here and never become
// values. A list at the root is not replaced, nor is anything that is not JSON.
func countNumbers(dst, data []byte) []byte {
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
				if n, size := numberList(data[i:]); n > 0 {
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

// numberList parses the list at the start of data. It returns how many numbers the
// list contains, and its length in bytes; 0 if it is empty or contains anything else.
func numberList(data []byte) (n, size int) {
	i := 1
	for {
		i += spaceLength(data[i:])
		length := eventlog.NumberLength(data[i:])
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
