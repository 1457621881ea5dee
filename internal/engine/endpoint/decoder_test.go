package endpoint

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
	"aiperfd/internal/engine/eventlog"
)

// sse returns a clean stream of the given data, one event a millisecond; a last
// item "[DONE]" is the marker.
func sse(data ...string) *bench.Response {
	resp := &bench.Response{Status: 200, Framing: bench.FramingSSE}
	for i, s := range data {
		if s == "[DONE]" {
			resp.Done = true
			continue
		}
		resp.Events.Append(eventlog.Event{At: time.Duration(i+1) * time.Millisecond, Read: int32(i + 1), Data: []byte(s)})
	}
	return resp
}

func wholeBody(body string) *bench.Response {
	return &bench.Response{Status: 200, Framing: bench.FramingJSON, Body: []byte(body), BodyAt: 9 * time.Millisecond}
}

// delta returns a chunk of choice 0.
func delta(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// show renders an answer as text: its chunks, choices, and how it ended.
func show(a bench.Answer) string {
	var b strings.Builder
	for _, c := range a.Chunks {
		fmt.Fprintf(&b, "%s:%d", c.Kind, c.Bytes)
		if c.Tokens != 0 {
			fmt.Fprintf(&b, "/%d", c.Tokens)
		}
		if c.Choice != 0 {
			fmt.Fprintf(&b, "@%d", c.Choice)
		}
		b.WriteByte(' ')
	}
	if a.TailTokens != 0 {
		fmt.Fprintf(&b, "tail/%d ", a.TailTokens)
	}
	for _, c := range a.Choices {
		fmt.Fprintf(&b, "| %d", c.Index)
		for _, side := range [][2]string{{"text", c.Text}, {"think", c.Reasoning}, {"refuse", c.Refusal}} {
			if side[1] != "" {
				fmt.Fprintf(&b, " %s=%q", side[0], side[1])
			}
		}
		for _, call := range c.ToolCalls {
			fmt.Fprintf(&b, " call=%s,%s,%s", call.ID, call.Name, call.Arguments)
		}
		fmt.Fprintf(&b, " end=%s ", c.Finish)
	}
	if a.Failure != nil {
		fmt.Fprintf(&b, "! %s %q", a.Failure.Class, a.Failure.Message)
		if a.Failure.Code != "" {
			fmt.Fprintf(&b, " code=%s", a.Failure.Code)
		}
	}
	names := make([]string, 0, len(a.Warnings))
	for name, n := range a.Warnings {
		names = append(names, fmt.Sprintf("%s:%d", name, n))
	}
	slices.Sort(names)
	return strings.TrimSpace(strings.TrimSpace(b.String()) + " " + strings.Join(names, " "))
}

func TestDecodeStream(t *testing.T) {
	text := delta(`"content":"a"`)
	for _, tt := range []struct {
		name string
		resp *bench.Response
		want string
	}{
		{"refusal", sse(delta(`"refusal":"no"`), stop, "[DONE]"), `refusal:2 | 0 refuse="no" end=stop`},
		{
			"reasoning: the first spelling that says something", sse(delta(`"reasoning_content":"","reasoning":"B"`), stop, "[DONE]"),
			`reasoning:1 | 0 think="B" end=stop`,
		},
		{
			"content in typed parts",
			sse(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]},{"type":"text","text":"x"}]`), stop, "[DONE]"),
			`reasoning:2 text:1 | 0 text="x" think="hm" end=stop`,
		},
		{
			"message instead of delta, text instead of either", sse(`{"choices":[{"message":{"content":"ab"}}]}`, `{"choices":[{"text":"c","finish_reason":"eos_token"}]}`, "[DONE]"),
			`text:2 text:1 | 0 text="abc" end=stop`,
		},
		{
			"message beside delta repeats", sse(`{"choices":[{"delta":{"content":"ab"},"message":{"content":"ab"},"text":"ab","finish_reason":"stop"}]}`, "[DONE]"),
			`text:2 | 0 text="ab" end=stop`,
		},
		{
			"tool calls without index",
			sse(delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]`), delta(`"tool_calls":[{"function":{"name":"f","arguments":"}"}}]`),
				delta(`"tool_calls":[{"id":"b","function":{"name":"g","arguments":{"x": [1, "y"]}}}]`), stop, "[DONE]"),
			`tool:2 tool:1 tool:14 | 0 call=a,f,{} call=b,g,{"x":[1,"y"]} end=stop`,
		},
		{
			"tool calls out of order", sse(delta(`"tool_calls":[{"index":1,"id":"b","function":{"name":"g"}},{"index":0,"id":"a","function":{"name":"f"}}]`), stop, "[DONE]"),
			`tool:1 tool:1 | 0 call=a,f, call=b,g, end=stop`,
		},
		{
			"legacy function call", sse(delta(`"function_call":{"name":"f","arguments":""}`), delta(`"function_call":{"arguments":"{}"}`), `{"choices":[{"delta":{},"finish_reason":"function_call"}]}`, "[DONE]"),
			`tool:1 tool:2 | 0 call=,f,{} end=function_call`,
		},
		{
			"audio with transcript", sse(delta(`"audio":{"id":"x","transcript":"hi","data":"AAAAAA=="}`), stop, "[DONE]"),
			`text:2 audio:4 | 0 text="hi" end=stop`,
		},
		{
			"bare NaN", sse(`{"choices":[{"index":0,"delta":{"content":"NaN"},"logprobs":[NaN,-Infinity,Infinity],"finish_reason":"stop"}]}`, "[DONE]"),
			`text:3 | 0 text="NaN" end=stop repaired_event:1`,
		},
		{"raw control character", sse(text, delta("\"content\":\"b\nc\""), stop, "[DONE]"), `text:1 | 0 text="a" end=stop malformed_event:1`},
		{
			"not UTF-8, one replacement a sequence", sse(delta("\"content\":\"a\xe2\x82b\xff\xffc\""), stop, "[DONE]"),
			`text:12 | 0 text="a` + "\ufffdb\ufffd\ufffd" + `c" end=stop invalid_utf8:1`,
		},
		{
			"half a surrogate pair", sse(delta(`"content":"\ud83d \ud83d\ude00 \\ud83d \ude00"`), stop, "[DONE]"),
			`text:19 | 0 text="` + "\ufffd \U0001F600 \\\\ud83d \ufffd" + `" end=stop`,
		},
		{"scalars and lists are no events", sse("1", `"x"`, `[1]`, text, stop, "[DONE]"), `text:1 | 0 text="a" end=stop malformed_event:3`},
		{"nothing readable", sse("x", "{", "[DONE]"), `! malformed_response "no event of the stream could be read" malformed_event:2`},
		{"only the marker", sse("[DONE]"), `! empty_response "the stream has no event"`},
		{"no output", sse(delta(`"role":"assistant","content":""`), stop, "[DONE]"), `| 0 end=stop ! empty_output "the answer holds no output"`},
		{
			"no visible output", sse(stop, `{"choices":[],"usage":{"completion_tokens":3}}`, "[DONE]"),
			`| 0 end=stop no_visible_output:1`,
		},
		{"no choice at all but the marker", sse(`{"choices":[]}`, "[DONE]"), `! empty_output "the answer holds no output"`},
		{"one of two choices is open", sse(text, `{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}`), `text:1 text:1@1 | 0 text="a" end= | 1 text="b" end=stop ! stream_truncated "the stream ended before the answer was complete"`},
		{"an empty finish reason is none", sse(text, `{"choices":[{"index":0,"delta":{},"finish_reason":""}]}`), `text:1 | 0 text="a" end= ! stream_truncated "the stream ended before the answer was complete"`},
		{"an unknown finish reason", sse(text, `{"choices":[{"index":0,"finish_reason":"tired"}]}`, "[DONE]"), `text:1 | 0 text="a" end=other`},
		{
			"abort fails, what came stays", sse(text, `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"abort"}]}`, "[DONE]"),
			`text:1 text:1 | 0 text="ab" end=abort ! stream_error "the server ended the answer with finish reason \"abort\""`,
		},
		{
			"finish reason error with an error in the choice", sse(text, `{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"message":"upstream","code":502}}]}`, "[DONE]"),
			`text:1 | 0 text="a" end=error ! stream_error "upstream" code=502`,
		},
		{"error after content, then more", sse(text, `{"error":"boom"}`, text), `text:1 | 0 text="a" end= ! stream_error "boom"`},
		{"errors that say nothing", sse(`{"error":null,"choices":[]}`, `{"error":{},"choices":[]}`, text, stop, "[DONE]"), `text:1 | 0 text="a" end=stop`},
		{"old error object", sse(`{"object":"error","message":"m","code":400}`), `! stream_error "m" code=400`},
		{"overflow in a stream", sse(`{"error":{"message":"prompt is too long: 9 > 8"}}`), `! context_overflow "prompt is too long: 9 > 8"`},
		{"a list with an error", sse(`[{"error":{"code":429,"message":"quota"}}]`), `! stream_error "quota" code=429`},
		{
			"a hostile choice index", sse(`{"choices":[{"index":-1,"delta":{"content":"x"}},{"index":1e18,"delta":{"content":"x"}}]}`, text, stop, "[DONE]"),
			`text:1 | 0 text="a" end=stop malformed_event:2`,
		},
		{
			"per-chunk usage; tokens of empty chunks count for the next",
			sse(`{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"completion_tokens":2}}`, `{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"completion_tokens":3}}`,
				`{"choices":[{"index":0,"delta":{"reasoning":"r","content":"b"},"finish_reason":"stop"}],"usage":{"completion_tokens":7}}`, "[DONE]"),
			`text:1/3 reasoning:1/4 text:1 | 0 text="ab" think="r" end=stop`,
		},
		{
			"the final usage on every chunk says nothing about the first",
			sse(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"completion_tokens":3}}`, `{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":3}}`,
				`{"choices":[{"index":0,"delta":{"content":"c"},"finish_reason":"stop"}],"usage":{"completion_tokens":3}}`, "[DONE]"),
			`text:1 text:1 text:1 | 0 text="abc" end=stop`,
		},
		{
			"a usage on the last chunk says nothing about that chunk", sse(text, `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}`, "[DONE]"),
			`text:1 text:1 | 0 text="ab" end=stop`,
		},
		{
			"token ids before logprobs", sse(`{"choices":[{"delta":{"content":"a"},"token_ids":[1,2],"logprobs":{"content":[{}]}}]}`,
				`{"choices":[{"delta":{"content":"b"},"logprobs":{"content":[{},{},{}]}}]}`, `{"choices":[{"text":"c","logprobs":{"tokens":["c"]},"finish_reason":"stop"}]}`, "[DONE]"),
			`text:1/2 text:1/3 text:1/1 | 0 text="abc" end=stop`,
		},
		{
			"the last token has no text; the usage block repeats its count",
			sse(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"completion_tokens":3}}`,
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":4}}`,
				`{"choices":[],"usage":{"completion_tokens":4}}`, "[DONE]"),
			`text:1/3 tail/1 | 0 text="a" end=stop`,
		},
		{
			"only the usage block counts more: nothing says that an event brought it",
			sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":3}}`,
				`{"choices":[],"usage":{"completion_tokens":9}}`, "[DONE]"),
			`text:1/3 | 0 text="a" end=stop`,
		},
		{
			"the last token has no text, by logprobs",
			sse(`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{}]}}]}`,
				`{"choices":[{"index":0,"delta":{"content":""},"logprobs":{"content":[{},{}]},"finish_reason":"length"}]}`,
				`{"choices":[],"usage":{"completion_tokens":3}}`, "[DONE]"),
			`text:1/1 tail/2 | 0 text="a" end=length`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(answer.Decode(openai.Grammar())(tt.resp, true))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeDocument(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{
			"everything in order", `{"choices":[{"index":1,"message":{"content":"b"},"finish_reason":"length"},{"index":0,"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}},{"id":"1","function":{"name":"f","arguments":"{}"}}],"refusal":"no","content":"a","reasoning":"r"},"finish_reason":"stop"}]}`,
			`text:1@1 reasoning:1 text:1 refusal:2 tool:3 tool:3 | 0 text="a" think="r" refuse="no" call=1,f,{} call=1,f,{} end=stop | 1 text="b" end=length`,
		},
		{"completions, no index", `{"choices":[{"text":"a"},{"text":"b"}]}`, `text:1 text:1@1 | 0 text="a" end= | 1 text="b" end=`},
		{"byte order mark and NaN", "\xef\xbb\xbf {\"choices\":[{\"text\":\"a\",\"logprobs\":NaN}]}\n", `text:1 | 0 text="a" end= repaired_event:1`},
		{"no output", `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, `| 0 end=stop ! empty_output "the answer holds no output"`},
		{"no choices", `{"choices":[]}`, `! empty_output "the answer holds no output"`},
		{"something else", `{"ok": true}`, `! malformed_response "the body is JSON without an answer: {\"ok\": true}"`},
		{"a list", `[1]`, `! malformed_response "the body is not a JSON object: [1]"`},
		{"cut", `{"choices":[{"te`, `! malformed_response "the body is not a JSON object: {\"choices\":[{\"te"`},
		{"empty", " \n", `! empty_response "the response has no body"`},
		{"error with a status", `{"error":{"message":"m","code":429}}`, `! rate_limited "m" code=429`},
		{"error with http_status_code", `{"error":{"message":"m","http_status_code":503}}`, `! overloaded "m" code=503`},
		{"error with another code", `{"error":{"message":"m","code":"x"}}`, `! server_error "m" code=x`},
		{"error about length", `{"error":{"message":"maximum context is 8","code":400}}`, `! context_overflow "maximum context is 8" code=400`},
		{"error object", `{"object":"error","message":"m"}`, `! server_error "m"`},
		{"error in a list", `[{"error":{"message":"m","code":404}}]`, `! not_found "m" code=404`},
		{"error beside an answer", `{"error":{"message":"m"},"choices":[{"text":"a"}]}`, `text:1 | 0 text="a" end=`},
		{"null error", `{"error":null,"choices":[{"text":"a"}]}`, `text:1 | 0 text="a" end=`},
		{"aborted", `{"choices":[{"text":"a","finish_reason":"abort"}]}`, `text:1 | 0 text="a" end=abort ! stream_error "the server ended the answer with finish reason \"abort\""`},
		{"deep", strings.Repeat("[", 10_000), `! malformed_response "the body is not a JSON object: ` + strings.Repeat("[", 300) + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer.Decode(openai.Grammar())(wholeBody(tt.body), false)
			if diff := cmp.Diff(tt.want, show(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.Streamed || a.FirstEvent != 0 || len(a.Chunks) > 0 && a.Chunks[0].At != 9*time.Millisecond {
				t.Errorf("streamed = %v, first event at %v, chunks %+v", a.Streamed, a.FirstEvent, a.Chunks)
			}
		})
	}
}

func TestDecodeEnd(t *testing.T) {
	text := delta(`"content":"a"`)
	failure := func(class bench.Class) *bench.Failure { return &bench.Failure{Class: class, Message: "m"} }
	with := func(resp *bench.Response, change func(*bench.Response)) *bench.Response {
		change(resp)
		return resp
	}
	reset := func(r *bench.Response) { r.End = bench.EndReset }
	resetAs := func(r *bench.Response) { r.End, r.Failure = bench.EndReset, failure(bench.ConnectionReset) }
	timeout := func(r *bench.Response) { r.End, r.Failure = bench.EndTimeout, failure(bench.TimeoutIdle) }
	lines := func(r *bench.Response) { r.Framing = bench.FramingNDJSON }
	for _, tt := range []struct {
		name string
		resp *bench.Response
		want string // class or warning, or nothing
	}{
		{"finished, no marker", sse(text, stop), "no_done_marker:1"},
		{"finished lines need no marker", with(sse(text, stop), lines), ""},
		{"marker, no finish", sse(text, "[DONE]"), ""},
		{"reset after finish", with(sse(text, stop), reset), "reset_after_finish:1"},
		{"reset after finish, told by the transport", with(sse(text, stop), resetAs), "reset_after_finish:1"},
		{"reset after the marker", with(sse(text, "[DONE]"), resetAs), ""},
		{"reset before", with(sse(text), reset), "connection_reset"},
		{"reset before anything", with(sse(), reset), "connection_reset"},
		{"timeout after finish", with(sse(text, stop), timeout), "timeout_idle"},
		{"timeout after the marker", with(sse(text, "[DONE]"), timeout), ""},
		{"timeout before", with(sse(text), timeout), "timeout_idle"},
		{"error, then reset", with(sse(text, `{"error":"x"}`), reset), "stream_error"},
		{"cut before output", sse(delta(`"role":"assistant"`)), "stream_truncated"},
		{"document, reset", with(wholeBody(`{"choi`), reset), "connection_reset"},
		{"whole document, reset", with(wholeBody(`{"choices":[{"text":"a"}]}`), reset), "connection_reset"},
		{"whole document, reset, told by the transport", with(wholeBody(`{"choices":[{"text":"a"}]}`), resetAs), "connection_reset"},
		{"empty document, reset", with(wholeBody(`{"choices":[]}`), resetAs), "connection_reset"},
		{"document, timeout", with(wholeBody(``), timeout), "timeout_idle"},
		{"no head", &bench.Response{End: bench.EndReset}, "connection_reset"},
		{"no head, told by the transport", &bench.Response{Failure: failure(bench.TimeoutConnect)}, "timeout_connect"},
		{"error status wins over a reset", with(&bench.Response{Status: 503}, resetAs), "overloaded"},
		{"redirect told by the transport", &bench.Response{Status: 307, Failure: failure(bench.Redirect)}, "redirect"},
		{"no content", &bench.Response{Status: 204}, "empty_response"},
		{"text", &bench.Response{Status: 200, Framing: bench.FramingText, Body: []byte("hello"), BodyAt: 1}, "malformed_response"},
		{"binary", &bench.Response{Status: 200, Framing: bench.FramingBinary, BodyAt: 1, Header: http.Header{}}, "unexpected_content"},
		{"empty binary", &bench.Response{Status: 200, Framing: bench.FramingBinary}, "empty_response"},
		{"encoding", &bench.Response{Status: 200, Failure: failure(bench.UnexpectedContent)}, "unexpected_content"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer.Decode(openai.Grammar())(tt.resp, true)
			got := show(bench.Answer{Warnings: a.Warnings})
			if a.Failure != nil {
				got = string(a.Failure.Class)
			}
			if got != tt.want {
				t.Errorf("got %s, want %q", show(a), tt.want)
			}
		})
	}
	a := answer.Decode(openai.Grammar())(sse(text, stop, "[DONE]"), false)
	if got, want := show(a), `text:1 | 0 text="a" end=stop streamed_unexpectedly:1`; got != want || !a.Streamed {
		t.Errorf("unasked stream: %s, want %s", got, want)
	}
}

// What answers instead of the model is named with its content type and an excerpt.
func TestUnexpectedContent(t *testing.T) {
	page := "<!DOCTYPE html><html><head><title>Log in\n to continue</title></head><body>x</body></html>"
	for _, tt := range []struct {
		name    string
		media   string
		framing bench.Framing
		body    string
		want    string
	}{
		{"page", "text/html; charset=utf-8", bench.FramingHTML, page, "unexpected_content: the server answered text/html: Log in to continue"},
		{
			"page without a title", "text/html", bench.FramingHTML, "<html><h1>nginx &amp; co</h1> <p>It works</p></html>",
			"unexpected_content: the server answered text/html: nginx & co It works",
		},
		{"page without a type", "", bench.FramingHTML, page, "unexpected_content: the server answered without a content type: Log in to continue"},
		{"text", "text/plain", bench.FramingText, " ok ", "malformed_response: the server answered text/plain: ok"},
		{"XML", "application/xml", bench.FramingText, "<a>denied</a>", "malformed_response: the server answered application/xml: denied"},
		{"image", "image/png", bench.FramingBinary, "", "unexpected_content: the server answered image/png"},
		{
			"a type without end", strings.Repeat("x", 81), bench.FramingBinary, "",
			"unexpected_content: the server answered with a content type of more than 80 bytes",
		},
		{"a long text", "text/plain", bench.FramingText, strings.Repeat("ab ", 500), "malformed_response: the server answered text/plain: " + strings.Repeat("ab ", 100)},
	} {
		resp := &bench.Response{
			Status: 200, Framing: tt.framing, Header: http.Header{"Content-Type": {tt.media}}, Body: []byte(tt.body), BodyAt: 1,
		}
		f := answer.Decode(openai.Grammar())(resp, true).Failure
		if f == nil || string(f.Class)+": "+f.Message != tt.want {
			t.Errorf("%s: %+v, want %s", tt.name, f, tt.want)
		}
	}
}

func TestDecodeMeta(t *testing.T) {
	resp := sse(`{"id":"","model":"","choices":[]}`, `{"id":"i","model":"m","choices":[]}`, `{"id":"j","choices":[{"text":"x"}]}`, "[DONE]")
	resp.Warnings = map[string]int{"sniffed_sse": 1}
	a := answer.Decode(openai.Grammar())(resp, false)
	if a.ResponseID != "i" || a.Model != "m" || a.FirstEvent != time.Millisecond || a.Usage != nil {
		t.Errorf("answer = %+v", a)
	}
	if a.Chunks[0].At != 3*time.Millisecond || a.Chunks[0].Read != 3 {
		t.Errorf("chunk = %+v, want the stamps of event 3", a.Chunks[0])
	}
	if len(resp.Warnings) != 1 || len(a.Warnings) != 2 {
		t.Errorf("warnings %v, of the response %v", a.Warnings, resp.Warnings)
	}
	resp.Events.Reset(1 << 20)
	for range 3 {
		resp.Events.Append(eventlog.Event{Data: bytes.Repeat([]byte("-"), 100)})
	}
	if a.Choices[0].Text != "x" {
		t.Error("the answer keeps bytes of the response")
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name, usage string
		want        string
	}{
		{"null", `null`, ""}, {"empty", `{}`, ""}, {"nothing known", `{"x":1,"prompt_tokens":null}`, ""},
		{"zero is not absent", `{"prompt_tokens":0}`, "in=0"},
		{"OpenAI", `{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":1},"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":2,"accepted_prediction_tokens":3,"rejected_prediction_tokens":6}}`,
			"in=10 out=20 total=30 think=5 cached=4 audioin=1 audioout=2 acc=3 rej=6"},
		{"order of fields does not matter", `{"input_tokens":7,"prompt_tokens":8,"output_tokens":1,"completion_tokens":2}`, "in=8 out=2"},
		{"DeepSeek", `{"prompt_tokens":20,"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":4}`, "in=20 cached=16 miss=4"},
		{"vLLM cache writes", `{"prompt_tokens":20,"prompt_tokens_details":{"created_cache_tokens":3}}`, "in=20 write=3"},
		{"SGLang", `{"prompt_tokens":1,"reasoning_tokens":2}`, "in=1 think=2"},
		{"Responses: cached is a part", `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}`, "in=100 out=9 think=4 cached=60"},
		{"Anthropic: cached is apart", `{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":25,"output_tokens_details":{"thinking_tokens":6}}`,
			"in=113 out=25 think=6 cached=100 write=10"},
		{"Bedrock", `{"inputTokens":3,"cacheReadInputTokens":4,"cacheWriteInputTokens":5,"outputTokens":6,"totalTokens":18}`, "in=12 out=6 total=18 cached=4 write=5"},
		{"cache fields beside prompt_tokens add nothing", `{"prompt_tokens":113,"cache_read_input_tokens":100}`, "in=113 cached=100"},
		{"Gemini", `{"promptTokenCount":5,"candidatesTokenCount":6,"thoughtsTokenCount":7,"totalTokenCount":18,"cachedContentTokenCount":2}`, "in=5 out=13 total=18 think=7 cached=2"},
		{"Cohere", `{"billed_units":{"input_tokens":1},"tokens":{"input_tokens":7.0,"output_tokens":8.0}}`, "in=7 out=8"},
		{"bad values", `{"prompt_tokens":-1,"completion_tokens":"5","total_tokens":1e300,"reasoning_tokens":2}`, "think=2"},
		{"null details", `{"prompt_tokens":1,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":null}}`, "in=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer.Decode(openai.Grammar())(wholeBody(`{"choices":[{"text":"x"}],"usage":`+tt.usage+`}`), false)
			if diff := cmp.Diff(tt.want, showUsage(a.Usage)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	a := answer.Decode(openai.Grammar())(sse(`{"choices":[{"text":"x"}],"usage":{"prompt_tokens":1}}`, `{"usage":null}`, `{"usage":{}}`, `{"x_groq":{"usage":{"prompt_tokens":2}}}`, "[DONE]"), true)
	if got := showUsage(a.Usage); got != "in=2" {
		t.Errorf("usage of the stream = %q, want that of its last object", got)
	}
}

func showUsage(u *bench.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	for _, f := range []struct {
		name string
		n    *bench.Tokens
	}{
		{"in", u.Input}, {"out", u.Output}, {"total", u.Total}, {"think", u.Reasoning}, {"cached", u.Cached}, {"write", u.CacheWrite},
		{"miss", u.CacheMiss}, {"audioin", u.AudioIn}, {"audioout", u.AudioOut}, {"acc", u.Accepted}, {"rej", u.Rejected},
	} {
		if f.n != nil {
			parts = append(parts, fmt.Sprintf("%s=%d", f.name, *f.n))
		}
	}
	return strings.Join(parts, " ")
}
