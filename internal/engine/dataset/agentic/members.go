package agentic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// members calls each with the members of a JSON object, which must be valid, in their order. Values are slices of
// data. It is a tenth of the cost of decoding: most of a trace are the ids of blocks.
func members(data []byte, each func(name string, value []byte)) {
	at := space(data, bytes.IndexByte(data, '{')+1)
	for at < len(data) && data[at] == '"' {
		end := skip(data, at)
		name := string(data[at+1 : end-1])
		if strings.ContainsRune(name, '\\') {
			_ = json.Unmarshal(data[at:end], &name) // the object is valid
		}
		at = space(data, end) // the colon
		value := space(data, at+1)
		end = skip(data, value)
		each(name, data[value:end])
		at = space(data, end) // a comma or the end
		at = space(data, at+1)
	}
}

// elements calls each with the elements of a JSON array, which must be valid.
func elements(data []byte, each func(i int, value []byte)) {
	at := space(data, 1)
	for i := 0; at < len(data) && data[at] != ']'; i++ {
		end := skip(data, at)
		each(i, data[at:end])
		if at = space(data, end); at < len(data) && data[at] == ',' {
			at = space(data, at+1)
		}
	}
}

// space returns the index of the next byte that is no white space.
func space(data []byte, at int) int {
	for at < len(data) && data[at] <= ' ' {
		at++
	}
	return at
}

// skip returns the index after the JSON value that begins at an index.
func skip(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// object reads the members of one object and keeps what is wrong with them.
type object struct {
	where    string // "trace A: requests[3]"; empty = the record
	problems *[]string
	seen     map[string][]byte
	known    []string
}

// open returns the object of a valid JSON value; ok = false if it is none.
func open(where string, data []byte, problems *[]string) (*object, bool) {
	o := &object{where: where, problems: problems, seen: map[string][]byte{}}
	if len(data) == 0 || data[0] != '{' {
		o.fault("must be an object, not %s", shown(data))
		return o, false
	}
	members(data, func(name string, value []byte) { o.seen[name] = value })
	return o, true
}

// fault keeps a problem of the object.
func (o *object) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if o.where != "" {
		text = o.where + ": " + text
	}
	*o.problems = append(*o.problems, text)
}

// take returns the value of a member; nil = it is absent or null, which is a problem if it must be there.
func (o *object) take(name string, required bool) []byte {
	o.known = append(o.known, name)
	value, ok := o.seen[name]
	if ok && string(value) != "null" {
		return value
	}
	if required && ok {
		o.fault("%s must not be null", name)
	} else if required {
		o.fault("%s is missing", name)
	}
	return nil
}

// unknown returns the names of the members that were not taken, sorted.
func (o *object) unknown() (names []string) {
	for name := range o.seen {
		if !slices.Contains(o.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// text returns a string.
func (o *object) text(name string, required bool) string {
	value := o.take(name, required)
	if value == nil {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		o.fault("%s must be a string, not %s", name, shown(value))
	}
	return s
}

// texts returns a list of strings.
func (o *object) texts(name string) (list []string) {
	if value := o.take(name, false); value != nil && json.Unmarshal(value, &list) != nil {
		o.fault("%s must be a list of strings, not %s", name, shown(value))
	}
	return list
}

// whole returns a whole number that is not below least; absent = 0, unless it is required.
func (o *object) whole(name string, least int, required bool) int {
	value := o.take(name, required)
	if value == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53:
		o.fault("%s must be a whole number, not %s", name, shown(value))
		return 0
	case v < float64(least):
		o.fault("%s must be at least %d, not %s", name, least, shown(value))
		return least
	}
	return int(v)
}

// seconds returns a time or a duration; nil = it is absent.
func (o *object) seconds(name string, required bool) *float64 {
	value := o.take(name, required)
	if value == nil {
		return nil
	}
	v, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		o.fault("%s must be a number of seconds, not %s", name, shown(value))
		return nil
	case v < 0:
		o.fault("%s must not be negative, not %s", name, shown(value))
		return nil
	}
	return &v
}

// ids returns a list of ids of blocks, of which the record has the number, unless something is wrong with it.
func (o *object) ids(name string, lists [][]int64) []int64 {
	value := o.take(name, false)
	if value == nil {
		return nil
	}
	if value[0] != '[' {
		o.fault("%s must be a list of whole numbers, not %s", name, shown(value))
		return nil
	}
	if k, err := strconv.Atoi(string(value[1 : len(value)-1])); err == nil && k < len(lists) {
		return lists[k]
	}
	elements(value, func(i int, value []byte) {
		if _, ok := parseID(value); !ok && !o.failed(name) {
			o.fault("%s[%d] must be a whole number of 64 bits, not %s", name, i, shown(value))
		}
	})
	return nil
}

// failed reports whether the last problem is one of a list of this object.
func (o *object) failed(name string) bool {
	if len(*o.problems) == 0 {
		return false
	}
	return strings.HasPrefix((*o.problems)[len(*o.problems)-1], o.where+": "+name+"[")
}

// parseID parses an id without a copy of its digits.
func parseID(b []byte) (int64, bool) {
	if len(b) > 18 || len(b) == 0 {
		v, err := strconv.ParseInt(string(b), 10, 64)
		return v, err == nil
	}
	digits, negative := b, b[0] == '-'
	if negative {
		digits = b[1:]
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int64(c-'0')
	}
	if negative {
		v = -v
	}
	return v, len(digits) > 0
}

// shown returns a value for a message.
func shown(value []byte) string { return file.Clip(string(value)) }
