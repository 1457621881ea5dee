package api

import (
	"bytes"

	"aiperfd/internal/mock/options"
)

// Corrupt makes the JSON text data[start:] invalid in the given way and returns data.
func Corrupt(data []byte, start int, kind string) []byte {
	doc := data[start:]
	switch kind {
	case options.BadJSON:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			doc[i] = '='
		}
	case options.TruncatedJSON:
		return data[:start+len(doc)/2]
	case options.NaNNumber:
		for _, key := range []string{`"created":`, `"sequence_number":`, `"index":`} {
			i := bytes.Index(doc, []byte(key))
			if i < 0 {
				continue
			}
			from := start + i + len(key)
			to := from
			for to < len(data) && data[to] >= '0' && data[to] <= '9' {
				to++
			}
			return splice(data, from, to, "NaN")
		}
	case options.RawNewline:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			return splice(data, start+i+1, start+i+1, "\n")
		}
	case options.WrongTypes:
		if i := bytes.Index(doc, []byte(`"choices":`)); i >= 0 {
			at := start + i + len(`"choices":`)
			return splice(data, at, at, `"none","were":`)
		}
		return append(data[:start], `["not","an","object"]`...)
	case options.NotSSE:
		return append(data[:bytes.LastIndexAny(data[:start], "\r\n")+1], "this is no event"...)
	case options.TwoObjects:
		return append(data, doc...)
	case options.InvalidUTF8:
		for _, key := range []string{`"content":"`, `"text":"`, `"delta":"`, `"thinking":"`, `"reasoning`, `"id":"`} {
			if i := bytes.Index(doc, []byte(key)); i >= 0 {
				at := start + i + len(key)
				return splice(data, at, at, "\xff\xfe")
			}
		}
	}
	return data
}

// splice replaces data[from:to].
func splice(data []byte, from, to int, with string) []byte {
	tail := bytes.Clone(data[to:])
	return append(append(data[:from], with...), tail...)
}
