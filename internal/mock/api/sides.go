package api

import (
	"strconv"
)

// Side is one of the two sides of an answer.
type Side uint8

// The sides of an answer.
const (
	Reasoning Side = iota
	Text
)

// SideOf returns the side of a token of c.
func (c *Choice) SideOf(token int) Side {
	if token < c.Reasoning {
		return Reasoning
	}
	return Text
}

// AppendSide appends the reasoning or the answer, escaped for JSON.
func AppendSide(dst []byte, c *Choice, of Side) []byte {
	if of == Reasoning {
		return c.AppendTokens(dst, 0, c.Reasoning)
	}
	return c.AppendTokens(dst, c.Reasoning, c.Total)
}

// ItemIndex returns the digit of an item's index in the output.
func ItemIndex(c *Choice, of Side) byte {
	if of == Text && c.Reasoning > 0 {
		return '1'
	}
	return '0'
}

// AppendCallIndex appends the index of call n in the output.
func AppendCallIndex(dst []byte, c *Choice, n int) []byte {
	if c.Reasoning > 0 {
		n++
	}
	return strconv.AppendInt(dst, int64(n), 10)
}
