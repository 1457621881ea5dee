package endpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/endpoint/openai"
)

func fields(t testing.TB, object string) []Field {
	t.Helper()
	f, err := codec.Fields([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func user(texts ...string) bench.Turn { return bench.Turn{Texts: texts} }

// streaming is the default of runs.
func streaming() *Settings { return &Settings{Streaming: true, StreamUsage: true} }

func withExtra(t testing.TB, s *Settings, object string) *Settings {
	t.Helper()
	s.Extra = fields(t, object)
	return s
}

func TestEncodeChat(t *testing.T) {
	const hi = `[{"role":"user","content":"Hi"}]`
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{
			"minimal", Request{Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}, Settings: streaming()},
			`{"model":"M","messages":` + hi + `,"stream":true,"max_completion_tokens":7,"stream_options":{"include_usage":true}}`,
		},
		{
			"not streaming", Request{Turn: user("Hi"), Settings: &Settings{StreamUsage: true, PerChunkUsage: true}},
			`{"model":"M","messages":` + hi + `,"stream":false}`,
		},
		{
			"legacy length, usage on every chunk",
			Request{Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7, Model: "T"}, Settings: &Settings{Streaming: true, StreamUsage: true, PerChunkUsage: true, LegacyMaxTokens: true}},
			`{"model":"T","messages":` + hi + `,"stream":true,"max_tokens":7,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		},
		{
			"no usage asked for", Request{Turn: user("Hi"), Settings: &Settings{Streaming: true, PerChunkUsage: true}},
			`{"model":"M","messages":` + hi + `,"stream":true}`,
		},
		{
			"text is escaped as JSON demands, no more", Request{Turn: user("<a&b> \"\\/\n\r\t\x01é\xff\u2028"), Settings: &Settings{}},
			`{"model":"M","messages":[{"role":"user","content":"<a&b> \"\\/\n\r\t\u0001é` + "\ufffd\u2028" + `"}],"stream":false}`,
		},
		{
			"no text and several texts",
			Request{History: []bench.Exchange{{Turn: user(), Answer: bench.Choice{}}}, Turn: user("a", "b"), Settings: &Settings{}},
			`{"model":"M","messages":[{"role":"user","content":""},{"role":"assistant","content":""},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"stream":false}`,
		},
		{
			"system, context, history with tools",
			Request{
				System: "S", Context: "C", Settings: &Settings{},
				History: []bench.Exchange{
					{Turn: user("1"), Answer: bench.Choice{Text: "A", Reasoning: "hidden"}},
					{Turn: user("2"), Answer: bench.Choice{ToolCalls: []bench.ToolCall{{ID: "c1", Name: "f", Arguments: `{"x":1}`}, {ID: "c2", Name: "g"}}}},
					{Turn: bench.Turn{Role: "tool", Texts: []string{"3"}}, Answer: bench.Choice{Text: "B", ToolCalls: []bench.ToolCall{{ID: "c3", Name: "h", Arguments: "{}"}}}},
				},
				Turn: user("4"),
			},
			`{"model":"M","messages":[{"role":"system","content":"S"},{"role":"user","content":"C"},{"role":"user","content":"1"},{"role":"assistant","content":"A"},` +
				`{"role":"user","content":"2"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"3"},{"role":"tool","tool_call_id":"c2","content":""},{"role":"assistant","content":"B","tool_calls":[{"id":"c3","type":"function","function":{"name":"h","arguments":"{}"}}]},{"role":"user","content":"4"}],"stream":false}`,
		},
		{
			"a tool's turn without a call",
			Request{Settings: &Settings{}, History: []bench.Exchange{{Turn: user("1"), Answer: bench.Choice{Text: "A"}}}, Turn: bench.Turn{Role: "tool", Texts: []string{"2"}}},
			`{"model":"M","messages":[{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"tool","content":"2"}],"stream":false}`,
		},
		{
			"all parts of the API, in its order",
			Request{Settings: &Settings{}, Turn: bench.Turn{
				Texts: []string{"T"}, Images: []bench.Media{photo, pixel}, Audios: []bench.Media{wave, {URL: "https://x/a.mp3"}},
				Videos: []bench.Media{{URL: "https://x/a.mp4"}, {MIME: "video/mp4", Data: []byte("MP4")}},
			}},
			`{"model":"M","messages":[{"role":"user","content":[{"type":"text","text":"T"},{"type":"image_url","image_url":{"url":"https://x/a.png"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}},` +
				`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"audio_url","audio_url":{"url":"https://x/a.mp3"}},` +
				`{"type":"video_url","video_url":{"url":"https://x/a.mp4"}},{"type":"video_url","video_url":{"url":"data:video/mp4;base64,TVA0"}}]}],"stream":false}`,
		},
		{
			"keys of images",
			Request{Settings: &Settings{}, Turn: bench.Turn{Images: []bench.Media{{URL: "https://x/a.png", UUID: "k\"1"}, {UUID: "k2"}}}},
			`{"model":"M","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/a.png"},"uuid":"k\"1"},` +
				`{"type":"image_url","image_url":{"url":""},"uuid":"k2"}]}],"stream":false}`,
		},
		{
			"the data starts with a system message of its own",
			Request{
				System: "S", Context: "C", Settings: &Settings{},
				History: []bench.Exchange{{Turn: bench.Turn{Role: "system", Texts: []string{"D"}}, Answer: bench.Choice{Text: "A"}}}, Turn: user("1"),
			},
			`{"model":"M","messages":[{"role":"system","content":"S\n\nD"},{"role":"user","content":"C"},{"role":"assistant","content":"A"},{"role":"user","content":"1"}],"stream":false}`,
		},
		{
			"a system turn in parts, alone",
			Request{System: "S", Settings: &Settings{}, Turn: bench.Turn{Role: "system", Texts: []string{"D", "E"}}},
			`{"model":"M","messages":[{"role":"system","content":[{"type":"text","text":"S"},{"type":"text","text":"D"},{"type":"text","text":"E"}]}],"stream":false}`,
		},
		{
			"extra replaces, adds, keeps null and numbers; the turn's wins",
			Request{
				Settings: withExtra(t, streaming(), `{"temperature": 0.70, "seed":12345678901234567890, "user":null, "model":"X", "stop":["<"]}`),
				Turn:     bench.Turn{Texts: []string{"Hi"}, ExtraBody: json.RawMessage(` {"temperature":1e400,"n":2} `)},
			},
			`{"model":"X","messages":` + hi + `,"stream":true,"stream_options":{"include_usage":true},"temperature":1e400,"seed":12345678901234567890,"user":null,"stop":["<"],"n":2}`,
		},
		{
			"stream_options are merged key by key",
			Request{
				Settings: withExtra(t, streaming(), `{"stream_options":{"include_usage":false,"a":1}}`),
				Turn:     bench.Turn{Texts: []string{"Hi"}, ExtraBody: json.RawMessage(`{"stream_options":{"a":2,"b":3}}`)},
			},
			`{"model":"M","messages":` + hi + `,"stream":true,"stream_options":{"include_usage":false,"a":2,"b":3}}`,
		},
		{
			"stream_options null is absent",
			Request{
				Settings: withExtra(t, streaming(), `{"stream_options":{"a":1}}`),
				Turn:     bench.Turn{Texts: []string{"Hi"}, ExtraBody: json.RawMessage(`{"stream_options": null}`)},
			},
			`{"model":"M","messages":` + hi + `,"stream":true,"stream_options":{"include_usage":true,"a":1}}`,
		},
		{
			"stream_options of another type are the user's business",
			Request{Settings: withExtra(t, streaming(), `{"stream_options":"x"}`), Turn: user("Hi")},
			`{"model":"M","messages":` + hi + `,"stream":true,"stream_options":"x"}`,
		},
		{
			"extra turns streaming off",
			Request{Settings: withExtra(t, streaming(), `{"stream":false}`), Turn: user("Hi")},
			`{"model":"M","messages":` + hi + `,"stream":false}`,
		},
		{
			"the user's length field wins over ours",
			Request{Settings: withExtra(t, &Settings{}, `{"max_tokens":3}`), Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}},
			`{"model":"M","messages":` + hi + `,"stream":false,"max_tokens":3}`,
		},
		{
			"the user's two length fields both stay",
			Request{Settings: withExtra(t, &Settings{}, `{"max_tokens":3,"max_completion_tokens":4}`), Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}},
			`{"model":"M","messages":` + hi + `,"stream":false,"max_completion_tokens":4,"max_tokens":3}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkEncode(t, "chat", tt.req, tt.want)
		})
	}
}

func TestEncodeCompletions(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{
			"minimal", Request{Turn: bench.Turn{Texts: []string{"P"}, MaxTokens: 7}, Settings: streaming()},
			`{"model":"M","prompt":"P","stream":true,"max_tokens":7,"stream_options":{"include_usage":true}}`,
		},
		{
			"everything is joined with spaces",
			Request{
				System: "S", Context: "C", Settings: &Settings{}, Turn: user("x", "y"),
				History: []bench.Exchange{{Turn: user("1", "2"), Answer: bench.Choice{Text: "A"}}},
			},
			`{"model":"M","prompt":"S C 1 2 A x y","stream":false}`,
		},
		{"no text", Request{Settings: &Settings{}}, `{"model":"M","prompt":"","stream":false}`},
		{
			"the user's length field wins over ours",
			Request{Settings: withExtra(t, &Settings{LegacyMaxTokens: true}, `{"max_completion_tokens":3}`), Turn: bench.Turn{MaxTokens: 7}},
			`{"model":"M","prompt":"","stream":false,"max_completion_tokens":3}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkEncode(t, "completions", tt.req, tt.want)
		})
	}
}

// checkEncode compares a body, and checks that encoding appends, changes
// nothing and is repeatable.
func checkEncode(t *testing.T, kind string, req Request, want string) {
	t.Helper()
	req.Model = "M"
	before := render(t, req)
	for range 2 {
		got, err := lookup(t, kind).Encode([]byte("> "), &req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("> "+want, string(got)); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}
	if !json.Valid([]byte(want)) {
		t.Error("the wanted body is not JSON")
	}
	if after := render(t, req); after != before {
		t.Errorf("encoding changed the request:\n%s\nwas\n%s", after, before)
	}
}

func render(t *testing.T, req Request) string {
	t.Helper()
	data, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEncodeErrors(t *testing.T) {
	for _, extra := range []string{`[]`, `{"a":}`, `{"a":1}{}`, `{"a":1`, `x`} {
		for _, kind := range []Kind{openai.Chat(), openai.Completions()} {
			req := Request{Settings: &Settings{}, Turn: bench.Turn{ExtraBody: json.RawMessage(extra)}}
			if _, err := kind.Encode(nil, &req); err == nil || !strings.Contains(err.Error(), "extra body") {
				t.Errorf("%s with extra body %s: %v, want an error about it", kind.Name, extra, err)
			}
		}
	}
}

func BenchmarkEncodeChat(b *testing.B) {
	req := Request{Model: "m", Turn: bench.Turn{Texts: []string{strings.Repeat("some words, ", 400)}, MaxTokens: 100}, Settings: streaming()}
	var dst []byte
	k := lookup(b, "chat")
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = k.Encode(dst[:0], &req)
	}
}

// TestBodyAllocations: the body of a chat request stays within its budget, see
// docs/accuracy.md.
func TestBodyAllocations(t *testing.T) {
	kind, ok := Lookup("chat")
	if !ok {
		t.Fatal("no endpoint type chat")
	}
	r := &Request{Model: "m", Turn: user(strings.Repeat("the keeper of the light ", 100)), Settings: streaming()}
	r.Turn.MaxTokens = 16
	// 10 are usual; the race detector makes sync.Pool lose one of them now and then.
	const budget = 11
	if n := testing.AllocsPerRun(100, func() {
		if _, err := kind.Body(nil, r); err != nil {
			t.Fatal(err)
		}
	}); n > budget {
		t.Errorf("%v allocations per body, want at most %d", n, budget)
	}
}
