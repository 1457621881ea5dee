package endpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// raw is a turn of chat messages.
func raw(messages string) bench.Turn { return bench.Turn{Messages: json.RawMessage(messages)} }

// TestChatMessages: turns that hold messages of the chat API.
func TestChatMessages(t *testing.T) {
	const tool = `[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]`
	called := raw(`[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{\"a\":1}"}}]},` +
		`{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"one"}]}]`)
	withTool := called
	withTool.Tools = json.RawMessage(tool)
	for _, tt := range []struct {
		name, kind string
		req        Request
		want       string // the body without its other members, or the start of the error
	}{
		{"as they are", "chat", Request{System: "S", Turn: raw(` [ {"role":"user","content":[{"type":"image_url"}]},{"role":"x"} ] `)},
			`{"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"image_url"}]},{"role":"x"}]}`},
		{"with tools", "chat", Request{Turn: withTool}, `{"messages":` + string(called.Messages) + `,"tools":` + tool + `}`},
		{"as deltas with live answers", "chat", Request{
			History: []bench.Exchange{{Turn: raw(`[{"role":"system","content":"S"},{"role":"user","content":"1"}]`), Answer: bench.Choice{Text: "A"}}, {Turn: raw(`[]`), Unanswered: true}},
			Turn:    raw(`[{"role":"user","content":"2"}]`),
		}, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"user","content":"2"}]}`},
		{"no answer is sent", "chat", Request{History: []bench.Exchange{{Turn: user("1"), Unanswered: true}}, Turn: user("2")},
			`{"messages":[{"role":"user","content":"1"},{"role":"user","content":"2"}]}`},

		{"items", "responses", Request{Turn: withTool}, `{"input":[{"type":"message","role":"user","content":"go"},` +
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"g","arguments":"{\"a\":1}"},` +
			`{"type":"function_call_output","call_id":"c1","output":"one"},{"type":"function_call_output","call_id":"c2","output":"two"}],` +
			`"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}]}`},
		{"deltas of items", "responses", Request{
			History: []bench.Exchange{{Turn: raw(`[{"role":"system","content":"S"},{"role":"user","content":"1"}]`), Answer: bench.Choice{Text: "A"}}},
			Turn:    raw(`[{"role":"user","content":"2"}]`),
		}, `{"input":[{"type":"message","role":"user","content":"1"},{"type":"message","role":"assistant","content":"A"},{"type":"message","role":"user","content":"2"}],"instructions":"S"}`},
		{"no answer among items", "responses", Request{History: []bench.Exchange{{Turn: user("1"), Unanswered: true}}, Turn: user("2")},
			`{"input":[{"type":"message","role":"user","content":"1"},{"type":"message","role":"user","content":"2"}]}`},

		{"blocks", "messages", Request{Turn: withTool}, `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[` +
			`{"type":"tool_use","id":"c1","name":"f","input":{}},{"type":"tool_use","id":"c2","name":"g","input":{"a":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"two"}]}],` +
			`"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}]}`},
		{"no answer among blocks", "messages", Request{History: []bench.Exchange{{Turn: user("1"), Unanswered: true}}, Turn: user("2")},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}]}`},

		{"an image", "responses", Request{Turn: raw(`[{"role":"user","content":[{"type":"image_url"}]}]`)}, `message 0: content of type "image_url": this endpoint type takes only texts`},
		{"an answer at the end", "messages", Request{Turn: raw(`[{"role":"user","content":"1"},{"role":"assistant","content":"2"}]`)}, "messages: the last one is of the assistant"},
		{"a result for nothing", "messages", Request{Turn: raw(`[{"role":"tool","tool_call_id":"x","content":"1"}]`)}, "message 0: role tool: there is no tool call before it"},
		{"a result for another call", "responses", Request{Turn: raw(`[{"role":"user","content":"1"},{"role":"tool","tool_call_id":"x","content":"1"}]`)}, `message 1: tool_call_id "x": no tool call before it has this id`},
		{"no list", "responses", Request{Turn: raw(`{}`)}, "messages: must be a list"},
		{"a number", "responses", Request{Turn: raw(`[{"role":"user","content":1}]`)}, "message 0: content: must be a text"},
		{"another tool", "messages", Request{Turn: bench.Turn{Texts: []string{"x"}, Tools: json.RawMessage(`[{"type":"web"}]`)}}, "tool 0: must be of type function"},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			kind, ok := Lookup(tt.kind)
			if !ok || !kind.Messages {
				t.Fatal("the kind takes no chat messages")
			}
			tt.req.Settings, tt.req.Model = &Settings{}, "M"
			body, err := kind.Body(nil, &tt.req)
			if err != nil {
				if !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("error %q, want %q", err, tt.want)
				}
				return
			}
			var got, want map[string]json.RawMessage
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatalf("no error, want %q", tt.want)
			}
			for _, other := range []string{"model", "stream", "max_tokens", "store"} {
				delete(got, other)
			}
			if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// texts returns the members of an object as texts.
func texts(members map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for name, value := range members {
		out[name] = string(value)
	}
	return out
}

// FuzzChatMessages: whatever a dataset has for messages becomes JSON or an error.
func FuzzChatMessages(f *testing.F) {
	f.Add(`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1"}]`)
	f.Add(`[{"role":"tool"},{"role":"tool"}]`)
	f.Fuzz(func(t *testing.T, messages string) {
		if !json.Valid([]byte(messages)) || !strings.HasPrefix(strings.TrimSpace(messages), "[") {
			return // what readers check
		}
		for _, name := range []string{"chat", "responses", "messages"} {
			kind, _ := Lookup(name)
			body, err := kind.Body(nil, &Request{Model: "M", Turn: raw(messages), History: []bench.Exchange{{Turn: raw(messages), Answer: bench.Choice{Text: "x"}}}, Settings: &Settings{}})
			if err == nil && !json.Valid(body) {
				t.Errorf("%s: %s", name, body)
			}
		}
	})
}
