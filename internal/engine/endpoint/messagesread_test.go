package endpoint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// Events of a Messages stream.
const (
	messageStart = `{"type":"message_start","message":{"id":"msg","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`
	messageStop  = `{"type":"message_stop"}`
)

func blockStart(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{%s}}`, i, block)
}

func blockDelta(i int, kind, member, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%q}}`, i, kind, member, text)
}

func blockStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func messageDelta(reason, usage string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{%s}}`, reason, usage)
}

func TestReadMessagesStream(t *testing.T) {
	text := blockDelta(0, "text_delta", "text", "a")
	tool := blockStart(0, `"type":"tool_use","id":"t","name":"f","input":{}`)
	end := messageDelta("end_turn", `"output_tokens":5`)
	for _, tt := range []struct {
		name   string
		events []string
		want   string
	}{
		{"text", []string{messageStart, blockStart(0, `"type":"text","text":""`), text, blockStop(0), end, messageStop}, `text:1 | 0 text="a" end=stop in=3 out=5`},
		{"text and thoughts in the start of a block", []string{messageStart, blockStart(0, `"type":"thinking","thinking":"h"`), blockStart(1, `"type":"text","text":"a"`), end, messageStop}, `reasoning:1 text:1 | 0 text="a" think="h" end=stop in=3 out=5`},
		{"nothing of the envelope", []string{text, end}, `text:1 | 0 text="a" end=stop out=5`},
		{"a stop reason is the end, even without the last event", []string{messageStart, text, end}, `text:1 | 0 text="a" end=stop in=3 out=5`},
		{"the last event is the end, even without a stop reason", []string{messageStart, text, messageStop}, `text:1 | 0 text="a" end= in=3 out=1`},
		{"a null stop reason is none", []string{messageStart, text, `{"type":"message_delta","delta":{"stop_reason":null}}`}, `text:1 | 0 text="a" end= ! stream_truncated "the stream ended before the answer was complete" in=3 out=1`},
		{"cut", []string{messageStart, text}, `text:1 | 0 text="a" end= ! stream_truncated "the stream ended before the answer was complete" in=3 out=1`},
		{"the marker of a proxy", []string{messageStart, text, end, messageStop, "[DONE]"}, `text:1 | 0 text="a" end=stop in=3 out=5`},
		{"nothing counts after the end", []string{messageStart, text, end, messageStop, text}, `text:1 | 0 text="a" end=stop in=3 out=5`},
		{"signatures, citations and pings", []string{`{"type":"ping"}`, blockDelta(0, "signature_delta", "signature", "s"), `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, blockStart(1, `"type":"redacted_thinking","data":"x"`), blockStop(1), `{"type":"news"}`, text, end, messageStop}, `text:1 | 0 text="a" end=stop out=5`},
		{
			"a call in pieces, then another", []string{
				tool, blockDelta(0, "input_json_delta", "partial_json", ""), blockDelta(0, "input_json_delta", "partial_json", `{"a"`), blockDelta(0, "input_json_delta", "partial_json", `:1}`), blockStop(0),
				blockStart(1, `"type":"tool_use","id":"u","name":"g","input":{}`), blockDelta(1, "input_json_delta", "partial_json", `{}`), blockStop(1), messageDelta("tool_use", ``), messageStop,
			},
			`tool:1 tool:4 tool:3 tool:1 tool:2 | 0 call=t,f,{"a":1} call=u,g,{} end=tool_calls`,
		},
		{"a call without arguments", []string{tool, blockStop(0), messageDelta("tool_use", ``), messageStop}, `tool:1 tool:2 | 0 call=t,f,{} end=tool_calls`},
		{"a call with its arguments at the start", []string{blockStart(0, `"type":"tool_use","id":"t","name":"f","input":{"a": [1]}`), blockStop(0), messageDelta("tool_use", ``), messageStop}, `tool:1 tool:9 | 0 call=t,f,{"a":[1]} end=tool_calls`},
		{"arguments at the start and in pieces", []string{blockStart(0, `"type":"tool_use","id":"t","name":"f","input":{"a":1}`), blockDelta(0, "input_json_delta", "partial_json", `{"b":2}`), blockStop(0), messageDelta("tool_use", ``), messageStop}, `tool:1 tool:7 | 0 call=t,f,{"b":2} end=tool_calls`},
		{"arguments without a start", []string{blockDelta(0, "input_json_delta", "partial_json", `{}`), blockStop(0), messageDelta("tool_use", ``), messageStop}, `tool:2 | 0 call=,,{} end=tool_calls`},
		{"the server's own tools", []string{blockStart(0, `"type":"server_tool_use","id":"s","name":"web_search","input":{}`), blockDelta(0, "input_json_delta", "partial_json", `{"q":1}`), blockStop(0), blockStart(1, `"type":"web_search_tool_result","content":[]`), blockStop(1), blockDelta(2, "text_delta", "text", "a"), end, messageStop}, `text:1 | 0 text="a" end=stop out=5`},
		{
			"usage is merged key by key, cached input comes on top",
			[]string{`{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}}}`, text, messageDelta("max_tokens", `"input_tokens":null,"output_tokens":25,"output_tokens_details":{"thinking_tokens":4}`), messageStop},
			`text:1 | 0 text="a" end=length in=113 out=25 think=4 cached=100 write=10`,
		},
		{"a later input count replaces the first", []string{messageStart, text, messageDelta("end_turn", `"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":1`), messageStop}, `text:1 | 0 text="a" end=stop in=10 out=2 cached=1`},
		{"other reasons", []string{text, messageDelta("refusal", ``), messageStop}, `text:1 | 0 text="a" end=content_filter`},
		{"an unknown reason", []string{text, messageDelta("pause_turn", ``), messageStop}, `text:1 | 0 text="a" end=other`},
		{"an error without its line", []string{messageStart, text, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`}, `text:1 | 0 text="a" end= ! stream_error "Overloaded" in=3 out=1`},
		{"an error without a type", []string{`{"error":{"message":"prompt is too long"}}`}, `! context_overflow "prompt is too long"`},
		{"no output", []string{`{"type":"message_start","message":{}}`, messageStop}, `! empty_output "the answer holds no output"`},
		{"no visible output", []string{messageStart, end, messageStop}, `| 0 end=stop no_visible_output:1 in=3 out=5`},
		{"odd types", []string{`{"type":"message_start","message":3}`, `{"type":"content_block_start","content_block":[]}`, `{"type":"content_block_delta","index":"x","delta":{"type":"text_delta","text":{}}}`, `{"type":"content_block_stop","index":-1}`, text, end, messageStop}, `text:1 | 0 text="a" end=stop out=5`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := lookup(t, "messages").Decode(sse(tt.events...), true)
			got := show(a)
			if a.Usage != nil {
				got += " " + showUsage(a.Usage)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadMessagesDocument(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{
			"everything in order",
			`{"id":"msg","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"},` +
				`{"type":"server_tool_use","name":"s","input":{}},{"type":"tool_use","id":"t","name":"f","input":{"a": 1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
			`reasoning:1 text:1 tool:8 | 0 text="a" think="h" call=t,f,{"a":1} end=tool_calls`,
		},
		{"a gateway that leaves the type out", `{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`, `text:1 | 0 text="a" end=stop`},
		{"no output", `{"type":"message","content":[],"stop_reason":"end_turn"}`, `| 0 end=stop ! empty_output "the answer holds no output"`},
		{"an error", `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`, `! server_error "bad"`},
		{"an error of another kind", `{"object":"error","message":"bad","code":404}`, `! not_found "bad" code=404`},
		{"something else", `{"ok":true}`, `! malformed_response "the body is JSON without an answer: {\"ok\":true}"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(lookup(t, "messages").Decode(wholeBody(tt.body), false))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMessagesErrors: statuses and bodies of refusals.
func TestMessagesErrors(t *testing.T) {
	body := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	f := lookup(t, "messages").Decode(&bench.Response{Status: 529, Framing: bench.FramingJSON, Body: []byte(body), BodyAt: 1}, true).Failure
	if f == nil || f.Class != bench.Overloaded || f.Message != "Overloaded" || f.Type != "overloaded_error" {
		t.Errorf("failure = %+v, want overloaded", f)
	}
}
