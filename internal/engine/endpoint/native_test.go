package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// kindOf returns a kind by its name.
func kindOf(t testing.TB, name string) Kind {
	t.Helper()
	k, ok := Lookup(name)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", name)
	}
	return k
}

// TestEncodeNative fixes the bodies of the servers' own APIs.
func TestEncodeNative(t *testing.T) {
	seven := bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}
	full := func(s *Settings, extra string) Request {
		return Request{System: "S", Context: "C", Turn: bench.Turn{Texts: []string{"a", "b"}, MaxTokens: 7, ExtraBody: json.RawMessage(`{"seed":2}`)}, Settings: withExtra(t, s, extra)}
	}
	history := []bench.Exchange{{
		Turn:   bench.Turn{Texts: []string{"1"}, Images: []bench.Media{{MIME: "image/png", Data: []byte("png")}}},
		Answer: bench.Choice{Text: "A", ToolCalls: []bench.ToolCall{{ID: "c", Name: "f", Arguments: `{"x":1}`}, {Name: "g", Arguments: "no JSON"}}},
	}}
	for _, tt := range []struct {
		name, kind string
		req        Request
		want       string
	}{
		{"minimal", "tgi_generate", Request{Turn: user("Hi"), Settings: &Settings{}}, `{"inputs":"Hi","parameters":{"details":true}}`},
		{"the path says that it streams", "huggingface_generate", Request{Turn: seven, Settings: streaming()}, `{"inputs":"Hi","parameters":{"max_new_tokens":7,"details":true}}`},
		{"a path of the user's does not", "huggingface_generate", Request{Turn: seven, Settings: &Settings{Streaming: true, OwnPath: true}}, `{"inputs":"Hi","stream":true,"parameters":{"max_new_tokens":7,"details":true}}`},
		{
			"full", "huggingface_generate", full(&Settings{}, `{"temperature":0.7,"seed":1,"details":false,"parameters":{"stop":["x"],"max_new_tokens":9}}`),
			`{"inputs":"S C a b","parameters":{"max_new_tokens":9,"details":false,"temperature":0.7,"seed":2,"stop":["x"]}}`,
		},
		{"parameters that are none", "huggingface_generate", Request{Turn: seven, Settings: withExtra(t, &Settings{}, `{"parameters":null,"inputs":"X","stream":true}`)}, `{"inputs":"X","stream":true,"parameters":null}`},

		{"minimal", "ollama_chat", Request{Turn: user("Hi"), Settings: &Settings{}}, `{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":false}`},
		{
			"full", "Ollama-Chat", full(streaming(), `{"temperature":0.7,"keep_alive":"5m","think":false,"options":{"num_ctx":4096},"model":"X"}`),
			`{"model":"X","messages":[{"role":"system","content":"S"},{"role":"user","content":"C"},{"role":"user","content":"a\nb"}],"stream":true,"keep_alive":"5m","think":false,` +
				`"options":{"num_predict":7,"temperature":0.7,"num_ctx":4096,"seed":2}}`,
		},
		{
			"history with an image and tools", "ollama_chat", Request{History: history, Turn: bench.Turn{Role: "tool", Texts: []string{"2"}, Model: "T"}, Settings: &Settings{}},
			`{"model":"T","messages":[{"role":"user","content":"1","images":["cG5n"]},{"role":"assistant","content":"A","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":"no JSON"}}]},{"role":"tool","content":"2"}],"stream":false}`,
		},
		{"minimal", "ollama_generate", Request{Turn: seven, Settings: streaming()}, `{"model":"M","prompt":"Hi","stream":true,"options":{"num_predict":7}}`},
		{
			"full", "ollama_generate", Request{System: "S", Context: "C", History: history, Turn: bench.Turn{Texts: []string{"2"}, Images: history[0].Turn.Images}, Settings: withExtra(t, &Settings{}, `{"raw":true,"min_p":0.1}`)},
			`{"model":"M","prompt":"C 1 A 2","system":"S","images":["cG5n"],"stream":false,"raw":true,"options":{"min_p":0.1}}`,
		},

		{"minimal", "sglang_generate", Request{Turn: user("Hi"), Settings: &Settings{}}, `{"text":"Hi","stream":false}`},
		{
			"full", "sglang_generate", full(streaming(), `{"temperature":0.7,"ignore_eos":true,"return_logprob":true,"rid":"r","sampling_params":{"min_new_tokens":7}}`),
			`{"text":"S C a b","stream":true,"return_logprob":true,"rid":"r","sampling_params":{"max_new_tokens":7,"temperature":0.7,"ignore_eos":true,"min_new_tokens":7,"seed":2}}`,
		},

		{"minimal", "trtllm_generate", Request{Turn: user("Hi"), Settings: &Settings{}}, `{"text_input":"Hi","stream":false,"bad_words":"","stop_words":""}`},
		{
			"full", "triton_generate", full(streaming(), `{"temperature":0.7,"stop_words":"x","parameters":{"a":1}}`),
			`{"text_input":"S C a b","max_tokens":7,"stream":true,"bad_words":"","stop_words":"x","temperature":0.7,"parameters":{"a":1},"seed":2}`,
		},
		{
			"the vLLM backend", "triton_generate", full(&Settings{Streaming: true, Dialect: "vllm"}, `{"temperature":0.7,"return_num_output_tokens":true,"exclude_input_in_output":false}`),
			`{"text_input":"S C a b","exclude_input_in_output":false,"return_num_output_tokens":true,"parameters":{"max_tokens":7,"stream":true,"temperature":0.7,"seed":2}}`,
		},

		{"minimal", "kserve_infer", Request{Turn: user("Hi"), Settings: &Settings{}}, `{"inputs":[{"name":"text_input","shape":[1,1],"datatype":"BYTES","data":["Hi"]}],"outputs":[{"name":"text_output"}]}`},
		{
			"full", "kserve_infer", full(&Settings{}, `{"id":"r1","outputs":[{"name":"x"}]}`),
			`{"inputs":[{"name":"text_input","shape":[1,1],"datatype":"BYTES","data":["S C a b"]},{"name":"max_tokens","shape":[1,1],"datatype":"INT32","data":[7]}],"outputs":[{"name":"x"}],"id":"r1","seed":2}`,
		},

		{"chat", "sagemaker", Request{Turn: seven, Settings: streaming()}, `{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":true,"max_completion_tokens":7,"stream_options":{"include_usage":true}}`},
		{"TGI", "sagemaker", Request{Turn: seven, Settings: &Settings{Streaming: true, Dialect: "tgi"}}, `{"inputs":"Hi","stream":true,"parameters":{"max_new_tokens":7,"details":true}}`},
		{"completions", "invocations", Request{Turn: seven, Settings: &Settings{Dialect: "completions"}}, `{"model":"M","prompt":"Hi","stream":false,"max_tokens":7}`},

		{
			"members of Dynamo", "chat", Request{Turn: user("Hi"), Settings: withExtra(t, &Settings{}, `{"nvext":{"annotations":["x"],"extra_fields":["timing"],"agent_hints":{"priority":1}}}`)},
			`{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":false,"nvext":{"annotations":["x"],"extra_fields":["timing"],"agent_hints":{"priority":1}}}`,
		},
		{
			"a hint of the length", "chat", Request{Turn: seven, Settings: &Settings{LengthHint: true}},
			`{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":false,"max_completion_tokens":7,"nvext":{"agent_hints":{"osl":7}}}`,
		},
		{
			"a hint beside others", "completions", Request{Turn: seven, Settings: withExtra(t, &Settings{LengthHint: true}, `{"nvext":{"a":1,"agent_hints":{"priority":1}}}`)},
			`{"model":"M","prompt":"Hi","stream":false,"max_tokens":7,"nvext":{"a":1,"agent_hints":{"priority":1,"osl":7}}}`,
		},
		{
			"a hint of the user's", "completions", Request{Turn: seven, Settings: withExtra(t, &Settings{LengthHint: true}, `{"nvext":{"agent_hints":{"osl":9}}}`)},
			`{"model":"M","prompt":"Hi","stream":false,"max_tokens":7,"nvext":{"agent_hints":{"osl":9}}}`,
		},
		{
			"no place for a hint", "completions", Request{Turn: seven, Settings: withExtra(t, &Settings{LengthHint: true}, `{"nvext":{"agent_hints":null}}`)},
			`{"model":"M","prompt":"Hi","stream":false,"max_tokens":7,"nvext":{"agent_hints":null}}`,
		},
		{
			"an exact length", "chat", Request{Turn: seven, Settings: &Settings{ExactLength: true}},
			`{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":false,"max_completion_tokens":7,"ignore_eos":true,"min_tokens":7}`,
		},
		{
			"an exact length beside the user's", "completions", Request{Turn: seven, Settings: withExtra(t, &Settings{ExactLength: true}, `{"min_tokens":3}`)},
			`{"model":"M","prompt":"Hi","stream":false,"max_tokens":7,"min_tokens":3,"ignore_eos":true}`,
		},
		{
			"an exact length for SGLang", "sglang_generate", Request{Turn: seven, Settings: withExtra(t, &Settings{ExactLength: true}, `{"temperature":0}`)},
			`{"text":"Hi","stream":false,"sampling_params":{"max_new_tokens":7,"ignore_eos":true,"min_new_tokens":7,"temperature":0}}`,
		},
		{"no length to be exact", "completions", Request{Turn: user("Hi"), Settings: &Settings{ExactLength: true}}, `{"model":"M","prompt":"Hi","stream":false}`},
		{"nothing to hint at", "completions", Request{Turn: user("Hi"), Settings: &Settings{LengthHint: true}}, `{"model":"M","prompt":"Hi","stream":false}`},
		{
			"one length alone for TensorRT-LLM", "chat", Request{Turn: seven, Settings: withExtra(t, &Settings{}, `{"max_tokens":9,"ignore_eos":true}`)},
			`{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":false,"max_tokens":9,"ignore_eos":true}`,
		},
	} {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			tt.req.Model = "M"
			k := kindOf(t, tt.kind)
			got, err := k.Body(nil, &tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEncodeNativeErrors: what a dialect cannot express is refused by name.
func TestEncodeNativeErrors(t *testing.T) {
	conversation := Request{History: []bench.Exchange{{}, {}}, Turn: user("3"), Settings: &Settings{}}
	url := Request{Turn: bench.Turn{Images: []bench.Media{{URL: "http://h/i.png"}}}, Settings: &Settings{}}
	audio := Request{Turn: bench.Turn{Audios: []bench.Media{{}}}, Settings: &Settings{}}
	extra := Request{Turn: bench.Turn{ExtraBody: json.RawMessage(`[1]`)}, Settings: &Settings{}}
	inner := Request{Turn: bench.Turn{Images: []bench.Media{{URL: "u"}}}, Settings: &Settings{Dialect: "completions"}}
	model := Request{Turn: bench.Turn{Model: "T"}, Settings: &Settings{PathModel: "M"}}
	for _, tt := range []struct {
		kind string
		req  Request
		want string
	}{
		{"triton_generate", model, `the model of the request is "T", and its path names "M"`},
		{"huggingface_generate", conversation, "endpoint type huggingface_generate takes conversations of one turn; this is turn 3"},
		{"sglang_generate", conversation, "takes conversations of one turn"},
		{"triton_generate", conversation, "takes conversations of one turn"},
		{"kserve_infer", conversation, "takes conversations of one turn"},
		{"ollama_chat", url, "image 1 is a URL"},
		{"ollama_generate", url, "image 1 is a URL"},
		{"ollama_chat", audio, "takes no audio"},
		{"sagemaker", Request{History: conversation.History, Turn: user("3"), Settings: &Settings{Dialect: "tgi"}}, "takes conversations of one turn"},
		{"sagemaker", inner, "endpoint type completions takes no images"},
		{"huggingface_generate", extra, "merge the turn's extra body"},
		{"triton_generate", extra, "merge the turn's extra body"},
		{"kserve_infer", extra, "merge the turn's extra body"},
	} {
		k := kindOf(t, tt.kind)
		if _, err := k.Body(nil, &tt.req); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.kind, err, tt.want)
		}
	}
	// The history of ollama_chat is checked as the turn is.
	k := kindOf(t, "ollama_chat")
	if _, err := k.Body(nil, &Request{History: []bench.Exchange{{Turn: url.Turn}}, Settings: &Settings{}}); err == nil {
		t.Error("an image of the history that is a URL was encoded")
	}
}

// TestMergeCopies: what runs share does not change with a body.
func TestMergeCopies(t *testing.T) {
	s := withExtra(t, &Settings{}, `{"options":{"a":1},"parameters":{"a":1},"sampling_params":{"a":1},"b":2}`)
	before, err := json.Marshal(s.Extra)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		r := Request{Turn: bench.Turn{Texts: []string{"x"}, MaxTokens: 3, ExtraBody: json.RawMessage(`{"options":{"a":2,"c":3},"parameters":{"a":3},"b":4}`)}, Settings: s}
		first, err := k.Body(nil, &r)
		if err != nil {
			continue // it needs another turn
		}
		second, err := k.Body(nil, &r)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s: the second body is %s, error %v; the first was %s", k.Name, second, err, first)
		}
	}
	if after, err := json.Marshal(s.Extra); err != nil || string(after) != string(before) {
		t.Errorf("extra is %s now, error %v; it was %s", after, err, before)
	}
}

func TestServerTimes(t *testing.T) {
	ms := time.Millisecond
	const done = `"message":{"role":"assistant","content":"x"},"done":true`
	for _, tt := range []struct {
		name, kind string
		resp       *bench.Response
		want       map[string]time.Duration
	}{
		{"Ollama", "ollama_chat", wholeBody(`{` + done + `,"total_duration":174560334,"load_duration":101397084,"prompt_eval_duration":13074791,"eval_duration":52479709}`), map[string]time.Duration{
			"total_duration": 174560334, "load_duration": 101397084, "prompt_eval_duration": 13074791, "eval_duration": 52479709,
		}},
		{"nothing that makes sense", "ollama_chat", wholeBody(`{` + done + `,"total_duration":-1,"load_duration":"7","eval_duration":1e300}`), nil},
		{"SGLang", "sglang_generate", wholeBody(`{"text":"x","meta_info":{"e2e_latency":0.25}}`), map[string]time.Duration{"e2e_latency": 250 * ms}},
		{"Dynamo, without a moment", "chat", sse(delta(`"content":"a"`), `{"choices":[],"nvext":{"timing":{"ttft_ms":12.5,"request_received_ms":1700000000000,"kv_hit_rate":0.5,"total_time_ms":40}}}`, stop),
			map[string]time.Duration{"ttft_ms": 12500 * time.Microsecond, "total_time_ms": 40 * ms}},
		{"vLLM", "completions", wholeBody(`{"choices":[{"text":"x","finish_reason":"stop"}],"metrics":{"time_to_first_token_ms":3,"tokens_per_second":9}}`), map[string]time.Duration{"time_to_first_token_ms": 3 * ms}},
		{"llama.cpp", "chat", sse(delta(`"content":"a"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"prompt_ms":1,"predicted_ms":2,"predicted_n":3}}`),
			map[string]time.Duration{"prompt_ms": ms, "predicted_ms": 2 * ms}},
		{"not an object", "chat", sse(delta(`"content":"a"`), `{"choices":[],"nvext":7,"metrics":null,"timings":[1]}`, stop), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := kindOf(t, tt.kind)
			a := k.Decode(tt.resp, tt.resp.Framing == bench.FramingSSE)
			if a.Failure != nil {
				t.Errorf("failure %v", a.Failure)
			}
			if diff := cmp.Diff(tt.want, a.ServerTimes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("no end of names", func(t *testing.T) {
		var many strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&many, `"n%d_ms":1,`, i)
		}
		k := kindOf(t, "chat")
		a := k.Decode(wholeBody(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"metrics":{`+many.String()+`"n5_ms":2}}`), false)
		if len(a.ServerTimes) != mostTimes || a.ServerTimes["n5_ms"] != 2*ms {
			t.Errorf("%d times, want %d; the last value of a name is %v", len(a.ServerTimes), mostTimes, a.ServerTimes["n5_ms"])
		}
	})
	t.Run("TGI, in headers", func(t *testing.T) {
		resp := wholeBody(`{"generated_text":"x"}`)
		resp.Header = http.Header{"X-Total-Time": {"120"}, "X-Queue-Time": {"0.5"}, "X-Inference-Time": {"x"}, "X-Validation-Time": {"NaN"}}
		k := kindOf(t, "huggingface_generate")
		want := map[string]time.Duration{"x-total-time": 120 * ms, "x-queue-time": 500 * time.Microsecond}
		if diff := cmp.Diff(want, k.Decode(resp, false).ServerTimes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestServerTimesOnEveryChunk: events of one shape that carry times are all read.
func TestServerTimesOnEveryChunk(t *testing.T) {
	var events []string
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		events = append(events, `{"choices":[{"index":0,"delta":{"content":"a"}}],"nvext":{"timing":{"ttft_ms":`+n+`}}}`)
	}
	k := kindOf(t, "chat")
	a := k.Decode(sse(append(events, stop, "[DONE]")...), true)
	if want := 11 * time.Millisecond; a.ServerTimes["ttft_ms"] != want || len(a.Chunks) != 11 {
		t.Errorf("ttft_ms = %v after %d chunks, want the last one, %v, after 11", a.ServerTimes["ttft_ms"], len(a.Chunks), want)
	}
}

// TestCumulative: whether texts are all there is so far or only what is new shows by
// the texts themselves, and a wrong start is put right.
func TestCumulative(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts string // separated by |
		want  string
	}{
		{"all so far", "a|ab|abc|abcd", `text:1 text:1 text:1 text:1 | 0 text="abcd"`},
		{"only what is new", "a|b|c", `text:1 text:1 text:1 | 0 text="abc"`},
		{"new text that looks like all of it, twice", "a|ab|c|d", `text:1 text:2 text:1 text:1 | 0 text="aabcd"`},
		{"equal texts are no evidence", "a|a|a|b", `text:3 text:1 | 0 text="aaab"`},
		{"nothing new for a while", "a|a|ab|ab|abc|abc|abcd", `text:1 text:1 text:1 text:1 | 0 text="abcd"`},
		{"empty texts", "|a||ab|", `text:1 text:1 | 0 text="ab"`},
		{"one text", "a", `text:1 | 0 text="a"`},
		{"one text again and again", "a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a", `text:16 text:1 | 0 text="aaaaaaaaaaaaaaaaa"`},
		{"a late change of mind", "a|ab|abc|abX|abXy|ab", `text:1 text:1 text:1 text:1 | 0 text="ab"`},
		{"a longer change of mind", "a|ab|abc|XYZabc", `text:1 text:1 text:1 text:3 | 0 text="XYZabc"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events []string
			for text := range strings.SplitSeq(tt.texts, "|") {
				events = append(events, `{"text_output":"`+text+`"}`)
			}
			k := kindOf(t, "triton_generate")
			if got := strings.TrimSpace(show(k.Decode(sse(events...), true))); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDropPrompt: a prompt in front of an answer is no output.
func TestDropPrompt(t *testing.T) {
	const triton, kserve = "triton_generate", "kserve_infer"
	tensor := `{"inputs":[{"name":"n","datatype":"INT32","data":[1]},{"name":"text_input","datatype":"BYTES","data":[["Hi"]]}]}`
	for _, tt := range []struct {
		name, kind, sent string
		resp             *bench.Response
		want             string
	}{
		{"before the answer", triton, `{"text_input":"Hi"}`, wholeBody(`{"text_output":"Hi there"}`), `text:6 | 0 text=" there"`},
		{"said to be left out", triton, `{"text_input":"Hi","exclude_input_in_output":true}`, wholeBody(`{"text_output":"Hi there"}`), `text:8 | 0 text="Hi there"`},
		{"said to be there", triton, `{"text_input":"Hi","exclude_input_in_output":false}`, wholeBody(`{"text_output":"Hi there"}`), `text:6 | 0 text=" there"`},
		{"another answer", triton, `{"text_input":"Hi"}`, wholeBody(`{"text_output":"Ho Hi"}`), `text:5 | 0 text="Ho Hi"`},
		{"in a stream", triton, `{"text_input":"Hi"}`, sse(`{"text_output":"Hi"}`, `{"text_output":" there"}`), `text:2 text:6 | 0 text="Hi there"`},
		{"a tensor", kserve, tensor, wholeBody(`{"outputs":[{"datatype":"BYTES","data":["Hi there"]}]}`), `text:6 | 0 text=" there"`},
		{"no text", kserve, `{"inputs":[{"datatype":"BYTES","data":[[]]},{"datatype":"BYTES","data":[7]}]}`, wholeBody(`{"outputs":[{"datatype":"BYTES","data":["Hi"]}]}`), `text:2 | 0 text="Hi"`},
		{"no JSON", triton, `{`, wholeBody(`{"text_output":"Hi"}`), `text:2 | 0 text="Hi"`},
		{"nothing else", triton, `{"text_input":"Hi"}`, wholeBody(`{"text_output":"Hi"}`), `| 0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := kindOf(t, tt.kind)
			a := k.Decode(tt.resp, tt.resp.Framing == bench.FramingSSE)
			k.Settle(&a, tt.resp, []byte(tt.sent))
			if got := strings.TrimSpace(show(a)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			empty := a.Failure != nil && a.Failure.Class == bench.EmptyOutput && a.Failure.Status == 200
			if empty != (len(a.Chunks) == 0) {
				t.Errorf("failure %v with %d chunks", a.Failure, len(a.Chunks))
			}
		})
	}
}

func TestDecodeKServeNumbers(t *testing.T) {
	k := kindOf(t, "kserve_infer")
	a := k.Decode(wholeBody(`{"outputs":[{"name":"a","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5,6]},{"name":"b","shape":[2,2],"datatype":"INT64","data":[[1,2],[3,4]]},`+
		`{"name":"c","datatype":"BOOL","data":[true]},{"name":"d","shape":[3],"datatype":"UINT16","data":[1,2]},{"name":"e","datatype":"FP32"}]}`), false)
	want := []bench.Vector{{Index: 0, Dim: 3, Rows: 2}, {Index: 1, Dim: 2, Rows: 2}, {Index: 2, Dim: 1, Rows: 1}, {Index: 3, Dim: 2, Rows: 1}}
	if diff := cmp.Diff(want, a.Vectors); diff != "" || a.Failure != nil {
		t.Errorf("failure %v (-want +got):\n%s", a.Failure, diff)
	}
	if got := show(a); !strings.HasPrefix(got, "embedding:24 embedding:32 embedding:1 embedding:4") {
		t.Errorf("chunks %s", got)
	}
}

// FuzzNative: no answer makes these decoders panic or return nonsense.
func FuzzNative(f *testing.F) {
	for _, s := range []string{
		`{"token":{"text":"a"},"generated_text":null}` + "\n" + `[{"generated_text":"a","details":{"prefill":[1],"finish_reason":"length"}}]`,
		`{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true,"eval_count":3,"eval_duration":7}`,
		`{"text":"a","index":1,"meta_info":{"completion_tokens":1,"finish_reason":{"type":"abort"}}}` + "\n" + `{"text":"ab"}` + "\n" + `{"text":"b"}`,
		`{"text_output":["a",["b"]],"num_output_tokens":2}` + "\n" + `{"text_output":"a"}` + "\n" + `{"text_output":"c"}`,
		`{"outputs":[{"datatype":"FP32","shape":[0],"data":[1,[2]]},{"datatype":"BYTES","data":"x"}]}`,
		`{"Message":"m","OriginalMessage":"{}","OriginalStatusCode":400}` + "\n" + `{"error":"x","error_type":"y"}`,
	} {
		f.Add([]byte(s), 200)
	}
	names := []string{"huggingface_generate", "ollama_chat", "ollama_generate", "sglang_generate", "triton_generate", "kserve_infer", "sagemaker"}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		for _, name := range names {
			k := kindOf(t, name)
			lines := strings.Split(string(body), "\n")
			for _, resp := range []*bench.Response{sse(lines...), wholeBody(string(body))} {
				resp.Status = status
				a := k.Decode(resp, true)
				if a.Failure == nil && len(a.Chunks) == 0 && (a.Usage == nil || a.Usage.Output == nil) {
					t.Errorf("%s: success without content", name)
				}
				size, kept := 0, 0
				for _, c := range a.Chunks {
					if c.Bytes < 0 || c.Tokens < 0 {
						t.Errorf("%s: chunk %+v", name, c)
					}
					if c.Kind == bench.Text {
						size += int(c.Bytes)
					}
				}
				for _, c := range a.Choices {
					kept += len(c.Text)
				}
				if name != "sglang_generate" && name != "triton_generate" && size != kept { // these may take text back
					t.Errorf("%s: %d bytes of text in chunks, %d in choices", name, size, kept)
				}
			}
		}
	})
}
