package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
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
	FieldStream        = "stream"
	fieldStreamOptions = "stream_options"
	FieldMaxTokens     = "max_tokens"
	FieldMaxCompletion = "max_completion_tokens"
	FieldMaxOutput     = "max_output_tokens"
)

// Body is a request body that is being built: its own fields first, then the user's
// merged over them.
type Body struct {
	Fields  []Field
	options []Field         // the user's stream_options, key by key
	replace json.RawMessage // the user's stream_options when they are no object
	userMax []string        // which of the two length fields the user gave
}

// Set sets a member; nil = it is left out.
func (b *Body) Set(name string, value json.RawMessage) {
	b.Fields = SetField(b.Fields, name, value)
}

// SetField replaces the value of a member, or appends the member.
func SetField(fields []Field, name string, value json.RawMessage) []Field {
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Value = value
			return fields
		}
	}
	return append(fields, Field{name, value})
}

// Get returns the value of a member; nil = there is none.
func (b *Body) Get(name string) json.RawMessage { return FieldValue(b.Fields, name) }

// merge lays a field of the user's over the body: shallow, except for
// stream_options, which is merged key by key and whose null means absent.
func (b *Body) merge(f Field) {
	switch f.Name {
	case fieldStreamOptions:
		b.mergeOptions(f.Value)
		return
	case FieldMaxTokens, FieldMaxCompletion:
		b.userMax = append(b.userMax, f.Name)
	}
	b.Set(f.Name, f.Value)
}

func (b *Body) mergeOptions(value json.RawMessage) {
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
		b.options = SetField(b.options, f.Name, f.Value)
	}
}

func isNull(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "null" }

// Finish merges the user's fields, settles what depends on the merged body and
// appends it to dst. maxField is the dialect's own length field.
func (b *Body) Finish(dst []byte, r *Request, maxField string) ([]byte, error) {
	if err := b.MergeUser(r); err != nil {
		return dst, err
	}
	if len(b.userMax) > 0 && !slices.Contains(b.userMax, maxField) {
		b.Set(maxField, nil) // two length fields contradict each other: the user's stays
	}
	b.SetStreamOptions(r.Settings)
	b.setExactLength(r)
	b.setLengthHint(r)
	return b.Append(dst), nil
}

// MergeUser merges the extra inputs of the run, then those of the turn.
func (b *Body) MergeUser(r *Request) error { return eachExtra(r, b.merge) }

// Append appends the body as it is; members without value are left out.
func (b *Body) Append(dst []byte) []byte { return AppendObject(dst, b.Fields) }

// SetStreamOptions requests usage if the body streams and the user did not
// decide otherwise. Servers refuse stream_options in a body that does not stream.
func (b *Body) SetStreamOptions(s *Settings) {
	if string(bytes.TrimSpace(b.Get(FieldStream))) != "true" {
		b.Set(fieldStreamOptions, nil)
		return
	}
	if b.replace != nil {
		b.Set(fieldStreamOptions, b.replace)
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
		options = SetField(options, f.Name, f.Value)
	}
	if len(options) == 0 {
		b.Set(fieldStreamOptions, nil)
		return
	}
	b.Set(fieldStreamOptions, AppendObject(nil, options))
}

// NewBody returns a body with the fields that all text dialects share, in the
// order of the API references: model, content, stream, length, options.
func NewBody(r *Request, content Field, maxField string) *Body {
	b := &Body{Fields: make([]Field, 0, 5+len(r.Settings.Extra))}
	b.Fields = append(b.Fields,
		ModelField(r),
		content,
		Field{FieldStream, strconv.AppendBool(nil, r.Settings.Streaming)},
		Field{maxField, AppendMax(r.Turn.MaxTokens)},
		Field{fieldStreamOptions, nil})
	return b
}

// AppendMax returns the JSON number of a length limit; nil = not sent.
func AppendMax(n bench.Tokens) json.RawMessage {
	if n <= 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// AppendString is [plainjson.AppendString].
func AppendString(dst []byte, s string) []byte { return plainjson.AppendString(dst, s) }

// AppendList appends the JSON list of what write appends for each item.
func AppendList[T any](dst []byte, items []T, write func(dst []byte, item *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = write(dst, &items[i])
	}
	return append(dst, ']')
}

// AppendObject appends the JSON object with these members, in their order. Members
// without a value are left out.
func AppendObject(dst []byte, fields []Field) []byte {
	size := len("{}")
	for _, f := range fields {
		size += len(f.Name) + len(f.Value) + len(`"":,`)
	}
	dst = append(slices.Grow(dst, size), '{')
	first := true
	for _, f := range fields {
		if f.Value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendString(dst, f.Name), ':')
		dst = append(dst, f.Value...)
	}
	return append(dst, '}')
}

// JSONBool returns a JSON true or false.
func JSONBool(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// RawField returns a member with a value that is JSON; nil = the member is left out.
func RawField(name string, value json.RawMessage) Field { return Field{name, value} }

// TextField returns a member that is a string.
func TextField(name, value string) Field { return Field{name, AppendString(nil, value)} }

// NumberField returns a member that is a number.
func NumberField(name string, n int) Field { return Field{name, strconv.AppendInt(nil, int64(n), 10)} }

// TrueField returns a member that is true.
func TrueField(name string) Field { return Field{name, json.RawMessage("true")} }
