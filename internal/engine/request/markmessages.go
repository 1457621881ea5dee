package request

import (
	"encoding/json"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
)

// beginsWithSystem reports whether a turn is a system message, or its messages begin with
// one.
func beginsWithSystem(t *bench.Turn) bool {
	if t.Messages == nil {
		return t.Role == "system"
	}
	list := readMessages(t.Messages)
	return len(list) > 0 && isSystem(list[0].role)
}

// message is one of an array of chat messages.
type message struct {
	role   string
	fields []codec.Field
}

// readMessages reads an array of chat messages; nil = it is none.
func readMessages(raw json.RawMessage) (list []message) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for _, element := range elements {
		fields, err := codec.Fields(element)
		if err != nil {
			return nil
		}
		var role string
		_ = json.Unmarshal(codec.FieldValue(fields, "role"), &role) // anything else is no role
		list = append(list, message{role, fields})
	}
	return list
}

// messages puts the marker into the first message of a role, or into the first one of all
// if there is none. What is no array of messages stays as it is.
func (m marker) messages(raw json.RawMessage, wanted func(role string) bool) json.RawMessage {
	list := readMessages(raw)
	if len(list) == 0 {
		return raw
	}
	at := max(0, slices.IndexFunc(list, func(one message) bool { return wanted(one.role) }))
	fields := list[at].fields
	list[at].fields = codec.SetField(fields, "content", m.content(codec.FieldValue(fields, "content")))
	out := []byte{'['}
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = codec.AppendObject(out, list[i].fields)
	}
	return append(out, ']')
}

// content puts the marker into the content of a message: a text, or a list of parts, of
// which it becomes one.
func (m marker) content(raw json.RawMessage) json.RawMessage {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return codec.AppendString(nil, m.join(text))
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return codec.AppendString(nil, strings.TrimSpace(m.text))
	}
	part := append(codec.AppendString([]byte(`{"type":"text","text":`), m.text), '}')
	at := 0
	if m.suffix {
		at = len(parts)
	}
	out := []byte{'['}
	for i, one := range slices.Insert(parts, at, json.RawMessage(part)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']')
}
