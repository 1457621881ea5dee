package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
)

// Fields reads a JSON object into its members, in their order. Values are
// copied as they are written, so numbers of any size survive. It fails when raw
// is not one JSON object.
func Fields(raw []byte) ([]Field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("read fields: not a JSON object")
	}
	var fields []Field
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read fields: %w", err)
		}
		var f Field
		f.Name, _ = token.(string) // the decoder accepts only strings here
		if err := dec.Decode(&f.Value); err != nil {
			return nil, fmt.Errorf("read field %q: %w", f.Name, err)
		}
		fields = append(fields, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read fields: %w", err)
	}
	if dec.More() {
		return nil, errors.New("read fields: more than one JSON value")
	}
	return fields, nil
}

// Names of members that merging treats apart.
const (
	fieldStream        = "stream"
	fieldStreamOptions = "stream_options"
	fieldMaxTokens     = "max_tokens"
	fieldMaxCompletion = "max_completion_tokens"
	fieldMaxOutput     = "max_output_tokens"
)

// body is a request body in the making: built fields first, then what the user
// merged over them.
type body struct {
	fields  []Field
	options []Field         // the user's stream_options, key by key
	replace json.RawMessage // the user's stream_options when they are no object
	userMax []string        // which of the two length fields the user gave
}

func (b *body) set(name string, value json.RawMessage) {
	b.fields = setField(b.fields, name, value)
}

func setField(fields []Field, name string, value json.RawMessage) []Field {
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Value = value
			return fields
		}
	}
	return append(fields, Field{name, value})
}

func (b *body) get(name string) json.RawMessage {
	for _, f := range b.fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// merge lays the user's fields over the body: shallow, except for
// stream_options, which is merged key by key and whose null means absent.
func (b *body) merge(fields []Field) {
	for _, f := range fields {
		switch f.Name {
		case fieldStreamOptions:
			b.mergeOptions(f.Value)
			continue
		case fieldMaxTokens, fieldMaxCompletion:
			b.userMax = append(b.userMax, f.Name)
		}
		b.set(f.Name, f.Value)
	}
}

func (b *body) mergeOptions(value json.RawMessage) {
	if isNull(value) {
		return
	}
	fields, err := Fields(value)
	if err != nil {
		b.replace, b.options = value, nil
		return
	}
	b.replace = nil
	for _, f := range fields {
		b.options = setField(b.options, f.Name, f.Value)
	}
}

func isNull(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "null" }

// finish merges the user's fields, settles what depends on the merged body and
// appends it to dst. maxField is the dialect's own length field.
func (b *body) finish(dst []byte, r *Request, maxField string) ([]byte, error) {
	if err := b.mergeUser(r); err != nil {
		return dst, err
	}
	if len(b.userMax) > 0 && !slices.Contains(b.userMax, maxField) {
		b.set(maxField, nil) // two length fields contradict each other: the user's stays
	}
	b.setStreamOptions(r.Settings)
	b.setLengthHint(r)
	return b.append(dst), nil
}

// mergeUser merges what the user gave for the run, then what the turn has.
func (b *body) mergeUser(r *Request) error {
	b.merge(r.Settings.Extra)
	if len(r.Turn.ExtraBody) == 0 {
		return nil
	}
	extra, err := Fields(r.Turn.ExtraBody)
	if err != nil {
		return fmt.Errorf("merge the turn's extra body: %w", err)
	}
	b.merge(extra)
	return nil
}

// append appends the body as it is; members without value are left out.
func (b *body) append(dst []byte) []byte { return appendObject(dst, b.fields) }

// setStreamOptions asks for usage where the body streams and the user did not
// say otherwise. Servers refuse stream_options in a body that does not stream.
func (b *body) setStreamOptions(s *Settings) {
	if string(bytes.TrimSpace(b.get(fieldStream))) != "true" {
		b.set(fieldStreamOptions, nil)
		return
	}
	if b.replace != nil {
		b.set(fieldStreamOptions, b.replace)
		return
	}
	var options []Field
	if s.StreamUsage {
		options = append(options, Field{"include_usage", json.RawMessage("true")})
		if s.PerChunkUsage {
			options = append(options, Field{"continuous_usage_stats", json.RawMessage("true")})
		}
	}
	for _, f := range b.options {
		options = setField(options, f.Name, f.Value)
	}
	if len(options) == 0 {
		b.set(fieldStreamOptions, nil)
		return
	}
	value := []byte{'{'}
	for i, f := range options {
		if i > 0 {
			value = append(value, ',')
		}
		value = append(appendString(value, f.Name), ':')
		value = append(value, f.Value...)
	}
	b.set(fieldStreamOptions, append(value, '}'))
}

// newBody returns a body with the fields that all text dialects share, in the
// order of the API references: model, content, stream, length, options.
func newBody(r *Request, content Field, maxField string) *body {
	model := r.Model
	if r.Turn.Model != "" {
		model = r.Turn.Model
	}
	b := &body{fields: make([]Field, 0, 5+len(r.Settings.Extra))}
	b.fields = append(b.fields,
		Field{"model", appendString(nil, model)},
		content,
		Field{fieldStream, strconv.AppendBool(nil, r.Settings.Streaming)},
		Field{maxField, appendMax(r.Turn.MaxTokens)},
		Field{fieldStreamOptions, nil})
	return b
}

// appendMax returns the JSON number of a length limit; nil = not sent.
func appendMax(n bench.Tokens) json.RawMessage {
	if n <= 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// appendString appends s as a JSON string. It escapes only what JSON demands,
// so "<" stays readable; bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
