package endpoint

import (
	"bytes"
	"testing"

	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/anthropic"
	"aiperfd/internal/engine/endpoint/openai"
)

// fuzzText checks that a codec takes any bytes, as a stream and as a document, that
// its events and its texts agree, and that events may be read by their shape.
func fuzzText(f *testing.F, kind string, g *answer.Grammar, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	k := lookup(f, kind)
	f.Fuzz(func(t *testing.T, data []byte, stream bool) {
		resp := wholeBody(string(data))
		if stream {
			var events []string
			for line := range bytes.Lines(data) {
				if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
					events = append(events, string(line))
				}
			}
			checkShapesOf(t, g, sse(events...))
			resp = sse(events...)
		}
		a := k.Decode(resp, stream)
		sizes := map[string]int{}
		for _, c := range a.Chunks {
			if c.Bytes <= 0 || c.Tokens < 0 || c.Choice != 0 {
				t.Fatalf("chunk %+v", c)
			}
			sizes[c.Kind.String()] += int(c.Bytes)
		}
		for _, c := range a.Choices {
			if sizes["text"] != len(c.Text) || sizes["reasoning"] != len(c.Reasoning) || sizes["refusal"] != len(c.Refusal) {
				t.Fatalf("chunks of %v bytes make %+v", sizes, c)
			}
		}
		if a.Failure == nil && len(a.Chunks) == 0 && a.Warnings["no_visible_output"] == 0 {
			t.Fatalf("an empty answer has not failed: %+v", a)
		}
	})
}

func FuzzDecodeResponses(f *testing.F) {
	fuzzText(
		f, "responses", openai.ResponsesGrammar(), textDelta(0, "a\n")+"\n"+completed,
		ev("output_item.added", `"item":{"type":"function_call","name":"f"}`)+"\n"+ev("function_call_arguments.delta", `"delta":"{}"`)+"\n"+ev("incomplete", ``),
		ev("reasoning_text.delta", `"delta":"h"`)+"\n"+ev("reasoning_summary_text.done", `"text":"s"`)+"\n"+ev("failed", `"response":{"error":{"message":"m"}}`),
		`{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"a"}]}]}`, `{"type":"error","message":"m"}`,
	)
}

func FuzzDecodeMessages(f *testing.F) {
	fuzzText(
		f, "messages", anthropic.Grammar(), messageStart+"\n"+blockDelta(0, "text_delta", "text", "a")+"\n"+messageDelta("end_turn", `"output_tokens":2`)+"\n"+messageStop,
		blockStart(0, `"type":"tool_use","name":"f","input":{"a":1}`)+"\n"+blockStop(0)+"\n"+messageStop,
		blockDelta(0, "input_json_delta", "partial_json", "{")+"\n"+blockDelta(0, "thinking_delta", "thinking", "h")+"\n"+messageStop,
		`{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"refusal"}`, `{"type":"error","error":{"message":"m"}}`,
	)
}
