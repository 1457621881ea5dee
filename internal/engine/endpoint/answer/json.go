package answer

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/tokenizer"
)

// bigDocument is the length in bytes from which a document is checked by the
// strict, iterative scanner first: fastjson's errors quote the whole rest.
const bigDocument = 64 << 10

// maxValues bounds the JSON values of one document. Each costs about 90 bytes of
// memory, regardless of its length on the wire, and fastjson's list of them leaves up to
// four times that behind while it grows: half a gibibyte at most.
const maxValues = 1 << 20

// Parser parses one document after another. Values that it returned are
// valid until the next parse.
type Parser struct {
	parser fastjson.Parser
	buf    []byte
	// about the last document
	Repaired    bool // bare NaN or Infinity were read as null
	InvalidUTF8 bool // bytes that are no UTF-8 were read as U+FFFD
	tooMany     bool // it has more than maxValues
}

// Parse reads data as one strict JSON document; nil means that it is none.
// Duplicate members, depth over 300 and surrogates without partner are
// accepted, refused and replaced by U+FFFD in turn.
func (p *Parser) Parse(data []byte) *fastjson.Value {
	p.Repaired, p.InvalidUTF8, p.tooMany = false, false, false
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		p.InvalidUTF8 = true
		data = ToValidUTF8(data)
	}
	data = fixSurrogates(data)
	if v := p.strict(data); v != nil || p.tooMany {
		return v
	}
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return nil
	}
	p.buf, p.Repaired = appendWithoutNaN(p.buf[:0], data)
	if !p.Repaired {
		return nil
	}
	v := p.strict(p.buf)
	p.Repaired = v != nil
	return v
}

// strict parses data and checks what fastjson accepts: control characters in
// strings, odd numbers and escapes. Parsing goes first because it bounds depth.
func (p *Parser) strict(data []byte) *fastjson.Value {
	if len(data) > bigDocument {
		values := bytes.Count(data, []byte{','}) + bytes.Count(data, []byte{'['}) + bytes.Count(data, []byte{'{'})
		if p.tooMany = values > maxValues; p.tooMany || !json.Valid(data) {
			return nil
		}
	}
	v, err := p.parser.ParseBytes(data)
	if err != nil || fastjson.ValidateBytes(data) != nil {
		return nil
	}
	return v
}

// appendWithoutNaN appends data with NaN, Infinity and -Infinity outside
// strings replaced by null, and reports whether there were any.
func appendWithoutNaN(dst, data []byte) ([]byte, bool) {
	found := false
	for i := 0; i < len(data); {
		switch c := data[i]; c {
		case '"':
			n := stringLength(data[i:])
			dst = append(dst, data[i:i+n]...)
			i += n
			continue
		case 'N', 'I', '-':
			if n := notFinite(data[i:]); n > 0 {
				dst = append(dst, "null"...)
				found = true
				i += n
				continue
			}
		}
		dst = append(dst, data[i])
		i++
	}
	return dst, found
}

func notFinite(data []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if len(data) >= len(word) && string(data[:len(word)]) == word {
			return len(word)
		}
	}
	return 0
}

// stringLength returns the length of the JSON string at the start of data, both
// quotes included; without a closing quote it is all of data.
func stringLength(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// fixSurrogates replaces escapes of surrogates that have no partner by \ufffd.
// It returns data itself when there is nothing to do.
func fixSurrogates(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	data = bytes.Clone(data)
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(data[i:])
		switch {
		case !ok:
			i++ // an escape of two characters
		case unit < 0xd800 || unit > 0xdfff:
			i += 5
		default:
			low, ok := escapedUnit(data[i+6:])
			if unit <= 0xdbff && ok && low >= 0xdc00 && low <= 0xdfff {
				i += 11
				break
			}
			copy(data[i+2:], "fffd")
			i += 5
		}
	}
	return data
}

// escapedUnit reads \uXXXX at the start of data.
func escapedUnit(data []byte) (unit rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	for _, c := range data[2:6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// ToValidUTF8 replaces every maximal part of an ill-formed sequence by one U+FFFD.
func ToValidUTF8(data []byte) []byte { return []byte(tokenizer.ValidUTF8(string(data))) }

// Str returns the string that v is, and nil when it is none. The bytes are valid
// until the next parse.
func Str(v *fastjson.Value) []byte {
	if v == nil || v.Type() != fastjson.TypeString {
		return nil
	}
	return v.GetStringBytes()
}

// Joined returns a string, or the strings of a list joined.
func Joined(v *fastjson.Value) []byte {
	if v == nil || v.Type() != fastjson.TypeArray {
		return Str(v)
	}
	var all []byte
	for _, item := range v.GetArray() {
		all = append(all, Joined(item)...)
	}
	return all
}

// Truthy reports whether v has a value: not null, false, 0, "" or empty.
func Truthy(v *fastjson.Value) bool {
	if v == nil {
		return false
	}
	switch v.Type() {
	case fastjson.TypeNull, fastjson.TypeFalse:
		return false
	case fastjson.TypeString:
		return len(Str(v)) > 0
	case fastjson.TypeNumber:
		return v.GetFloat64() != 0
	case fastjson.TypeObject:
		return v.GetObject().Len() > 0
	case fastjson.TypeArray:
		return len(v.GetArray()) > 0
	case fastjson.TypeTrue:
		return true
	}
	return false
}

// AppendTextOrJSON appends a string as it is, and objects and lists as JSON.
func AppendTextOrJSON(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return append(dst, Str(v)...)
	case fastjson.TypeObject, fastjson.TypeArray:
		return v.MarshalTo(dst)
	case fastjson.TypeNull, fastjson.TypeTrue, fastjson.TypeFalse, fastjson.TypeNumber:
	}
	return dst
}
