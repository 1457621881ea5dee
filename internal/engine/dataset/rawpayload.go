package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
)

// openRawPayload reads a file of request bodies, each sent as it is.
func openRawPayload(ctx context.Context, o Options) (Source, error) {
	name := "inline records"
	if o.File.Path != "" {
		name = o.File.Path
	}
	b := payloadBuilder{Options: o}
	if err := b.read(ctx); err != nil {
		return nil, fmt.Errorf("open dataset %s: %w", name, err)
	}
	if o.Tokenizer != nil {
		if err := parallel(ctx, len(b.entries), func(i int) error { b.count(&b.entries[i].Turns[0]); return nil }); err != nil {
			return nil, fmt.Errorf("open dataset %s: %w", name, err)
		}
	}
	return newMemory(b.entries, Description{Kind: "raw_payload", Path: o.File.Path})
}

// payloadBuilder turns each body into a conversation of one turn.
type payloadBuilder struct {
	Options
	entries []*bench.Conversation
}

func (b *payloadBuilder) read(ctx context.Context) error {
	if b.Entries < 0 || b.Entries > maxEntries {
		return fmt.Errorf("entries %d: must be from 0 to %d", b.Entries, maxEntries)
	}
	if err := b.File.Check(); err != nil {
		return err
	}
	var wrong file.FileError
	err := each(ctx, b.File, func(where string, record []byte) bool {
		body := bytes.TrimSpace(record)
		if !json.Valid(body) || len(body) == 0 || body[0] != '{' {
			return wrong.Add(where, "a body must be a JSON object")
		}
		if b.Entries > 0 && len(b.entries) == b.Entries {
			return true
		}
		b.entries = append(b.entries, &bench.Conversation{
			ID: fmt.Sprintf("session_%06d", len(b.entries)), Mode: bench.MessageArrayWithResponses,
			Turns: []bench.Turn{{Payload: bytes.Clone(body)}},
		})
		return true
	})
	switch {
	case err != nil && len(wrong.Problems) > 0:
		return errors.Join(&wrong, err)
	case err != nil:
		return err
	case len(wrong.Problems) > 0:
		return &wrong
	case len(b.entries) == 0:
		return errors.New("no records")
	}
	return nil
}

// count counts the tokens of a body: of its messages, and of the input members of
// other APIs.
func (b *payloadBuilder) count(t *bench.Turn) {
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
	if json.Unmarshal(t.Payload, &body) != nil {
		return // a member of another type: its texts are not known
	}
	parts := []json.RawMessage{body.System, body.Prompt, body.Input, body.Inputs, body.Text}
	for _, m := range body.Messages {
		parts = append(parts, m.Content)
	}
	for _, part := range parts {
		var v any
		if len(part) > 0 && json.Unmarshal(part, &v) == nil {
			t.InputTokens += bench.Tokens(b.tokensIn(v))
		}
	}
}

// tokensIn counts a text, texts, or typed parts with text.
func (b *payloadBuilder) tokensIn(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = b.Tokenizer.Count(v)
	case []any:
		for _, element := range v {
			n += b.tokensIn(element)
		}
	case map[string]any:
		n = b.tokensIn(v["text"]) + b.tokensIn(v["content"])
	}
	return n
}
