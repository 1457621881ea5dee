package codec

import (
	"encoding/json"
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
)

// QueryNames are the names of the query among the texts of a turn: AIPerf's, and those
// of the APIs' own members.
func QueryNames() []string { return []string{"query", "queries", "text_1"} }

// DocumentNames are the names of the texts that a query is compared with.
func DocumentNames() []string {
	return []string{"passages", "passage", "documents", "document", "texts", "text_2"}
}

// NamedTexts returns the texts of a turn that go by one of the names, in their order.
func NamedTexts(t *bench.Turn, names []string) []string {
	var texts []string
	for _, n := range t.Named {
		if slices.Contains(names, n.Name) {
			texts = append(texts, n.Texts...)
		}
	}
	return texts
}

// AllTexts returns the texts of a turn without regard to names.
func AllTexts(t *bench.Turn) []string {
	var texts []string
	for _, n := range t.Named {
		texts = append(texts, n.Texts...)
	}
	return append(texts, t.Texts...)
}

// Ranking returns the parts of a ranking request: one query, and documents, which
// may be none. kind names the endpoint type in errors.
func Ranking(kind string, t *bench.Turn) (query string, documents []string, err error) {
	queries := NamedTexts(t, QueryNames())
	switch len(queries) {
	case 0:
		return "", nil, fmt.Errorf("endpoint type %s needs a text named query (and texts named passages), as in {\"texts\":[{\"name\":\"query\",\"contents\":[…]},{\"name\":\"passages\",\"contents\":[…]}]}", kind)
	case 1:
		return queries[0], NamedTexts(t, DocumentNames()), nil
	}
	return "", nil, fmt.Errorf("endpoint type %s takes one query, and the turn has %d", kind, len(queries))
}

// Object makes a body of fields, without those that are nil, and what the user
// merges over them.
func Object(dst []byte, r *Request, fields ...Field) ([]byte, error) {
	b := &Body{Fields: fields}
	return b.Finish(dst, r, "")
}

// ModelField is the member with the model's name.
func ModelField(r *Request) Field { return TextField("model", ModelOf(r)) }

// StringList writes texts as a JSON list.
func StringList(texts []string) json.RawMessage {
	return AppendList(nil, texts, func(dst []byte, s *string) []byte { return AppendString(dst, *s) })
}

// OneOrList writes one text as a string, any other number of them as a list.
func OneOrList(texts []string) json.RawMessage {
	if len(texts) == 1 {
		return AppendString(nil, texts[0])
	}
	return StringList(texts)
}

// SomeTexts returns the texts of a turn, at least one.
func SomeTexts(kind string, t *bench.Turn) ([]string, error) {
	if len(t.Texts) == 0 {
		return nil, fmt.Errorf("endpoint type %s needs a text, and the turn has none", kind)
	}
	return t.Texts, nil
}

// CountTexts is the number of requested items if there is a vector for each text:
// one for a chat, and unknown if the user replaces the texts.
func CountTexts(r *Request) int {
	switch {
	case r.Turn.Payload != nil || Given(r, "input", "messages", "task", "data"):
		return 0
	case IsChat(r):
		return 1
	}
	return len(AllTexts(&r.Turn))
}

// Given reports whether the user merges a member of one of the names into the body.
func Given(r *Request, names ...string) bool {
	extra, _ := Fields(r.Turn.ExtraBody) // other values are rejected elsewhere
	for _, f := range append(extra, r.Settings.Extra...) {
		if slices.Contains(names, f.Name) {
			return true
		}
	}
	return false
}

// Message is the member "messages" with the system message and the turn: APIs that
// read one prompt and answer with no text have no use for earlier turns.
func Message(r *Request) Field {
	one := *r
	one.History = nil
	return Field{"messages", AppendMessages(make([]byte, 0, MessagesSize(&one)), &one)}
}

// IsChat reports whether a turn can only be sent as messages.
func IsChat(r *Request) bool {
	t := &r.Turn
	return r.System != "" || r.Context != "" || t.Role != "" || HasMedia(t)
}
