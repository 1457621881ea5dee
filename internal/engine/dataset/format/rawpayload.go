package format

import (
	"bytes"
	"encoding/json"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// rawPayload reads request bodies, each sent as it is.
func rawPayload() source.Format {
	return source.Format{
		Name: "raw_payload",
		Doc: "One request body per line (JSONL of objects), sent byte for byte: `model`, `stream` and extra inputs are " +
			"not added. It works with every endpoint type, which then determines how responses are read; the type " +
			"`raw` requires it. The objects have no members of their own. Of a folder, each file is a conversation and " +
			"its lines are the turns.",
		Folder: true,
		Needs:  "a list of messages, and no member of another format",
		Detect: func(h *source.Head) bool {
			return strings.HasPrefix(string(h.Members["messages"]), "[") && !h.HasAny("timestamp", "delay", "session_id",
				"conversation_id", "input_length", "output_length", "text_input", "hash_ids", "turns", "data")
		},
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			folder := o.File.IsFolder()
			return func(record file.Record) ([]source.Row, []string) {
				if err := file.CheckObject(record.Data); err != nil {
					return nil, []string{err.Error()}
				}
				r := payloads(o.Tokenizer, bytes.Clone(record.Data))
				if folder {
					r.Session = record.Place.File
				}
				return []source.Row{r}, nil
			}
		},
	}
}

// payloads returns a conversation of bodies.
func payloads(tok tokenizer.Tokenizer, bodies ...json.RawMessage) source.Row {
	r := source.Row{
		Conversation: bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: make([]bench.Turn, len(bodies))},
		Finish:       countPayloads(tok),
	}
	for i, body := range bodies {
		r.Conversation.Turns[i].Payload = body
	}
	return r
}

// countPayloads returns the function that counts the tokens of bodies; nil = there is no
// tokenizer.
func countPayloads(tok tokenizer.Tokenizer) func(turns []bench.Turn) error {
	if tok == nil {
		return nil
	}
	return func(turns []bench.Turn) error {
		for i := range turns {
			turns[i].InputTokens = countPayload(tok, turns[i].Payload)
		}
		return nil
	}
}

// countPayload counts the tokens of a body: of its messages, and of the input members of
// other APIs.
func countPayload(tok tokenizer.Tokenizer, payload []byte) (n bench.Tokens) {
	var body struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Prompt json.RawMessage `json:"prompt"`
		Input  json.RawMessage `json:"input"`
		Inputs json.RawMessage `json:"inputs"`
		Text   json.RawMessage `json:"text"`
		System json.RawMessage `json:"system"`
	}
	if json.Unmarshal(payload, &body) != nil {
		return 0 // a member of another type: its texts are not known
	}
	parts := []json.RawMessage{body.System, body.Prompt, body.Input, body.Inputs, body.Text}
	for _, m := range body.Messages {
		parts = append(parts, m.Content)
	}
	for _, part := range parts {
		n += source.CountJSON(tok, part)
	}
	return n
}
