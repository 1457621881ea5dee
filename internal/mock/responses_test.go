package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

const (
	responsesPath = "/v1/responses"
	messagesPath  = "/v1/messages"
)

// wireText returns the whole body of an answer to a request with the id r1.
func wireText(t *testing.T, o options.Options, path, body string) string {
	t.Helper()
	var got reply
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, o)
		got = r.post(path, body, "X-Request-Id", "r1")
		if got.status != 200 || got.err != nil {
			t.Errorf("status %d, error %v", got.status, got.err)
		}
	})
	return got.body
}

// asEvents writes events as a server does: the type twice.
func asEvents(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, d)
	}
	return b.String()
}

// responseObject is the response r1 of model m.
func responseObject(status, why, output, usage string) string {
	return `{"id":"resp_r1","object":"response","created_at":946684800,"status":"` + status + `","error":null,"incomplete_details":` + why +
		`,"instructions":"S","max_output_tokens":4,"model":"m","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,` +
		`"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":true,"temperature":1.0,"text":{"format":{"type":"text"}},` +
		`"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":` + usage + `,"user":null,"metadata":{}}`
}

func TestResponsesBytes(t *testing.T) {
	const (
		thought = `{"id":"rs_r1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"%s"}],"status":"completed"}`
		part    = `{"type":"output_text","annotations":[],"logprobs":[],"text":"HiHi"}`
		answer  = `{"id":"msg_r1","type":"message","role":"assistant","content":[` + part + `],"status":"incomplete"}`
		why     = `{"reason":"max_output_tokens"}`
		usage   = `{"input_tokens":2,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":6}`
		inItem  = `,"item_id":"rs_r1","output_index":0,"content_index":0,`
		inText  = `,"item_id":"msg_r1","output_index":1,"content_index":0,`
	)
	o := options.Options{Content: options.ContentEcho, ReasoningTokens: 2}
	body := `{"model":"m","input":[{"role":"user","content":"Hi"}],"instructions":"S","max_output_tokens":4,"stream":%t}`
	thoughts := "On the"
	reasoning := fmt.Sprintf(thought, thoughts)
	t.Run("document", func(t *testing.T) {
		want := responseObject("incomplete", why, reasoning+","+answer, usage)
		if diff := cmp.Diff(want, wireText(t, o, responsesPath, fmt.Sprintf(body, false))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("stream", func(t *testing.T) {
		open := responseObject("in_progress", "null", "", "null")
		want := asEvents(
			`{"type":"response.created","sequence_number":0,"response":`+open+`}`,
			`{"type":"response.in_progress","sequence_number":1,"response":`+open+`}`,
			`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_r1","type":"reasoning","summary":[],"content":[],"status":"in_progress"}}`,
			`{"type":"response.content_part.added","sequence_number":3`+inItem+`"part":{"type":"reasoning_text","text":""}}`,
			`{"type":"response.reasoning_text.delta","sequence_number":4`+inItem+`"delta":"On"}`,
			`{"type":"response.reasoning_text.delta","sequence_number":5`+inItem+`"delta":" the"}`,
			`{"type":"response.reasoning_text.done","sequence_number":6`+inItem+`"text":"On the"}`,
			`{"type":"response.content_part.done","sequence_number":7`+inItem+`"part":{"type":"reasoning_text","text":"On the"}}`,
			`{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":`+reasoning+`}`,
			`{"type":"response.output_item.added","sequence_number":9,"output_index":1,"item":{"id":"msg_r1","type":"message","role":"assistant","content":[],"status":"in_progress"}}`,
			`{"type":"response.content_part.added","sequence_number":10`+inText+`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}`,
			`{"type":"response.output_text.delta","sequence_number":11`+inText+`"delta":"Hi","logprobs":[]}`,
			`{"type":"response.output_text.delta","sequence_number":12`+inText+`"delta":"Hi","logprobs":[]}`,
			`{"type":"response.output_text.done","sequence_number":13`+inText+`"text":"HiHi","logprobs":[]}`,
			`{"type":"response.content_part.done","sequence_number":14`+inText+`"part":`+part+`}`,
			`{"type":"response.output_item.done","sequence_number":15,"output_index":1,"item":`+answer+`}`,
			`{"type":"response.completed","sequence_number":16,"response":`+responseObject("incomplete", why, reasoning+","+answer, usage)+`}`,
		)
		if diff := cmp.Diff(want, wireText(t, o, responsesPath, fmt.Sprintf(body, true))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestMessagesBytes(t *testing.T) {
	const (
		head  = `{"id":"msg_r1","type":"message","role":"assistant","model":"m",`
		usage = `"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`
	)
	o := options.Options{Content: options.ContentEcho, ReasoningTokens: 2}
	body := `{"model":"m","messages":[{"role":"user","content":"Hi"}],"system":"S","max_tokens":4,"stream":%t}`
	t.Run("document", func(t *testing.T) {
		want := head + `"content":[{"type":"thinking","thinking":"On the","signature":"c2lnbmF0dXJl"},{"type":"text","text":"HiHi"}],` +
			`"stop_reason":"max_tokens","stop_sequence":null,` + fmt.Sprintf(usage, 4, 2) + `}`
		if diff := cmp.Diff(want, wireText(t, o, messagesPath, fmt.Sprintf(body, false))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("stream", func(t *testing.T) {
		want := asEvents(
			`{"type":"message_start","message":`+head+`"content":[],"stop_reason":null,"stop_sequence":null,`+fmt.Sprintf(usage, 0, 0)+`}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"On"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" the"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},`+fmt.Sprintf(usage, 4, 2)+`}`,
			`{"type":"message_stop"}`,
		)
		if diff := cmp.Diff(want, wireText(t, o, messagesPath, fmt.Sprintf(body, true))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestNewerPromptTokens checks which parts count as input. A short word is one token.
func TestNewerPromptTokens(t *testing.T) {
	for _, tt := range []struct {
		name, path, members string
		want                int
	}{
		{"text", responsesPath, `"input":"Hi there"`, 2},
		{"instructions", responsesPath, `"input":"Hi","instructions":"a b c"`, 4},
		{"items of a conversation", responsesPath, `"input":[{"type":"message","role":"user","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"}]},` +
			`{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":"x"},{"type":"function_call_output","call_id":"c","output":"y"},` +
			`{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"z"}]},{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}]`, 8},
		{"pictures, sounds and files", responsesPath, `"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"x"},{"type":"input_audio","input_audio":{}},{"type":"input_file","file_id":"f"}]}]`, 769},
		{"system in blocks", messagesPath, `"max_tokens":1,"system":[{"type":"text","text":"a b"}],"messages":[{"role":"user","content":"c"}]`, 3},
		{"blocks", messagesPath, `"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"document","source":{}}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"b"},{"type":"redacted_thinking","data":"x"},{"type":"tool_use","id":"t","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"c"}]},{"type":"tool_result","tool_use_id":"t","content":"d"},{"type":"tool_result","tool_use_id":"t"}]}]`, 519},
		{"count of tokens", messagesPath + "/count_tokens", `"messages":[{"role":"user","content":"Hi there"}]`, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := wireText(t, options.Options{}, tt.path, `{"model":"m",`+tt.members+`}`)
			if want := fmt.Sprintf(`"input_tokens":%d`, tt.want); !strings.Contains(got, want) {
				t.Errorf("%s is missing in %s", want, got)
			}
		})
	}
}

func TestNewerRefusals(t *testing.T) {
	const hi = `"messages":[{"role":"user","content":"Hi"}]`
	openai := func(status int, param, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":%q,"code":%d}}`, message, api.ErrorKind(status), param, status)
	}
	anthropic := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	}
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no input", responsesPath, `{}`, 400, openai(400, "input", "Input should be a valid string or list: input")},
		{"empty input", responsesPath, `{"input":[]}`, 400, openai(400, "input", "Input should be a valid string or non-empty list: input")},
		{"a number in it", responsesPath, `{"input":[1]}`, 400, openai(400, "input", "Input should be a valid list of items: input")},
		{"unknown item", responsesPath, `{"input":[{"type":"smell"}]}`, 400, openai(400, "input", "Unknown item type: smell")},
		{"call without id", responsesPath, `{"input":[{"type":"function_call_output","output":"x"}]}`, 400, openai(400, "call_id", "Input should be a valid string: call_id")},
		{"no length", responsesPath, `{"input":"Hi","max_output_tokens":0}`, 400, openai(400, "max_output_tokens", "max_output_tokens must be at least 1, got 0.")},
		{"unknown response", responsesPath, `{"input":"Hi","previous_response_id":"resp_x"}`, 404, openai(404, "previous_response_id", "Response with id 'resp_x' not found.")},
		{"unknown model", responsesPath, `{"input":"Hi","model":"zz"}`, 404, openai(404, "model", "The model `zz` does not exist.")},
		{"length is mandatory", messagesPath, `{` + hi + `}`, 400, anthropic("invalid_request_error", "max_tokens: Field required")},
		{"no messages", messagesPath, `{"max_tokens":1}`, 400, anthropic("invalid_request_error", "Input should be a valid non-empty list: messages")},
		{"system among the messages", messagesPath, `{"max_tokens":1,"messages":[{"role":"system","content":"S"}]}`, 400,
			anthropic("invalid_request_error", `messages: Unexpected role "system". The Messages API accepts "user" and "assistant".`)},
		{"no content", messagesPath, `{"max_tokens":1,"messages":[{"role":"user"}]}`, 400, anthropic("invalid_request_error", "Input should be a valid string or list of blocks: messages.content")},
		{"content is a number", messagesPath, `{"max_tokens":1,"messages":[{"role":"user","content":1}]}`, 400, anthropic("invalid_request_error", "Input should be a valid string or list of blocks: messages.content")},
		{"unknown block", messagesPath, `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, 400, anthropic("invalid_request_error", "Unknown block type: input_audio")},
		{"not JSON", messagesPath, `x`, 400, anthropic("invalid_request_error", `JSON decode error: cannot parse JSON: cannot parse number: expecting 0..9 digit, got x; unparsed tail: "x"`)},
		{"no such model", messagesPath, `{"max_tokens":1,"model":"zz",` + hi + `}`, 404, anthropic("not_found_error", "The model `zz` does not exist.")},
		{"body too large", messagesPath, strings.Repeat(" ", 2000), 413, anthropic("request_too_large", "Request body is larger than 1000 bytes.")},
		{"nothing to count", messagesPath + "/count_tokens", `{}`, 400, anthropic("invalid_request_error", "Input should be a valid non-empty list: messages")},
		{"too much to count", messagesPath + "/count_tokens", strings.Repeat(" ", 2000), 413, anthropic("request_too_large", "Request body is larger than 1000 bytes.")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{ServedModels: []string{"a"}, MaxBody: 1000})
				if got := r.post(tt.path, tt.body); got.status != tt.status || got.body != tt.want {
					t.Errorf("status %d, %s\nwant %d, %s", got.status, got.body, tt.status, tt.want)
				}
			})
		})
	}
}

// TestPreviousResponse checks that a request can continue a stored response.
func TestPreviousResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		r.post(responsesPath, `{"input":"Hi there","max_output_tokens":5,"stream":true}`, "X-Request-Id", "a")
		r.post(responsesPath, `{"input":"Hi","max_output_tokens":3,"store":false}`, "X-Request-Id", "b")
		got := r.post(responsesPath, `{"input":"more","max_output_tokens":2,"previous_response_id":"resp_a"}`, "X-Request-Id", "c")
		if !strings.Contains(got.body, `"input_tokens":8`) || !strings.Contains(got.body, `"previous_response_id":"resp_a"`) {
			t.Errorf("2 + 5 + 1 input tokens and the id are missing in %s", got.body)
		}
		if got := r.post(responsesPath, `{"input":"more","previous_response_id":"resp_b"}`); got.status != 404 {
			t.Errorf("a response that was not stored: status %d, want 404", got.status)
		}
	})
	var s text.StoredResponses
	for i := range text.MaxStored + 1 {
		s.Put(fmt.Sprint(i), text.StoredResponse{Tokens: i})
		s.Put(fmt.Sprint(i), text.StoredResponse{Tokens: i})
	}
	_, oldest := s.Get("0")
	second, kept := s.Get("1")
	if oldest || !kept || second.Tokens != 1 || len(s.ByID) != text.MaxStored {
		t.Errorf("%d are kept, the oldest: %t, the second: %t", len(s.ByID), oldest, kept)
	}
}

func TestAnthropicKey(t *testing.T) {
	const body = `{"max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{APIKey: "k", ReadyAfter: ms})
		for _, tt := range []struct {
			header, value string
			status        int
		}{{"X-Api-Key", "k", 503}, {"X-Api-Key", "j", 401}, {"Authorization", "Bearer k", 503}, {"X-Other", "k", 401}} {
			if got := r.post(messagesPath, body, tt.header, tt.value); got.status != tt.status || !strings.HasPrefix(got.body, `{"type":"error",`) {
				t.Errorf("%s: %s is answered with %d: %s, want %d", tt.header, tt.value, got.status, got.body, tt.status)
			}
		}
		if got := r.post(chatPath, `{"messages":[{"role":"user","content":"Hi"}]}`, "X-Api-Key", "k"); got.status != 401 {
			t.Errorf("another API takes the header: status %d, want 401", got.status)
		}
	})
}

// TestNewerFaults checks the error events of these APIs, and malformed events.
func TestNewerFaults(t *testing.T) {
	bodies := map[string]string{
		responsesPath: `{"model":"m","input":"Hi","max_output_tokens":4,"stream":true}`,
		messagesPath:  `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":4,"stream":true}`,
	}
	for _, tt := range []struct{ fault, path, want string }{
		{"stream_error:after_tokens:2,message=boom", responsesPath, `data: {"type":"response.failed","sequence_number":6,"response":{"id":"resp_r1","object":"response","created_at":946684800,"status":"failed","error":{"code":"server_error","message":"boom"},` +
			`"incomplete_details":null,"instructions":null,"max_output_tokens":4,"model":"m","output":[],"parallel_tool_calls":true,"previous_response_id":null,` +
			`"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":true,"temperature":1.0,"text":{"format":{"type":"text"}},` +
			`"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":null,"user":null,"metadata":{}}}` + "\n\n"},
		{"stream_error:after_tokens:2,message=boom", messagesPath, "event: error\ndata: " + `{"type":"error","error":{"type":"api_error","message":"boom"}}` + "\n\n"},
		{"malformed:after_tokens:0,kind=nan", responsesPath, `"response.output_text.delta","sequence_number":NaN,`},
		{"malformed:after_tokens:0,kind=nan", messagesPath, `"content_block_delta","index":NaN,`},
		{"malformed:after_tokens:0,kind=invalid_utf8", responsesPath, `"delta":"` + "\xff\xfe"},
		{"malformed:after_tokens:0,kind=invalid_utf8", messagesPath, `"text":"` + "\xff\xfe"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, options.Options{Faults: mustFaults(t, tt.fault)})
			if got := r.post(tt.path, bodies[tt.path], "X-Request-Id", "r1"); !strings.Contains(got.body, tt.want) {
				t.Errorf("%s at %s: %q is missing in\n%s", tt.fault, tt.path, tt.want, got.body)
			}
		})
	}
}

// TestNewerWithoutOutput checks that an answer without tokens is complete.
func TestNewerWithoutOutput(t *testing.T) {
	o := options.Options{Faults: mustFaults(t, "empty:output"), Usage: options.UsageNever}
	got := wireText(t, o, responsesPath, `{"model":"m","input":"Hi","stream":true}`)
	if strings.Contains(got, "output_item") || !strings.Contains(got, `"status":"completed"`) || !strings.Contains(got, `"usage":null`) {
		t.Errorf("an empty response: %s", got)
	}
	got = wireText(t, o, messagesPath, `{"model":"m","max_tokens":3,"messages":[{"role":"user","content":"Hi"}],"stream":true}`)
	if strings.Contains(got, "content_block") || !strings.Contains(got, `"stop_reason":"end_turn"`) || !strings.HasSuffix(got, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("an empty message: %s", got)
	}
}

// TestNewerShapes: options about the shape of streams hold for these APIs as well.
func TestNewerShapes(t *testing.T) {
	responses := `{"model":"m","input":"Hi","max_output_tokens":4,"stream":true}`
	messages := `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":4,"stream":true}`
	missing := options.Options{FinishChunk: options.FinishMissing}
	if got := wireText(t, missing, responsesPath, responses); strings.Contains(got, "response.completed") || !strings.Contains(got, "response.output_item.done") {
		t.Errorf("a response that does not say that it is complete: %s", got)
	}
	if got := wireText(t, missing, messagesPath, messages); !strings.Contains(got, `"stop_reason":null,"stop_sequence":null},"usage"`) || strings.Contains(got, "max_tokens") {
		t.Errorf("a message that does not say why it ends: %s", got)
	}
	plain := wireText(t, options.Options{}, messagesPath, messages)
	if got := wireText(t, options.Options{LineEnd: options.LineCRLF}, messagesPath, messages); strings.ReplaceAll(got, "\r\n", "\n") != plain || strings.Count(got, "\r\n") != strings.Count(plain, "\n") {
		t.Errorf("lines do not all end in CRLF: %q", got)
	}
	if got := strings.Count(wireText(t, options.Options{TokensPerChunk: random.ConstLength(3)}, responsesPath, responses), "event: response.output_text.delta"); got != 2 {
		t.Errorf("%d deltas for four tokens, three at a time", got)
	}
}

// FuzzNewerRequests checks that every response is in the form of the API.
func FuzzNewerRequests(f *testing.F) {
	for _, body := range []string{
		`{"input":"Hi","max_output_tokens":2}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image"}]},{"type":"function_call","call_id":"c"}],"stream":true,"max_output_tokens":1}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a"}]}]}],"max_tokens":1}`, `{"messages":[1],"system":[[]],"max_tokens":1,"stream":true}`,
		`{"input":"Hi","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","properties":{"a":{"enum":[1]}}}}},"metadata":{"a":"b"},"max_output_tokens":9}`,
		`{"input":"Hi","tools":[{"type":"mcp"},{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"enum":[1]}}}}],"tool_choice":{"type":"function","name":"f"},"stream":true}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	s, err := New(options.Options{Fast: true, MaxModelLen: 600})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body string, anthropic bool) {
		path := responsesPath
		if anthropic {
			path = messagesPath
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		whole := json.Valid(w.Body.Bytes()) || strings.HasSuffix(w.Body.String(), "}\n\n")
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound || !whole {
			t.Errorf("%s: status %d, %s", body, w.Code, w.Body)
		}
	})
}

// Members of a request that answers repeat are unchanged.
func TestResponsesRepeat(t *testing.T) {
	members := map[string]string{
		"metadata": `{"a":"b"}`, "parallel_tool_calls": `false`, "reasoning": `{"effort":"low"}`, "temperature": `0.25`,
		"text": `{"format":{"type":"text"},"verbosity":"low"}`, "tool_choice": `"none"`, "tools": `[{"type":"function","name":"f"}]`,
		"top_p": `0.5`, "truncation": `"auto"`, "user": `"u"`,
	}
	body := `{"model":"m","input":"Hi","max_output_tokens":2`
	for name, value := range members {
		body += `,"` + name + `":` + value
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(wireText(t, options.Options{}, responsesPath, body+"}")), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range members {
		if string(got[name]) != want {
			t.Errorf("%s: got %s, want %s", name, got[name], want)
		}
	}
}

func TestResponsesFormat(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"},"count":{"type":"integer"}},"required":["city","count"]}`
	text := func(format string) string {
		var got struct {
			Output []struct{ Content []struct{ Text string } }
		}
		body := wireText(t, options.Options{}, responsesPath, `{"model":"m","input":"Hi","text":{"format":`+format+`}}`)
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Output) != 1 || len(got.Output[0].Content) != 1 {
			t.Fatalf("error %v in %s", err, body)
		}
		return got.Output[0].Content[0].Text
	}
	var asked struct {
		City  *string
		Count *int
	}
	if got := text(`{"type":"json_schema","name":"n","schema":` + schema + `}`); json.Unmarshal([]byte(got), &asked) != nil || asked.City == nil || asked.Count == nil {
		t.Errorf("%q does not follow the schema", got)
	}
	if got := text(`{"type":"json_object"}`); !strings.HasPrefix(got, "{") || !json.Valid([]byte(got)) {
		t.Errorf("%q is no JSON object", got)
	}
	if got := text(`{"type":"text"}`); json.Valid([]byte(got)) {
		t.Errorf("%q is JSON, which was not asked for", got)
	}
}

func TestResponsesFormatRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`"short"`, "valid dictionary: text"},
		{`{"format":{"type":"yaml"}}`, `got \"yaml\"`},
		{`{"format":{"type":"json_schema"}}`, "text.format.schema"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newRig(t, options.Options{}).post(responsesPath, `{"model":"m","input":"Hi","text":`+c.text+`}`)
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, c.want) {
				t.Errorf("text %s: status %d, body %s, want %q in it", c.text, a.status, a.body, c.want)
			}
		})
	}
}
