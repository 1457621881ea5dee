package endpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// Media of tests: an image by address, an image and an audio clip with their content.
var (
	photo = bench.Media{URL: "https://x/a.png"}
	pixel = bench.Media{MIME: "image/png", Data: []byte("PNG")}
	wave  = bench.Media{MIME: "audio/wav", Data: []byte("RIFF")}
)

// toolHistory is a history with calls of tools and their results.
func toolHistory() []bench.Exchange {
	return []bench.Exchange{
		{Turn: user("1"), Answer: bench.Choice{Text: "A", Reasoning: "hidden"}},
		{Turn: user("2"), Answer: bench.Choice{ToolCalls: []bench.ToolCall{{ID: "c1", Name: "f", Arguments: `{"x":1}`}, {ID: "c2", Name: "g"}}}},
		{Turn: bench.Turn{Role: "tool", Texts: []string{"3", "4", "5"}}, Answer: bench.Choice{Text: "B", ToolCalls: []bench.ToolCall{{ID: "c3", Name: "h", Arguments: `{"cut`}}}},
		{Turn: bench.Turn{Role: "tool"}, Answer: bench.Choice{Refusal: "no"}},
	}
}

func TestEncodeResponses(t *testing.T) {
	const hi = `[{"type":"message","role":"user","content":"Hi"}]`
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{
			"minimal: usage comes unasked", Request{Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}, Settings: &Settings{Streaming: true}},
			`{"model":"M","input":` + hi + `,"stream":true,"max_output_tokens":7}`,
		},
		{
			"instructions, and usage asked for", Request{System: "S", Turn: user("Hi"), Settings: streaming()},
			`{"model":"M","input":` + hi + `,"stream":true,"stream_options":{"include_usage":true},"instructions":"S"}`,
		},
		{
			"not streaming; the older length field has no meaning here",
			Request{Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7, Model: "T"}, Settings: &Settings{StreamUsage: true, LegacyMaxTokens: true}},
			`{"model":"T","input":` + hi + `,"stream":false,"max_output_tokens":7}`,
		},
		{
			"parts in the order of the API: texts, images, audios",
			Request{Turn: bench.Turn{Texts: []string{"a", "b"}, Images: []bench.Media{photo, pixel}, Audios: []bench.Media{wave}}, Settings: &Settings{}},
			`{"model":"M","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"},` +
				`{"type":"input_image","image_url":"https://x/a.png"},{"type":"input_image","image_url":"data:image/png;base64,UE5H"},` +
				`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}],"stream":false}`,
		},
		{
			"an image alone, and an answer that the data scripts", Request{
				History: []bench.Exchange{{Turn: bench.Turn{Images: []bench.Media{photo}}}},
				Turn:    bench.Turn{Role: "assistant", Texts: []string{"a", "b"}}, Settings: &Settings{},
			},
			`{"model":"M","input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"https://x/a.png"}]},` +
				`{"type":"message","role":"assistant","content":""},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}],"stream":false}`,
		},
		{
			"context, history with tools", Request{Context: "C", Settings: &Settings{}, History: toolHistory(), Turn: user("6")},
			`{"model":"M","input":[{"type":"message","role":"user","content":"C"},{"type":"message","role":"user","content":"1"},{"type":"message","role":"assistant","content":"A"},` +
				`{"type":"message","role":"user","content":"2"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"},{"type":"function_call","call_id":"c2","name":"g","arguments":""},` +
				`{"type":"function_call_output","call_id":"c1","output":"3"},{"type":"function_call_output","call_id":"c2","output":"4\n5"},` +
				`{"type":"message","role":"assistant","content":"B"},{"type":"function_call","call_id":"c3","name":"h","arguments":"{\"cut"},` +
				`{"type":"function_call_output","call_id":"c3","output":""},{"type":"message","role":"assistant","content":"no"},{"type":"message","role":"user","content":"6"}],"stream":false}`,
		},
		{
			"a tool's turn after an answer without calls can only be told",
			Request{History: []bench.Exchange{{Turn: user("1"), Answer: bench.Choice{Text: "A"}}}, Turn: bench.Turn{Role: "tool", Texts: []string{"2"}}, Settings: &Settings{}},
			`{"model":"M","input":[{"type":"message","role":"user","content":"1"},{"type":"message","role":"assistant","content":"A"},{"type":"message","role":"user","content":"2"}],"stream":false}`,
		},
		{
			"the data starts with a system message of its own",
			Request{
				System: "S", Context: "C", Settings: &Settings{},
				History: []bench.Exchange{{Turn: bench.Turn{Role: "system", Texts: []string{"D", "E"}}, Answer: bench.Choice{Text: "A"}}}, Turn: user("1"),
			},
			`{"model":"M","input":[{"type":"message","role":"user","content":"C"},{"type":"message","role":"assistant","content":"A"},{"type":"message","role":"user","content":"1"}],"stream":false,"instructions":"S\n\nD\n\nE"}`,
		},
		{
			"a system turn alone stays", Request{System: "S", Settings: &Settings{}, Turn: bench.Turn{Role: "system", Texts: []string{"D"}}},
			`{"model":"M","input":[{"type":"message","role":"system","content":"D"}],"stream":false,"instructions":"S"}`,
		},
		{
			"extra goes through untouched", Request{
				Settings: withExtra(t, &Settings{Streaming: true}, `{"temperature":0.7,"tools":[{"type":"function","name":"f","parameters":{}}],"reasoning":{"effort":"low"},"ignore_eos":true,"stream_options":{"include_obfuscation":false}}`),
				Turn:     bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7, ExtraBody: json.RawMessage(`{"temperature":1,"max_output_tokens":9,"max_tokens":5,"instructions":"X"}`)},
			},
			`{"model":"M","input":` + hi + `,"stream":true,"max_output_tokens":9,"stream_options":{"include_obfuscation":false},"temperature":1,` +
				`"tools":[{"type":"function","name":"f","parameters":{}}],"reasoning":{"effort":"low"},"ignore_eos":true,"max_tokens":5,"instructions":"X"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkEncode(t, "responses", tt.req, tt.want)
		})
	}
}

func TestEncodeMessages(t *testing.T) {
	const hi = `[{"role":"user","content":"Hi"}]`
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{
			"minimal: a length is mandatory, usage comes unasked", Request{Turn: user("Hi"), Settings: streaming()},
			`{"model":"M","messages":` + hi + `,"stream":true,"max_tokens":1024}`,
		},
		{
			"system", Request{System: "S", Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}, Settings: &Settings{}},
			`{"model":"M","messages":` + hi + `,"stream":false,"max_tokens":7,"system":"S"}`,
		},
		{
			"images", Request{Turn: bench.Turn{Texts: []string{"a", ""}, Images: []bench.Media{photo, pixel}}, Settings: &Settings{}},
			`{"model":"M","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"https://x/a.png"}},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5H"}}]}],"stream":false,"max_tokens":1024}`,
		},
		{
			"roles take turns; tools", Request{Context: "C", Settings: &Settings{}, History: toolHistory(), Turn: user("6")},
			`{"model":"M","messages":[{"role":"user","content":[{"type":"text","text":"C"},{"type":"text","text":"1"}]},{"role":"assistant","content":"A"},{"role":"user","content":"2"},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"x":1}},{"type":"tool_use","id":"c2","name":"g","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"3"},{"type":"tool_result","tool_use_id":"c2","content":"4\n5"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"B"},{"type":"tool_use","id":"c3","name":"h","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":""}]},{"role":"assistant","content":"no"},{"role":"user","content":"6"}],"stream":false,"max_tokens":1024}`,
		},
		{
			"a tool's turn after an answer without calls can only be told",
			Request{History: []bench.Exchange{{Turn: user("1"), Answer: bench.Choice{Text: "A"}}}, Turn: bench.Turn{Role: "tool", Texts: []string{"2"}}, Settings: &Settings{}},
			`{"model":"M","messages":[{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"user","content":"2"}],"stream":false,"max_tokens":1024}`,
		},
		{
			"the data starts with a system message of its own",
			Request{System: "S", Settings: &Settings{}, History: []bench.Exchange{{Turn: bench.Turn{Role: "system", Texts: []string{"D"}}}}, Turn: user("1")},
			`{"model":"M","messages":[{"role":"assistant","content":""},{"role":"user","content":"1"}],"stream":false,"max_tokens":1024,"system":"S\n\nD"}`,
		},
		{"no text", Request{Settings: &Settings{}}, `{"model":"M","messages":[{"role":"user","content":""}],"stream":false,"max_tokens":1024}`},
		{
			"stop strings are renamed, the rest goes through untouched", Request{
				Settings: withExtra(t, streaming(), `{"stop": "x", "tools":[{"name":"f","input_schema":{}}],"stream_options":{"a":1}}`),
				Turn:     bench.Turn{Texts: []string{"Hi"}, ExtraBody: json.RawMessage(`{"max_tokens":3,"thinking":{"type":"enabled","budget_tokens":2}}`)},
			},
			`{"model":"M","messages":` + hi + `,"stream":true,"max_tokens":3,"stream_options":{"a":1},"tools":[{"name":"f","input_schema":{}}],"thinking":{"type":"enabled","budget_tokens":2},"stop_sequences":["x"]}`,
		},
		{
			"a list of stop strings", Request{Settings: withExtra(t, &Settings{}, `{"stop":["x","y"]}`), Turn: user("Hi")},
			`{"model":"M","messages":` + hi + `,"stream":false,"max_tokens":1024,"stop_sequences":["x","y"]}`,
		},
		{
			"the API's own name wins", Request{Settings: withExtra(t, &Settings{}, `{"stop_sequences":["z"],"stop":["x"]}`), Turn: user("Hi")},
			`{"model":"M","messages":` + hi + `,"stream":false,"max_tokens":1024,"stop_sequences":["z"]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkEncode(t, "messages", tt.req, tt.want)
		})
	}
}

// TestEncodeRefused: what an API has no words for is an error when the body is made.
func TestEncodeRefused(t *testing.T) {
	for _, tt := range []struct {
		kind string
		turn bench.Turn
		want string
	}{
		{"responses", bench.Turn{Videos: []bench.Media{{URL: "http://x"}}}, "responses takes no video"},
		{"responses", bench.Turn{Audios: []bench.Media{{URL: "http://x/a.wav"}}}, `audio "http://x/a.wav": endpoint type responses needs audio data`},
		{"messages", bench.Turn{Audios: []bench.Media{wave}}, "messages takes no audio"},
		{"messages", bench.Turn{Videos: []bench.Media{{URL: "http://x"}}}, "messages takes no video"},
		{"messages", bench.Turn{Role: "developer", Texts: []string{"x"}}, `role "developer": endpoint type messages takes user, assistant and tool`},
	} {
		kind := lookup(t, tt.kind)
		for _, history := range [][]bench.Exchange{nil, {{Turn: tt.turn}}} {
			req := Request{Model: "M", Settings: &Settings{}, History: history, Turn: tt.turn}
			if _, err := kind.Body(nil, &req); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s of %+v: %v, want an error with %q", tt.kind, tt.turn, err, tt.want)
			}
		}
	}
}

func TestAuthorizeMessages(t *testing.T) {
	for _, tt := range []struct {
		key   string
		hosts []string
		want  map[string][]string
	}{
		{"", []string{"h:8000"}, map[string][]string{"Anthropic-Version": {"2023-06-01"}}},
		{"k", []string{"api.anthropic.com"}, map[string][]string{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k"}}},
		{"k", []string{"API.Anthropic.com:443", "anthropic.com"}, map[string][]string{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k"}}},
		{"k", []string{"localhost:8000"}, map[string][]string{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k"}, "Authorization": {"Bearer k"}}},
		{"k", []string{"notanthropic.com"}, map[string][]string{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k"}, "Authorization": {"Bearer k"}}},
	} {
		h := map[string][]string{}
		lookup(t, "anthropic").Authorize(h, tt.key, tt.hosts)
		if diff := cmp.Diff(tt.want, h); diff != "" {
			t.Errorf("headers for %q at %v (-want +got):\n%s", tt.key, tt.hosts, diff)
		}
	}
}
