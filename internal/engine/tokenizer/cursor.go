package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// cursor walks over JSON that has been checked to be valid. It exists because
// a tokenizer.json holds a million small values, for which encoding/json takes
// seconds. Only types can be wrong: the first such error sticks.
type cursor struct {
	data []byte
	pos  int
	err  error
}

func (c *cursor) fail(want string) {
	if c.err == nil {
		c.err = fmt.Errorf("byte %d: want %s", c.pos, want)
	}
	c.pos = len(c.data)
}

// peek skips white space and returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\n', '\r', ',', ':':
			c.pos++
		default:
			return b
		}
	}
	return 0
}

// object calls member with every key; member must consume the value.
func (c *cursor) object(member func(key string)) {
	if c.peek() != '{' {
		c.fail("an object")
		return
	}
	c.pos++
	for b := c.peek(); b != '}' && c.err == nil; b = c.peek() {
		member(c.string())
	}
	c.pos++
}

// array calls item for every value; item must consume it.
func (c *cursor) array(item func()) {
	if c.peek() != '[' {
		c.fail("an array")
		return
	}
	c.pos++
	for b := c.peek(); b != ']' && c.err == nil; b = c.peek() {
		item()
	}
	c.pos++
}

// string reads a string.
func (c *cursor) string() string {
	if c.peek() != '"' {
		c.fail("a string")
		return ""
	}
	raw := c.skipString()
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		c.fail("a string")
	}
	return s
}

func (c *cursor) skipString() []byte {
	start := c.pos
	c.pos++
	for c.data[c.pos] != '"' {
		if c.data[c.pos] == '\\' {
			c.pos++
		}
		c.pos++
	}
	c.pos++
	return c.data[start:c.pos]
}

// number reads a number.
func (c *cursor) number() float64 {
	c.peek()
	f, err := strconv.ParseFloat(string(c.skipAtom()), 64)
	if err != nil {
		c.fail("a number")
	}
	return f
}

// index reads an integer in [0, limit).
func (c *cursor) index(limit int) int {
	f := c.number()
	if c.err == nil && (f < 0 || f >= float64(limit) || f != float64(int(f))) {
		c.fail(fmt.Sprintf("an integer below %d", limit))
		return 0
	}
	return int(f)
}

func (c *cursor) skipAtom() []byte {
	start := c.pos
	for c.pos < len(c.data) && bytes.IndexByte([]byte(" \t\n\r,:]}[{\""), c.data[c.pos]) < 0 {
		c.pos++
	}
	return c.data[start:c.pos]
}

// value returns the JSON text of the next value of any type.
func (c *cursor) value() json.RawMessage {
	c.peek()
	start, depth := c.pos, 0
	for done := false; !done && c.pos < len(c.data); done = depth == 0 {
		switch c.data[c.pos] {
		case '"':
			c.skipString()
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		default:
			if depth == 0 {
				c.skipAtom()
			} else {
				c.pos++
			}
		}
	}
	return c.data[start:c.pos]
}

// members returns the members of an object; null counts as absent.
func members(data json.RawMessage) (map[string]json.RawMessage, error) {
	c := cursor{data: data}
	all := make(map[string]json.RawMessage)
	c.object(func(key string) {
		if v := c.value(); string(v) != "null" {
			all[key] = v
		}
	})
	return all, c.err
}
