package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
)

// nativeRun returns a benchmark of an endpoint type with further members of the
// endpoint section.
func nativeRun(kind string, streaming bool, more string) string {
	return fmt.Sprintf(`
randomSeed: 7
benchmark:
  model: m
  tokenizer: {name: builtin}
  endpoint: {url: "http://mem", type: %s, streaming: %v%s}
  dataset: {type: file, format: single_turn, records: [{text: one two, output_length: 3}, {text: three, output_length: 4}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 2, requests: 6}
`, kind, streaming, more)
}

// TestNativeAPIs runs a benchmark of every API of TGI, Ollama, SGLang, Triton,
// KServe and SageMaker against the simulator: no errors, the times that the
// simulator was configured with, and the server's counts if it sends any.
func TestNativeAPIs(t *testing.T) {
	for _, tt := range []struct {
		kind, more, path string // path is the one that streams use
		plain            string // path without a stream, if it is another
		counts           bool   // the server reports the number of tokens of a stream
	}{
		{kind: "huggingface_generate", path: "/generate_stream", plain: "/generate", counts: true},
		{kind: "tgi_generate", more: `, path: "/"`, path: "/", counts: true},
		{kind: "ollama_chat", path: "/api/chat", counts: true},
		{kind: "ollama_generate", path: "/api/generate", counts: true},
		{kind: "sglang_generate", path: "/generate", counts: true},
		{kind: "triton_generate", path: "/v2/models/m/generate_stream", plain: "/v2/models/m/generate"},
		{kind: "triton_generate", more: `, dialect: vllm`, path: "/v2/models/m/generate_stream", plain: "/v2/models/m/generate"},
		{kind: "kserve_infer", plain: "/v2/models/m/infer"},
		{kind: "sagemaker", path: "/invocations", counts: true},
		{kind: "sagemaker", more: `, dialect: completions`, path: "/invocations", counts: true},
		{kind: "sagemaker", more: `, dialect: tgi`, path: "/invocations", counts: true},
		{kind: "sagemaker", more: `, path: "/invocations-response-stream"`, path: "/invocations-response-stream", counts: true},
	} {
		for _, streaming := range []bool{true, false} {
			if streaming && tt.path == "" {
				continue
			}
			path := tt.path
			if !streaming && tt.plain != "" {
				path = tt.plain
			}
			t.Run(fmt.Sprintf("%s%s/streaming=%v", tt.kind, strings.NewReplacer(",", "", `"`, "", "/", "").Replace(tt.more), streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
					r := b.run(nativeRun(tt.kind, streaming, tt.more))
					if r.State != bench.StateCompleted || r.Summary.Requests != 6 || r.Summary.Errors != 0 {
						t.Fatalf("run = %s, %+v\n%s", r.State, r.Summary, b.transcript(r.ID))
					}
					for i, l := range b.records(r.ID) {
						osl := 3 + i%2
						if got, want := l.metric("request_latency"), fmt.Sprint(200+20*(osl-1)); got != want {
							t.Errorf("request %d took %s ms, want %s", i, got, want)
						}
						if got := l.metric("time_to_first_token"); streaming && got != "200" || !streaming && got != "-" {
							t.Errorf("request %d: first token after %s", i, got)
						}
						if got := l.metric("usage_completion_tokens"); streaming && tt.counts && got != fmt.Sprint(osl) {
							t.Errorf("request %d: the server counted %s, want %d", i, got, osl)
						}
					}
					synctest.Wait() // a request ends a moment after its answer
					for _, truth := range b.server.Truth() {
						if truth.Path != path || truth.Stream != streaming || truth.Outcome != mock.OutcomeOK || truth.MaxTokens == 0 {
							t.Errorf("the server saw %+v, want path %s, streaming %v and a limit", truth, path, streaming)
						}
					}
					b.stop()
				})
			})
		}
	}
}

// TestNativeFaults: a fault in the middle of a stream is an error of its class in
// every API.
func TestNativeFaults(t *testing.T) {
	for _, tt := range []struct{ kind, more, fault, want string }{
		{"huggingface_generate", "", "stream_error:after_tokens:1", "stream_error"},
		{"ollama_chat", "", "stream_error:after_tokens:1", "stream_error"},
		{"ollama_generate", "", "close:after_tokens:1", "connection_reset"},
		{"sglang_generate", "", "stream_error:after_tokens:1", "stream_error"},
		{"sglang_generate", "", "close:after_tokens:1", "connection_reset"},
		{"triton_generate", "", "stream_error:after_tokens:1", "stream_error"},
		{"kserve_infer", "", "status:503", "Service Unavailable"},
		{"sagemaker", "", "stream_error:after_tokens:1", "stream_error"},
		{"sagemaker", `, path: "/invocations-response-stream"`, "stream_error:after_tokens:1", "stream_error"},
		{"sagemaker", `, path: "/invocations-response-stream"`, "close:after_tokens:1", "connection_reset"},
	} {
		t.Run(tt.kind+tt.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 20*time.Millisecond, time.Millisecond)
				fault, err := mock.ParseFault(tt.fault + ",requests=2")
				if err != nil {
					t.Fatal(err)
				}
				o.Faults = []mock.Fault{fault}
				b := newBed(t, o, nil)
				r := b.run(nativeRun(tt.kind, true, tt.more))
				if got := strings.Count(b.transcript(r.ID), "!"+tt.want); r.Summary.Errors != 1 || got != 1 {
					t.Errorf("%d errors, %d of %s, want one\n%s", r.Summary.Errors, got, tt.want, b.transcript(r.ID))
				}
				b.stop()
			})
		})
	}
}

// TestPromptInAnswer: a prompt that the server puts in front of its answer is not
// counted as output.
func TestPromptInAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, 0), nil)
		lengths := map[bool]string{}
		for _, excluded := range []bool{true, false} {
			r := b.run(nativeRun("triton_generate", false, fmt.Sprintf(", extra: {exclude_input_in_output: %v}", excluded)))
			for _, l := range b.records(r.ID) {
				lengths[excluded] += l.metric("output_sequence_length") + " "
			}
		}
		if lengths[true] != lengths[false] || !strings.HasPrefix(lengths[true], "3 ") {
			t.Errorf("lengths with the prompt are %s, without it %s", lengths[false], lengths[true])
		}
		b.stop()
	})
}

// TestModelInPath: if the path names the model, there can be only one.
func TestModelInPath(t *testing.T) {
	two := strings.Replace(nativeRun("triton_generate", false, ""), "model: m", "models: [m, n]", 1)
	d, _, err := config.Load([]byte(two), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 models: the path /v2/models/{model}/generate names the model, so that there can be only one"
	if _, err := plan.Compile(d); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestDialect: a dialect that the endpoint type does not have is refused by name.
func TestDialect(t *testing.T) {
	for _, tt := range []struct{ kind, dialect, want string }{
		{"triton_generate", "trtllm, dynamoOslHint: true", "the endpoint type triton_generate takes no hints"},
		{"chat", "completions", `dialect "completions": the endpoint type chat has no dialects`},
		{"sagemaker", "vllm", `dialect "vllm": the endpoint type sagemaker has chat, completions, tgi`},
		{"triton_generate", "chat", `dialect "chat": the endpoint type triton_generate has trtllm, vllm`},
		{"triton_generate", "trtllm", ""},
	} {
		d, _, err := config.Load([]byte(nativeRun(tt.kind, false, ", dialect: "+tt.dialect)), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Compile(d)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %s: error %v, want %q", tt.kind, tt.dialect, err, tt.want)
		}
	}
}
