package answer

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"aiperfd/internal/engine/eventlog"

	"github.com/valyala/fastjson"
)

// Events of one shape (see [eventlog.Log]) are the same JSON but for what is in
// the holes. What such an event does to the answer is found out once, with marks
// in the holes, by the same code that reads any event: the places of the marks in the
// document, and which of them come out. From then on only the holes are looked at.

// mark returns the text that marks a hole: one that no server
// writes, or a number that can be the index of something.
func mark(hole int, number bool) string {
	if number {
		return strconv.Itoa(MaxIndex - hole)
	}
	return "\u2402hole " + strconv.Itoa(hole) + "\u2403"
}

// appendMarked appends the document of a shape with marks in its holes.
func appendMarked(dst []byte, events *eventlog.Log, shape int) []byte {
	return events.AppendData(dst, shape, func(hole int) []byte {
		return []byte(mark(hole, events.IsNumber(shape, hole)))
	})
}

// Place is the position of a value in a document: the names of members from the
// outside in, "[]" for the elements of a list.
type Place []string

// element stands in a [place] for a list; no name that we look for is like it.
const element = "[]"

// findMarks returns the place of every hole's mark in v; ok = false when one is
// not there exactly once.
func findMarks(v *fastjson.Value, events *eventlog.Log, shape int) (places []Place, ok bool) {
	marks := make([]string, events.Variables(shape))
	for i := range marks {
		marks[i] = mark(i, events.IsNumber(shape, i))
	}
	places = make([]Place, len(marks))
	found := 0
	walk(v, nil, func(at Place, v *fastjson.Value) {
		for i, m := range marks {
			isNumber := v.Type() == fastjson.TypeNumber && string(v.MarshalTo(nil)) == m
			if isNumber || string(Str(v)) == m {
				places[i] = append(Place{}, at...)
				found++
			}
		}
	})
	for _, p := range places {
		ok = p != nil
		if !ok {
			return nil, false
		}
	}
	return places, found == len(marks)
}

// walk visits every string and number in v. The place is valid during the call.
func walk(v *fastjson.Value, at Place, visit func(Place, *fastjson.Value)) {
	switch v.Type() {
	case fastjson.TypeObject:
		v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
			walk(v, append(at, string(key)), visit)
		})
	case fastjson.TypeArray:
		for _, v := range v.GetArray() {
			walk(v, append(at, element), visit)
		}
	case fastjson.TypeString, fastjson.TypeNumber:
		visit(at, v)
	case fastjson.TypeNull, fastjson.TypeTrue, fastjson.TypeFalse:
	}
}

// isPlain reports whether the inside of a JSON string is the text itself: no
// escapes, and UTF-8.
func isPlain(inside []byte) bool {
	for _, c := range inside {
		if c == '\\' {
			return false
		}
		if c >= utf8.RuneSelf {
			return bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside)
		}
	}
	return true
}

// appendUnescaped appends the text of the inside of a JSON string; ok = false when
// it is not certain: bad escapes, half a surrogate pair, bytes that are no UTF-8.
func appendUnescaped(dst, inside []byte) (text []byte, ok bool) {
	if !utf8.Valid(inside) {
		return dst, false
	}
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 {
			return append(dst, inside...), true
		}
		dst = append(dst, inside[:i]...)
		if inside = inside[i:]; len(inside) < 2 {
			return dst, false
		}
		if inside[1] != 'u' {
			c := unescaped(inside[1])
			if c == 0 {
				return dst, false
			}
			dst, inside = append(dst, c), inside[2:]
			continue
		}
		unit, ok := escapedUnit(inside)
		if !ok {
			return dst, false
		}
		inside = inside[6:]
		if utf16.IsSurrogate(unit) {
			low, _ := escapedUnit(inside)
			if unit = utf16.DecodeRune(unit, low); unit == utf8.RuneError {
				return dst, false
			}
			inside = inside[6:]
		}
		dst = utf8.AppendRune(dst, unit)
	}
}

// unescaped returns the character of an escape of two characters; 0 = it is none.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}
