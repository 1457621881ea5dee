package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
)

// queryNames and documentNames are the names of texts in datasets: AIPerf's, and
// those of the APIs' own members.
func queryNames() []string { return []string{"query", "queries", "text_1"} }

func documentNames() []string {
	return []string{"passages", "passage", "documents", "document", "texts", "text_2"}
}

// named returns the texts of a turn that go by one of the names, in their order.
func named(t *bench.Turn, names []string) []string {
	var texts []string
	for _, n := range t.Named {
		if slices.Contains(names, n.Name) {
			texts = append(texts, n.Texts...)
		}
	}
	return texts
}

// allTexts returns the texts of a turn without regard to names.
func allTexts(t *bench.Turn) []string {
	var texts []string
	for _, n := range t.Named {
		texts = append(texts, n.Texts...)
	}
	return append(texts, t.Texts...)
}

// ranking returns what a ranking request is about: one query, and documents, which
// may be none. kind names the endpoint type in errors.
func ranking(kind string, t *bench.Turn) (query string, documents []string, err error) {
	queries := named(t, queryNames())
	switch len(queries) {
	case 0:
		return "", nil, fmt.Errorf("endpoint type %s needs a text named query (and texts named passages), as in {\"texts\":[{\"name\":\"query\",\"contents\":[…]},{\"name\":\"passages\",\"contents\":[…]}]}", kind)
	case 1:
		return queries[0], named(t, documentNames()), nil
	}
	return "", nil, fmt.Errorf("endpoint type %s takes one query, and the turn has %d", kind, len(queries))
}

// object makes a body of fields, without those that are nil, and what the user
// merges over them.
func object(dst []byte, r *Request, fields ...Field) ([]byte, error) {
	b := &body{fields: fields}
	return b.finish(dst, r, "")
}

// modelField is the member with the model's name.
func modelField(r *Request) Field {
	model := r.Model
	if r.Turn.Model != "" {
		model = r.Turn.Model
	}
	return Field{"model", appendString(nil, model)}
}

// stringList writes texts as a JSON list.
func stringList(texts []string) json.RawMessage {
	dst := []byte{'['}
	for i, s := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// oneOrList writes one text as a string, any other number of them as a list.
func oneOrList(texts []string) json.RawMessage {
	if len(texts) == 1 {
		return appendString(nil, texts[0])
	}
	return stringList(texts)
}

// someTexts returns the texts of a turn, at least one.
func someTexts(kind string, t *bench.Turn) ([]string, error) {
	if len(t.Texts) == 0 {
		return nil, fmt.Errorf("endpoint type %s needs a text, and the turn has none", kind)
	}
	return t.Texts, nil
}

// countTexts is the number of items that are asked for with a vector for each text:
// one for a chat, and unknown if the user replaces the texts.
func countTexts(r *Request) int {
	switch {
	case r.Turn.Payload != nil || given(r, "input", "messages", "task", "data"):
		return 0
	case isChat(r):
		return 1
	}
	return len(allTexts(&r.Turn))
}

// given reports whether the user merges a member of one of the names into the body.
func given(r *Request, names ...string) bool {
	extra, _ := Fields(r.Turn.ExtraBody) // what is no object is refused elsewhere
	for _, f := range append(extra, r.Settings.Extra...) {
		if slices.Contains(names, f.Name) {
			return true
		}
	}
	return false
}

// message is the member "messages" with the system message and the turn: APIs that
// read one prompt and answer with no text have no use for earlier turns.
func message(r *Request) Field {
	one := *r
	one.History = nil
	return Field{"messages", appendMessages(make([]byte, 0, messagesSize(&one)), &one)}
}

// isChat reports whether a turn can only be said in messages.
func isChat(r *Request) bool {
	t := &r.Turn
	return r.System != "" || r.Context != "" || t.Role != "" || len(t.Images)+len(t.Audios)+len(t.Videos) > 0
}
