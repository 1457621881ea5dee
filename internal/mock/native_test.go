package mock

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// echoing answers with the words of the prompt, with no delays but these.
func echoing(t testing.TB) options.Options {
	t.Helper()
	return options.Options{Content: options.ContentEcho, TTFT: mustDelay(t, "200ms"), ITL: mustDelay(t, "20ms")}
}

// TestNativeAnswers checks the whole responses of the APIs of other servers; each line of
// a stream is one line.
func TestNativeAnswers(t *testing.T) {
	const (
		tgiBody  = `{"inputs":"Hi there","parameters":{"max_new_tokens":2,"details":true}}`
		sgBody   = `{"text":"Hi there","sampling_params":{"max_new_tokens":2,"ignore_eos":true},"stream":%v}`
		chatBody = `{"model":"m","messages":[{"role":"user","content":"Hi there"}],"options":{"num_predict":2}%s}`
		trtBody  = `{"text_input":"Hi there","max_tokens":2}`
		created  = `{"model":"m","created_at":"2000-01-01T00:00:`
		tail     = `"prompt_eval_count":2,"prompt_eval_duration":200000000,"eval_count":2,"eval_duration":20000000}`
		sgTail   = `"prompt_tokens":2,"weight_version":"default","completion_tokens":`
		infer    = `{"id":"r1","inputs":[{"name":"text_input","shape":[1,1],"datatype":"BYTES","data":[["Hi there"]]},{"name":"max_tokens","shape":[1],"datatype":"INT32","data":[2]}]}`
	)
	tgiToken := func(i int, text string) string {
		return fmt.Sprintf(`{"id":%d,"text":%q,"logprob":-0.5,"special":false}`, i, text)
	}
	for _, tt := range []struct {
		name, path, body string
		kind             string // content type
		want             []string
	}{
		{"TGI", "/generate", tgiBody, "application/json", []string{
			`{"generated_text":"Hi there","details":{"finish_reason":"length","generated_tokens":2,"seed":null,"prefill":[],"tokens":[` + tgiToken(0, "Hi") + "," + tgiToken(1, " there") + `]}}`,
		}},
		{"TGI without details, compatible", "/", `{"inputs":"Hi there","parameters":{"max_new_tokens":2}}`, "application/json", []string{`[{"generated_text":"Hi there"}]`}},
		{"TGI, streamed", "/generate_stream", tgiBody, api.EventStream, []string{
			`data:{"index":1,"token":` + tgiToken(0, "Hi") + `,"generated_text":null,"details":null}`,
			`data:{"index":2,"token":` + tgiToken(1, " there") + `,"generated_text":"Hi there","details":{"finish_reason":"length","generated_tokens":2,"seed":null,"input_length":2}}`,
		}},
		{"TGI, streamed on a path that several share", "/invocations", `{"inputs":"Hi","parameters":{"max_new_tokens":1},"stream":true}`, api.EventStream, []string{
			`data:{"index":1,"token":` + tgiToken(0, "Hi") + `,"generated_text":"Hi","details":null}`,
		}},
		{"SGLang", "/generate", fmt.Sprintf(sgBody, false), "application/json", []string{
			`{"text":"Hi there","meta_info":{"id":"r1","finish_reason":{"type":"length","length":2},` + sgTail + `2,"cached_tokens":0,"e2e_latency":0.22}}`,
		}},
		{"SGLang, streamed", "/generate", fmt.Sprintf(sgBody, true), api.EventStream, []string{
			`data: {"text":"Hi","meta_info":{"id":"r1","finish_reason":null,` + sgTail + `1,"cached_tokens":0}}`,
			`data: {"text":"Hi there","meta_info":{"id":"r1","finish_reason":{"type":"length","length":2},` + sgTail + `2,"cached_tokens":0,"e2e_latency":0.22}}`,
			`data: [DONE]`,
		}},
		{"SGLang, a batch", "/generate", `{"text":["Hi","Ho ho"],"sampling_params":{"max_new_tokens":1}}`, "application/json", []string{
			`[{"text":"Hi","meta_info":{"id":"r1","finish_reason":{"type":"length","length":1},"prompt_tokens":1,"weight_version":"default","completion_tokens":1,"cached_tokens":0,"e2e_latency":0.2}},` +
				`{"text":"Ho","meta_info":{"id":"r1","finish_reason":{"type":"length","length":1},` + sgTail + `1,"cached_tokens":0,"e2e_latency":0.2}}]`,
		}},
		{"SGLang, two answers, streamed", "/generate", `{"text":"Hi","sampling_params":{"max_new_tokens":1,"n":2},"stream":true}`, api.EventStream, []string{
			`data: {"index":0,"text":"Hi","meta_info":{"id":"r1","finish_reason":{"type":"length","length":1},"prompt_tokens":1,"weight_version":"default","completion_tokens":1,"cached_tokens":0,"e2e_latency":0.2}}`,
			`data: {"index":1,"text":"Hi","meta_info":{"id":"r1","finish_reason":{"type":"length","length":1},"prompt_tokens":1,"weight_version":"default","completion_tokens":1,"cached_tokens":0,"e2e_latency":0.2}}`,
			`data: [DONE]`,
		}},
		{"Ollama chat", "/api/chat", fmt.Sprintf(chatBody, `,"stream":false`), "application/json; charset=utf-8", []string{
			created + `00.22Z","message":{"role":"assistant","content":"Hi there"},"done":true,"done_reason":"length","total_duration":220000000,"load_duration":0,` + tail,
		}},
		{"Ollama chat, streamed unless told otherwise", "/api/chat", fmt.Sprintf(chatBody, ""), "application/x-ndjson", []string{
			created + `00.2Z","message":{"role":"assistant","content":"Hi"},"done":false}`,
			created + `00.22Z","message":{"role":"assistant","content":" there"},"done":false}`,
			created + `00.22Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","total_duration":220000000,"load_duration":0,` + tail,
		}},
		{"Ollama generate, streamed", "/api/generate", `{"model":"m","prompt":"Hi","options":{"num_predict":1}}`, "application/x-ndjson", []string{
			created + `00.2Z","response":"Hi","done":false}`,
			created + `00.2Z","response":"","done":true,"done_reason":"length","total_duration":200000000,"load_duration":0,"prompt_eval_count":1,"prompt_eval_duration":200000000,"eval_count":1,"eval_duration":0}`,
		}},
		{"Triton", "/v2/models/m/generate", trtBody, "application/json", []string{
			`{"cum_log_probs":0.0,"model_name":"m","model_version":"1","output_log_probs":0.0,"sequence_end":false,"sequence_id":0,"sequence_start":false,"text_output":"Hi there"}`,
		}},
		{"Triton with vLLM, the prompt before the answer", "/v2/models/m/generate", `{"text_input":"Hi \"x\"","exclude_input_in_output":false,"parameters":{"max_tokens":1}}`, "application/json", []string{
			`{"model_name":"m","model_version":"1","text_output":"Hi \"x\"Hi"}`,
		}},
		{"Triton with vLLM, streamed", "/v2/models/m/versions/1/generate_stream", `{"text_input":"Hi there","parameters":{"max_tokens":2}}`, api.EventStream, []string{
			`data: {"model_name":"m","model_version":"1","text_output":"Hi"}`,
			`data: {"model_name":"m","model_version":"1","text_output":" there"}`,
		}},
		{"KServe", "/v2/models/m/infer", infer, "application/json", []string{
			`{"model_name":"m","model_version":"1","id":"r1","outputs":[{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":["Hi there"]}]}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, echoing(t))
				a := r.post(tt.path, tt.body, "X-Request-Id", "r1")
				got := strings.FieldsFunc(a.body, func(c rune) bool { return c == '\n' })
				if diff := cmp.Diff(tt.want, got); diff != "" || a.status != http.StatusOK || a.header.Get("Content-Type") != tt.kind {
					t.Errorf("status %d, type %s (-want +got):\n%s", a.status, a.header.Get("Content-Type"), diff)
				}
				if record := r.lastTruth(); record.Outcome != api.OutcomeOK || record.PromptTokens == 0 || record.Path != tt.path {
					t.Errorf("truth = %+v", record)
				}
				r.stop()
			})
		})
	}
}

// TestNativeEmpty checks the streams of answers without tokens, and Ollama's with
// reasoning.
func TestNativeEmpty(t *testing.T) {
	const ollama = `{"model":"m","messages":[{"role":"user","content":"Hi"}],"options":{"num_predict":2}}`
	nothing := options.Options{Fast: true, Faults: mustFaults(t, "empty:output")}
	for _, tt := range []struct {
		name, path, body string
		opt              options.Options
		want             []string // pieces of the lines
	}{
		{"TGI", "/generate_stream", `{"inputs":"x"}`, nothing, []string{`"text":"</s>","logprob":-0.5,"special":true},"generated_text":"","details":null}`}},
		{"SGLang", "/generate", `{"text":"x","stream":true}`, nothing, []string{`"text":"","meta_info":`, "[DONE]"}},
		{"Ollama", "/api/chat", ollama, nothing, []string{`"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"`}},
		{"Triton", "/v2/models/m/generate_stream", `{"text_input":"x"}`, nothing, []string{`"text_output":""}`}},
		{"thoughts", "/api/chat", ollama, options.Options{Fast: true, ReasoningTokens: 1, Comments: ms}, []string{
			`"message":{"role":"assistant","content":"","thinking":"`, `"message":{"role":"assistant","content":"`, `"done":true`,
		}},
		{"no comments between lines", "/api/chat", ollama, options.Options{TTFT: mustDelay(t, "10ms"), Comments: ms}, []string{`"done":false`, `"done":false`, `"done":true`}},
		{"no marker", "/generate", `{"text":"x","stream":true,"sampling_params":{"max_new_tokens":1}}`, options.Options{Fast: true, NoDone: true}, []string{`"completion_tokens":1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				a := r.post(tt.path, tt.body)
				lines := strings.FieldsFunc(a.body, func(c rune) bool { return c == '\n' })
				if len(lines) != len(tt.want) {
					t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tt.want), a.body)
				}
				for i, want := range tt.want {
					if !strings.Contains(lines[i], want) {
						t.Errorf("line %d is %s, want one with %s", i, lines[i], want)
					}
				}
				r.stop()
			})
		})
	}
}

// TestNativeRefusals checks the error responses of each API.
func TestNativeRefusals(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/generate", `{`, 422, `"error_type":"validation"`},
		{"/generate", `{"inputs":7}`, 422, `{"error":"Input should be a valid string: inputs","error_type":"validation"}`},
		{"/generate_stream", `{"inputs":"x","parameters":{"max_new_tokens":0}}`, 422, "max_new_tokens must be at least 1, got 0."},
		{"/generate", `{"inputs":"x","parameters":[]}`, 422, "valid dictionary: parameters"},
		{"/generate", `{"text":["x",1]}`, 400, `{"error":{"message":"Input should be a valid string or list of strings: text"}}`},
		{"/generate", `{"input_ids":[]}`, 400, "string or list of strings: text"},
		{"/generate", `{"text":"x","sampling_params":{"n":5000}}`, 400, "n must be between 1 and 1024"},
		{"/generate", `{"text":"x","sampling_params":{"max_new_tokens":2,"min_new_tokens":3}}`, 400, "the least length, 3, is over the limit of 2"},
		{"/api/chat", `{"messages":[{"role":"user","content":"x"}]}`, 400, `{"error":"model is required"}`},
		{"/api/chat", `{"model":"m","messages":[{"role":"user","content":["x"]}]}`, 400, "messages.content"},
		{"/api/chat", `{"model":"m","messages":[]}`, 400, "non-empty list"},
		{"/api/chat", `{"model":"m","messages":[{"role":"user","content":"x","images":["http://h/i.png"]}]}`, 400, "list of base64 strings: images"},
		{"/api/generate", `{"model":"gone","prompt":"x"}`, 404, `{"error":"The model ` + "`gone`" + ` does not exist."}`},
		{"/api/generate", `{"model":"m","prompt":"x","images":"y"}`, 400, "list of base64 strings"},
		{"/v2/models/gone/generate", `{"text_input":"x"}`, 404, `{"error":"The model`},
		{"/v2/models/m/generate", `{"max_tokens":1}`, 400, `text_input`},
		{"/v2/models/m/infer", `{}`, 400, "list of tensors: inputs"},
		{"/v2/models/m/infer", `{"inputs":[{"name":"max_tokens","datatype":"INT32","data":[1]}]}`, 400, "datatype BYTES"},
		{"/v2/models/m/infer", `{"inputs":[{"name":"t","datatype":"BYTES","data":[]}]}`, 400, "inputs.data"},
		{"/v2/models/m/infer", `{"inputs":[{"name":"t","datatype":"BYTES","data":["x"]},{"name":"max_tokens","datatype":"INT32","data":[0]}]}`, 400, "at least 1"},
		{"/invocations", `{"x":1}`, 400, "messages"},
		{"/invocations-response-stream", `{"prompt":"x","max_tokens":0}`, 400, "max_tokens must be at least 1"},
	} {
		t.Run(tt.path+tt.body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{Fast: true, ServedModels: []string{"m"}})
				if a := r.post(tt.path, tt.body); a.status != tt.status || !strings.Contains(a.body, tt.want) {
					t.Errorf("%d %s, want %d with %s", a.status, a.body, tt.status, tt.want)
				}
				r.stop()
			})
		})
	}
}

// TestNativeInfo checks the information routes of the servers.
func TestNativeInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Fast: true, ServedModels: []string{"m"}, MaxModelLen: 100})
		for _, tt := range []struct {
			path   string
			status int
			want   string
		}{
			{"/info", 200, `{"model_id":"m","max_input_tokens":99,"max_total_tokens":100,"version":"0.0.0+mock"}`},
			{"/api/tags", 200, `{"models":[{"name":"m","model":"m","size":0,"details":{"format":"mock"}}]}`},
			{"/api/version", 200, `{"version":"0.0.0+mock"}`},
			{"/v2/health/ready", 200, ""},
			{"/v2/health/live", 200, ""},
			{"/v2/models/m/ready", 200, ""},
			{"/v2/models/x/ready", 404, ""},
			{"/v2/models/x", 404, `{"error":"Request for unknown model: \"x\" is not found"}`},
			{"/v2/models/m", 200, `{"name":"m","versions":["1"],"platform":"mock",` +
				`"inputs":[{"name":"text_input","datatype":"BYTES","shape":[-1,1]},{"name":"max_tokens","datatype":"INT32","shape":[-1,1]}],` +
				`"outputs":[{"name":"text_output","datatype":"BYTES","shape":[-1,1]}]}`},
		} {
			if a := r.get(tt.path); a.status != tt.status || a.body != tt.want {
				t.Errorf("%s: %d %s, want %d %s", tt.path, a.status, a.body, tt.status, tt.want)
			}
		}
		r.stop()
	})
}

// unwrap cuts an AWS event stream into messages and returns their type and payload,
// one line each. It checks every length and checksum.
func unwrap(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	for b := []byte(body); len(b) > 0; {
		if len(b) < 16 || int(binary.BigEndian.Uint32(b)) > len(b) {
			t.Fatalf("%d bytes at the end are no message", len(b))
		}
		size, head := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		if binary.BigEndian.Uint32(b[8:]) != crc32.ChecksumIEEE(b[:8]) || binary.BigEndian.Uint32(b[size-4:]) != crc32.ChecksumIEEE(b[:size-4]) {
			t.Fatalf("a checksum of message %d is wrong", len(out))
		}
		kind := "?"
		for _, name := range []string{"PayloadPart", "ModelStreamError"} {
			if strings.Contains(string(b[12:12+head]), name) {
				kind = name
			}
		}
		out = append(out, kind+" "+strings.TrimRight(string(b[12+head:size-4]), "\n"))
		b = b[size:]
	}
	return out
}

func TestAmazonStream(t *testing.T) {
	const (
		head   = `PayloadPart data: {"id":"cmpl-r1","object":"text_completion","created":946684800,"model":"m","choices":[{"index":0`
		broken = `ModelStreamError {"Message":"The engine died while the answer was being generated.","ErrorCode":"ModelStreamError"}`
	)
	event := func(s string) string { return head + `,"text":"` + s + `","logprobs":null,"finish_reason":null}]}` }
	finish := head + `,"text":"","logprobs":null,"finish_reason":"length","stop_reason":null}]}`
	for _, tt := range []struct {
		name   string
		opt    options.Options
		stream bool
		want   []string
	}{
		{"a stream", options.Options{}, true, []string{event("Hi"), event(" there"), finish, "PayloadPart data: [DONE]"}},
		{"several in one write", options.Options{Coalesce: 3, LineEnd: options.LineCRLF}, true, nil},
		{"a breakdown", options.Options{Faults: mustFaults(t, "stream_error:after_tokens:1")}, true, []string{event("Hi"), broken}},
		{"one document", options.Options{}, false, []string{
			`PayloadPart {"id":"cmpl-r1","object":"text_completion","created":946684800,"model":"m","choices":[{"index":0,"text":"Hi there","logprobs":null,"finish_reason":"length","stop_reason":null}],` +
				`"usage":{"prompt_tokens":2,"total_tokens":4,"completion_tokens":2}}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opt.Content, tt.opt.Fast = options.ContentEcho, true
				r := newRig(t, tt.opt)
				a := r.post("/invocations-response-stream", fmt.Sprintf(`{"model":"m","prompt":"Hi there","max_tokens":2,"stream":%v}`, tt.stream), "X-Request-Id", "r1")
				got := unwrap(t, a.body)
				if tt.want == nil {
					if len(got) != 4 {
						t.Errorf("%d messages, want 4", len(got))
					}
				} else if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if a.header.Get("Content-Type") != text.AmazonStream {
					t.Errorf("content type %s", a.header.Get("Content-Type"))
				}
				r.stop()
			})
		})
	}
}

// FuzzNativeRequest checks that no body makes a route panic, and that every accepted one
// results in choices, every other one in an error response.
func FuzzNativeRequest(f *testing.F) {
	for _, s := range []string{
		`{"inputs":"a","parameters":{"max_new_tokens":3,"details":true},"stream":true}`,
		`{"text":["a","b"],"sampling_params":{"n":2,"seed":1}}`, `{"input_ids":[1,2]}`,
		`{"model":"m","messages":[{"role":"user","content":"a","images":["cG5n"]}],"options":{"num_predict":-1}}`,
		`{"model":"m","prompt":"a","stream":false,"images":[]}`, `{"text_input":"a","parameters":{}}`, `{"text_input":"a","max_tokens":1}`,
		`{"inputs":[{"name":"max_tokens","data":[[3]]},{"datatype":"BYTES","data":["a"]}]}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	s, err := New(options.Options{Fast: true, MaxModelLen: 64, Content: options.ContentEcho, OutputTokens: random.ConstLength(3)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	all := []*api.Protocol{text.NewGenerate(), text.NewTGI(text.TGIAsked), text.NewOllama(true), text.NewOllama(false), text.NewTriton(true), text.NewInfer(), text.NewInvocations(true)}
	r, err := http.NewRequest(http.MethodPost, "/", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range all {
			if p.Choose != nil {
				p = p.Choose(s.model, body)
			}
			q, refusal := p.Read(s.model, r, body)
			if refusal != nil {
				if refusal.Status < 400 || refusal.Message == "" || len(p.Refusal(nil, refusal)) == 0 {
					t.Errorf("refusal %+v", refusal)
				}
				continue
			}
			if choices := s.model.Plan(q, p.Reasons); len(choices) != len(q.Prompts)*q.N || len(choices) == 0 {
				t.Errorf("%d choices for %d prompts, n %d", len(choices), len(q.Prompts), q.N)
			}
		}
	})
}
