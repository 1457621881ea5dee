package format

import (
	"bytes"
	"encoding/json"

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
			"`raw` requires it. The objects have no members of their own.",
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			return func(record file.Record) ([]source.Row, []string) {
				if !json.Valid(record.Data) || record.Data[0] != '{' {
					return nil, []string{"a body must be a JSON object"}
				}
				return []source.Row{{
					Conversation: bench.Conversation{
						Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{{Payload: bytes.Clone(record.Data)}},
					},
					Finish: countPayloads(o.Tokenizer),
				}}, nil
			}
		},
	}
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
		var v any
		if len(part) > 0 && json.Unmarshal(part, &v) == nil {
			n += bench.Tokens(tokensIn(tok, v))
		}
	}
	return n
}

// tokensIn counts a text, texts, or typed parts with text.
func tokensIn(tok tokenizer.Tokenizer, v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = tok.Count(v)
	case []any:
		for _, element := range v {
			n += tokensIn(tok, element)
		}
	case map[string]any:
		n = tokensIn(tok, v["text"]) + tokensIn(tok, v["content"])
	}
	return n
}
