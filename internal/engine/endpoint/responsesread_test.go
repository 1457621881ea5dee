package endpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// ev returns an event of the Responses API with these further members.
func ev(kind, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"type":"response.` + kind + `"` + members + `}`
}

// textDelta is a piece of the first part of an item.
func textDelta(item int, text string) string {
	return ev("output_text.delta", fmt.Sprintf(`"item_id":"i%d","output_index":%d,"content_index":0,"delta":%q`, item, item, text))
}

const completed = `{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}`

func TestReadResponsesStream(t *testing.T) {
	call := ev("output_item.added", `"output_index":1,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":""}`)
	for _, tt := range []struct {
		name   string
		events []string
		want   string
	}{
		{"text only in its done event", []string{ev("output_text.done", `"output_index":0,"content_index":0,"text":"ab"`), completed}, `text:2 | 0 text="ab" end=stop`},
		{
			"done repeats one part and brings another", []string{
				textDelta(0, "a"), ev("output_text.done", `"item_id":"i0","output_index":0,"content_index":0,"text":"a"`),
				ev("output_text.done", `"item_id":"i0","output_index":0,"content_index":1,"text":"b"`),
				ev("output_text.done", `"item_id":"i1","output_index":1,"content_index":0,"text":"c"`), completed,
			},
			`text:1 text:1 text:1 | 0 text="abc" end=stop`,
		},
		{"a done event twice", []string{ev("output_text.done", `"output_index":0,"text":"a"`), ev("output_text.done", `"output_index":0,"text":"a"`), completed}, `text:1 | 0 text="a" end=stop`},
		{"an empty delta is none", []string{textDelta(0, ""), ev("output_text.done", `"item_id":"i0","output_index":0,"content_index":0,"text":"a"`), completed}, `text:1 | 0 text="a" end=stop`},
		{
			"items by id where the place is left out", []string{
				ev("output_text.delta", `"item_id":"x","delta":"a"`), ev("output_text.done", `"item_id":"x","text":"a"`),
				ev("output_text.done", `"item_id":"y","text":"b"`), completed,
			},
			`text:1 text:1 | 0 text="ab" end=stop`,
		},
		{
			"an item known by its id gets its place", []string{
				ev("output_text.delta", `"item_id":"x","delta":"a"`), ev("output_text.done", `"item_id":"x","output_index":0,"text":"a"`),
				ev("output_text.done", `"output_index":0,"text":"a"`), completed,
			},
			`text:1 | 0 text="a" end=stop`,
		},
		{"neither id nor place", []string{ev("output_text.delta", `"delta":"a"`), ev("output_text.delta", `"delta":"b"`), ev("output_text.done", `"text":"ab"`), completed}, `text:1 text:1 | 0 text="ab" end=stop`},
		{
			"reasoning in text and summary",
			[]string{
				ev("reasoning_text.delta", `"output_index":0,"content_index":0,"delta":"h"`), ev("reasoning_text.done", `"output_index":0,"content_index":0,"text":"h"`),
				ev("reasoning_summary_text.done", `"output_index":0,"summary_index":0,"text":"s"`), textDelta(1, "a"), completed,
			},
			`reasoning:1 text:1 | 0 text="a" think="h" end=stop`,
		},
		{
			"a summary only in done events, part by part",
			[]string{ev("reasoning_summary_text.done", `"output_index":0,"summary_index":0,"text":"s"`), ev("reasoning_summary_text.done", `"output_index":0,"summary_index":1,"text":"t"`), textDelta(1, "a"), completed},
			`reasoning:1 reasoning:1 text:1 | 0 text="a" think="st" end=stop`,
		},
		{
			"the summary of another item", []string{
				ev("reasoning_summary_text.delta", `"output_index":0,"summary_index":0,"delta":"s"`), ev("reasoning_summary_text.done", `"output_index":0,"summary_index":0,"text":"s"`),
				ev("reasoning_summary_text.done", `"output_index":2,"summary_index":0,"text":"u"`), completed,
			},
			`reasoning:1 reasoning:1 | 0 think="su" end=stop`,
		},
		{"thoughts only in their done event", []string{ev("reasoning_text.done", `"output_index":0,"text":"h"`), ev("reasoning_summary_text.done", `"output_index":0,"text":"s"`), completed}, `reasoning:1 | 0 think="h" end=stop`},
		{"older names", []string{ev("reasoning.delta", `"delta":"a"`), ev("reasoning_summary.delta", `"delta":"b"`), ev("reasoning_summary.done", `"text":"b"`), completed}, `reasoning:1 reasoning:1 | 0 think="ab" end=stop`},
		{"refusal", []string{ev("refusal.delta", `"output_index":0,"content_index":0,"delta":"no"`), ev("refusal.done", `"output_index":0,"content_index":0,"refusal":"no"`), completed}, `refusal:2 | 0 refuse="no" end=stop`},
		{"refusal in its done event", []string{ev("refusal.done", `"output_index":0,"refusal":"no"`), completed}, `refusal:2 | 0 refuse="no" end=stop`},
		{
			"a call in pieces", []string{
				call, ev("function_call_arguments.delta", `"item_id":"fc","output_index":1,"delta":"{"`), ev("function_call_arguments.delta", `"item_id":"fc","output_index":1,"delta":"}"`),
				ev("function_call_arguments.done", `"item_id":"fc","output_index":1,"arguments":"{}"`), ev("output_item.done", `"output_index":1,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{}"}`), completed,
			},
			`tool:1 tool:1 tool:1 | 0 call=c,f,{} end=tool_calls`,
		},
		{"arguments only in their done event", []string{call, ev("function_call_arguments.done", `"output_index":1,"arguments":"{}"`), completed}, `tool:1 tool:2 | 0 call=c,f,{} end=tool_calls`},
		{"arguments only in the item's done event", []string{call, ev("output_item.done", `"output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`), completed}, `tool:1 tool:2 | 0 call=c,f,{} end=tool_calls`},
		{"a call only in the item's done event", []string{ev("output_item.done", `"output_index":0,"item":{"id":"fc","type":"function_call","name":"f","arguments":"{}"}`), completed}, `tool:3 | 0 call=fc,f,{} end=tool_calls`},
		{"a name after its arguments", []string{ev("function_call_arguments.delta", `"output_index":0,"delta":"{}"`), ev("output_item.done", `"output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`), completed}, `tool:2 | 0 call=c,f,{} end=tool_calls`},
		{
			"a tool with free input, then one of the server's own", []string{
				ev("output_item.added", `"output_index":0,"item":{"type":"custom_tool_call","call_id":"c","name":"f","input":""}`), ev("custom_tool_call_input.delta", `"output_index":0,"delta":"x"`),
				ev("custom_tool_call_input.done", `"output_index":0,"input":"x"`), ev("output_item.added", `"output_index":1,"item":{"type":"mcp_call","name":"g"}`), ev("mcp_call_arguments.delta", `"output_index":1,"delta":"{}"`),
				ev("mcp_call_arguments.done", `"output_index":1,"arguments":"{}"`), textDelta(2, "a"), completed,
			},
			`tool:1 tool:1 tool:2 text:1 | 0 text="a" call=c,f,x end=stop`,
		},
		{
			"items that say everything at their end", []string{
				ev("output_item.done", `"output_index":0,"item":{"type":"reasoning","summary":[{"text":"s"}],"content":[{"type":"reasoning_text","text":"h"}]}`),
				ev("output_item.done", `"output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}`), completed,
			},
			`reasoning:1 text:1 refusal:2 | 0 text="a" think="h" refuse="no" end=stop`,
		},
		{"an item that said a part of it", []string{textDelta(0, "a"), ev("output_item.done", `"output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"ab"}]}`), completed}, `text:1 | 0 text="a" end=stop`},
		{"audio and what it says", []string{ev("output_audio.delta", `"output_index":0,"delta":"AAAAAA=="`), ev("output_audio_transcript.delta", `"output_index":0,"delta":"hi"`), ev("audio.delta", `"delta":"AAAA"`), ev("audio.transcript.delta", `"delta":"!"`), completed}, `audio:4 text:2 audio:3 text:1 | 0 text="hi!" end=stop`},
		{"everything in the last event", []string{ev("completed", `"response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`)}, `text:1 tool:3 | 0 text="a" call=c,f,{} end=tool_calls`},
		{"token evidence", []string{ev("output_text.delta", `"output_index":0,"delta":"ab","logprobs":[{},{}]`), completed}, `text:2/2 | 0 text="ab" end=stop`},
		{"incomplete: filtered", []string{textDelta(0, "a"), ev("incomplete", `"response":{"incomplete_details":{"reason":"content_filter"}}`)}, `text:1 | 0 text="a" end=content_filter`},
		{"incomplete: nobody knows why", []string{textDelta(0, "a"), ev("incomplete", `"response":{"status":"incomplete","incomplete_details":null}`)}, `text:1 | 0 text="a" end=other`},
		{"vLLM: completed, but not complete", []string{textDelta(0, "a"), ev("completed", `"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`)}, `text:1 | 0 text="a" end=length`},
		{"completed without a response", []string{textDelta(0, "a"), ev("completed", ``)}, `text:1 | 0 text="a" end=stop`},
		{"the marker behind the last event", []string{textDelta(0, "a"), completed, "[DONE]"}, `text:1 | 0 text="a" end=stop`},
		{"what comes after the end is nobody's", []string{textDelta(0, "a"), completed, textDelta(0, "b"), `{"type":"error","message":"m"}`}, `text:1 | 0 text="a" end=stop`},
		{"cut", []string{textDelta(0, "a")}, `text:1 | 0 text="a" end= ! stream_truncated "the stream ended before the answer was complete"`},
		{"no output, but counted", []string{completed}, `| 0 end=stop no_visible_output:1`},
		{"no output", []string{ev("completed", `"response":{"status":"completed"}`)}, `| 0 end=stop ! empty_output "the answer holds no output"`},
		{"failed", []string{textDelta(0, "a"), ev("failed", `"response":{"status":"failed","error":{"code":"server_error","message":"boom"}}`)}, `text:1 | 0 text="a" end= ! stream_error "boom" code=server_error`},
		{"failed, nobody knows why", []string{ev("failed", `"response":{"status":"failed","error":null}`)}, `! stream_error "the server says that the response has failed, and not why"`},
		{"failed: too long", []string{ev("failed", `"response":{"error":{"code":"context_length_exceeded","message":"m"}}`)}, `! context_overflow "m" code=context_length_exceeded`},
		{"cancelled", []string{textDelta(0, "a"), ev("cancelled", `"response":{}`)}, `text:1 | 0 text="a" end= ! stream_error "the server has cancelled the response"`},
		{"an error event without its line", []string{textDelta(0, "a"), `{"type":"error","code":"server_error","message":"boom","param":null,"sequence_number":3}`}, `text:1 | 0 text="a" end= ! stream_error "boom" code=server_error`},
		{"an error object", []string{`{"error":{"message":"m","code":400}}`}, `! stream_error "m" code=400`},
		{"what nobody knows", []string{ev("web_search_call.searching", `"output_index":0`), ev("output_text.annotation.added", ``), `{"a":1}`, textDelta(1, "a"), completed}, `text:1 | 0 text="a" end=stop`},
		{
			"responses without an event around them", []string{
				`{"object":"response","status":"in_progress","output":[]}`, textDelta(0, "a"),
				`{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"a"}]}]}`,
			},
			`text:1 | 0 text="a" end=stop`,
		},
		{"a whole response instead of a stream of it", []string{`{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"a"}]}]}`}, `text:1 | 0 text="a" end=stop`},
		{"odd types", []string{ev("output_text.delta", `"delta":{"a":1}`), ev("output_item.added", `"item":[1]`), ev("output_item.done", `"item":null`), ev("output_text.delta", `"output_index":-1,"content_index":"x","delta":"a"`), completed}, `text:1 | 0 text="a" end=stop`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(lookup(t, "responses").Decode(sse(tt.events...), true))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadResponsesByName: the event's line names what its data leaves out.
func TestReadResponsesByName(t *testing.T) {
	resp := &bench.Response{Status: 200, Framing: bench.FramingSSE}
	for i, e := range [][2]string{{"response.output_text.delta", `{"delta":"a"}`}, {"response.completed", `{"response":{"id":"r","usage":{"input_tokens":1}}}`}} {
		resp.Events.Append(eventlog.Event{At: time.Duration(i + 1), Name: e[0], Data: []byte(e[1])})
	}
	a := lookup(t, "responses").Decode(resp, true)
	if got, want := show(a)+" "+a.ResponseID+" "+showUsage(a.Usage), `text:1 | 0 text="a" end=stop r in=1`; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
}

func TestReadResponsesDocument(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{
			"everything in order",
			`{"object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":[]},{"type":"web_search_call"},` +
				`{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"d","name":"g","input":"x"}]}`,
			`reasoning:1 text:1 text:1 refusal:2 tool:3 tool:2 | 0 text="ab" think="s" refuse="no" call=c,f,{} call=d,g,x end=tool_calls`,
		},
		{"the last item decides", `{"output":[{"type":"function_call","call_id":"c","name":"f"},{"type":"message","content":"a"}]}`, `tool:1 text:1 | 0 text="a" call=c,f, end=stop`},
		{"cut short", `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"text":"a"}]}]}`, `text:1 | 0 text="a" end=length`},
		{"failed", `{"object":"response","status":"failed","error":{"code":"server_error","message":"boom"},"output":[]}`, `! server_error "boom" code=server_error`},
		{"failed after some output", `{"object":"response","status":"failed","error":{"code":429,"message":"slow"},"output":[{"type":"message","content":[{"text":"a"}]}]}`, `text:1 | 0 text="a" end= ! rate_limited "slow" code=429`},
		{"an error and nothing else", `{"object":"response","error":{"message":"boom"}}`, `! server_error "boom"`},
		{"an error beside an answer", `{"object":"response","error":{"message":"boom"},"output":[{"type":"message","content":[{"text":"a"}]}]}`, `text:1 | 0 text="a" end=`},
		{"cancelled", `{"object":"response","status":"cancelled","output":[]}`, `! stream_error "the server has cancelled the response"`},
		{"in the background", `{"object":"response","status":"queued","output":[]}`, `! empty_output "the response is queued: responses in the background are not polled"`},
		{"no output", `{"object":"response","status":"completed","output":[]}`, `| 0 end=stop ! empty_output "the answer holds no output"`},
		{"something else", `{"ok":true}`, `! malformed_response "the body is JSON without an answer: {\"ok\":true}"`},
		{"an error object", `{"error":{"message":"m","code":503}}`, `! overloaded "m" code=503`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(lookup(t, "responses").Decode(wholeBody(tt.body), false))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadResponsesBounded: a stream cannot make us keep more than so many items.
func TestReadResponsesBounded(t *testing.T) {
	var events []string
	for i := range mostItems + 10 {
		events = append(events, textDelta(i, "a"))
	}
	a := lookup(t, "responses").Decode(sse(append(events, completed)...), true)
	if len(a.Chunks) != mostItems || a.Warnings["malformed_event"] != 10 || strings.Count(a.Choices[0].Text, "a") != mostItems {
		t.Errorf("%d chunks and warnings %v, want %d and 10 malformed events", len(a.Chunks), a.Warnings, mostItems)
	}
}
