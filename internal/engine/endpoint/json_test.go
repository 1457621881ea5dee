package endpoint

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
)

// FuzzDecodeChat checks that no body can crash the decoder, and that an answer
// is consistent with itself.
func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{
		delta(`"content":"a\ud83d\ude00"`) + "\n" + stop, `{"error":{"message":"x"}}`,
		`{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		delta(`"content":[{"type":"thinking","thinking":[{"text":"x"}]}]`), `[NaN,{"error":["x"]}]`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, stream bool) {
		resp := wholeBody(string(data))
		if stream {
			var events []string
			for line := range bytes.Lines(data) {
				if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
					events = append(events, string(line))
				}
			}
			checkShapes(t, sse(events...))
			resp = sse(events...)
		}
		a := answer.Decode(openai.Grammar())(resp, stream)
		size := 0
		for _, c := range a.Chunks {
			if c.Bytes <= 0 || c.Tokens < 0 {
				t.Fatalf("chunk %+v", c)
			}
			if c.Kind != bench.Audio {
				size += int(c.Bytes)
			}
		}
		for _, c := range a.Choices {
			for _, s := range []string{c.Text, c.Reasoning, c.Refusal} {
				size -= len(s)
				if !utf8.ValidString(s) {
					t.Errorf("text %q is not UTF-8", s)
				}
			}
			for _, call := range c.ToolCalls {
				size -= len(call.Name) + len(call.Arguments)
			}
		}
		if size != 0 {
			t.Errorf("chunks and texts differ by %d bytes: %+v", size, a)
		}
		if a.Failure == nil && len(a.Chunks) == 0 && a.Warnings["no_visible_output"] == 0 {
			t.Errorf("success without output: %+v", a)
		}
		if a.Failure != nil && (a.Failure.Message == "" || len(a.Failure.Message) > longestError) {
			t.Errorf("message of %d bytes", len(a.Failure.Message))
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	})
}
