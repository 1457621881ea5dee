package redact

import (
	"bytes"
	"encoding/json"

	"aiperfd/internal/engine/plainjson"
)

// JSON takes exact secrets out of the strings of a JSON document. Numbers
// and structure stay as they are, whatever a secret looks like, so that the
// result is a JSON document too. It returns data itself where it holds no
// secret.
func (s *Set) JSON(data []byte) []byte {
	if whole := string(data); s.Exact(whole) == whole && bytes.IndexByte(data, '\\') < 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		if data[i] != '"' {
			out = append(out, data[i])
			i++
			continue
		}
		end := stringEnd(data, i)
		out = append(out, s.literal(data[i:end])...)
		i = end
	}
	return out
}

// stringEnd returns the index after the string literal that begins at i.
func stringEnd[T string | []byte](data T, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// literal takes secrets out of one string literal, quotes included.
func (s *Set) literal(literal []byte) []byte {
	text := string(bytes.Trim(literal, `"`))
	if bytes.IndexByte(literal, '\\') >= 0 && json.Unmarshal(literal, &text) != nil {
		return literal // not a whole literal
	}
	clean := s.Exact(text)
	if clean == text {
		return literal
	}
	out, err := plainjson.Marshal(clean)
	if err != nil {
		return []byte(`""`) // cannot happen: every string can be encoded
	}
	return out
}
