package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
)

func TestPlainBytes(t *testing.T) {
	const chatHead = `{"id":"chatcmpl-r1","object":"chat.completion","created":946684800,"model":"m","choices":[`
	tests := []struct {
		name string
		opt  options.Options
		path string
		body string
		want string
	}{
		{"chat", options.Options{}, chatPath, `{"model":"m","messages":[{"role":"user","content":"Say \"é\"\n"}],"max_tokens":5}`,
			chatHead + `{"index":0,"message":{"role":"assistant","content":"Say \"é\"\n","refusal":null,"tool_calls":[]},` +
				`"logprobs":null,"finish_reason":"length","stop_reason":null}],` +
				`"usage":{"prompt_tokens":5,"total_tokens":10,"completion_tokens":5}}`},
		{"completions", options.Options{}, completionPath, `{"model":"m","prompt":"a b","max_tokens":2,"n":2}`,
			`{"id":"cmpl-r1","object":"text_completion","created":946684800,"model":"m","choices":[` +
				`{"index":0,"text":"a b","logprobs":null,"finish_reason":"length","stop_reason":null},` +
				`{"index":1,"text":"a b","logprobs":null,"finish_reason":"length","stop_reason":null}],` +
				`"usage":{"prompt_tokens":2,"total_tokens":6,"completion_tokens":4}}`},
		{"no usage", options.Options{Usage: options.UsageNever}, completionPath, `{"model":"m","prompt":"a","max_tokens":1}`,
			`{"id":"cmpl-r1","object":"text_completion","created":946684800,"model":"m","choices":[` +
				`{"index":0,"text":"a","logprobs":null,"finish_reason":"length","stop_reason":null}]}`},
		{"only reasoning", options.Options{ReasoningTokens: 1}, chatPath,
			`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1,"seed":2}`,
			chatHead + `{"index":0,"message":{"role":"assistant","reasoning_content":"After","content":null,"refusal":null,` +
				`"tool_calls":[]},"logprobs":null,"finish_reason":"length","stop_reason":null}],` +
				`"usage":{"prompt_tokens":1,"total_tokens":2,"completion_tokens":1,` +
				`"completion_tokens_details":{"reasoning_tokens":1}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opt.Content = options.ContentEcho
				got := newRig(t, tt.opt).post(tt.path, tt.body, "X-Request-Id", "r1")
				if diff := cmp.Diff(tt.want, got.body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
				if !json.Valid([]byte(got.body)) {
					t.Errorf("body is not JSON")
				}
			})
		})
	}
}

func TestPlainTime(t *testing.T) {
	tests := []struct {
		name string
		opt  options.Options
		body string
		want time.Duration
	}{
		{"TTFT + ITL·(n−1)", options.Options{}, `{"prompt":"x","max_tokens":11}`, 70 * ms},
		{"one token", options.Options{}, `{"prompt":"x","max_tokens":1}`, 20 * ms},
		{"longest choice", options.Options{OutputMode: options.OutputNatural, OutputTokens: random.ConstLength(3)},
			`{"prompt":["x","y"],"max_tokens":100}`, 30 * ms},
		{"drawn once a request", options.Options{ITL: mustDelay(t, "bimodal:1:const:1ms:const:9ms"), ITLPerRequest: true},
			`{"prompt":"x","max_tokens":3}`, 38 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				if got := r.post(completionPath, tt.body); got.at != tt.want || got.status != 200 {
					t.Errorf("status %d at %v, want 200 at %v", got.status, got.at, tt.want)
				}
				truth := r.lastTruth()
				if want := tt.want.Seconds() * 1e3; truth.LatencyMs != want || truth.TTFTMs != nil {
					t.Errorf("latency = %v ms, TTFT = %v; want %v and none", truth.LatencyMs, truth.TTFTMs, want)
				}
			})
		})
	}
}

func TestOutputLength(t *testing.T) {
	tests := []struct {
		name       string
		opt        options.Options
		body       string
		wantTokens int
		wantFinish string
	}{
		{"exact", options.Options{}, `"max_tokens":7`, 7, "length"},
		{"exact without a limit", options.Options{OutputTokens: random.ConstLength(9)}, `"n":1`, 9, "stop"},
		{"completion limit wins", options.Options{}, `"max_tokens":3,"max_completion_tokens":4`, 4, "length"},
		{"natural below the limit", options.Options{OutputMode: options.OutputNatural, OutputTokens: random.ConstLength(9)}, `"max_tokens":20`, 9, "stop"},
		{"natural at the limit", options.Options{OutputMode: options.OutputNatural, OutputTokens: random.ConstLength(30)}, `"max_tokens":20`, 20, "length"},
		{"natural, ignore_eos", options.Options{OutputMode: options.OutputNatural, OutputTokens: random.ConstLength(9)},
			`"max_tokens":20,"ignore_eos":true`, 20, "length"},
		{"natural, min_tokens", options.Options{OutputMode: options.OutputNatural, OutputTokens: random.ConstLength(9)},
			`"max_tokens":20,"min_tokens":15`, 15, "stop"},
		{"the context is full", options.Options{OutputTokens: random.ConstLength(50), MaxModelLen: 11}, `"n":1`, 10, "length"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				got := r.post(completionPath, `{"prompt":"x",`+tt.body+`}`)
				var doc struct {
					Choices []struct {
						Text   string
						Finish string `json:"finish_reason"`
					}
					Usage struct {
						Completion int `json:"completion_tokens"`
					}
				}
				if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
					t.Fatalf("body %s: %v", got.body, err)
				}
				if n := (token.Words{}).Count(doc.Choices[0].Text); n != tt.wantTokens || doc.Usage.Completion != n {
					t.Errorf("text has %d tokens, usage says %d, want %d", n, doc.Usage.Completion, tt.wantTokens)
				}
				if doc.Choices[0].Finish != tt.wantFinish {
					t.Errorf("finish_reason = %q, want %q", doc.Choices[0].Finish, tt.wantFinish)
				}
			})
		})
	}
}

// TestDeterminism checks that the text depends only on seed and prompt, streamed or not.
func TestDeterminism(t *testing.T) {
	text := func(seed uint64, prompt string) string {
		var out string
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, options.Options{Seed: seed, Fast: true})
			r.post(completionPath, `{"prompt":"x"}`) // the order of requests does not matter
			body := r.post(completionPath, `{"prompt":"`+prompt+`"}`).body
			_, rest, _ := strings.Cut(body, `"text":"`)
			out, _, _ = strings.Cut(rest, `","logprobs`)
		})
		return out
	}
	first := text(1, "hello")
	if again := text(1, "hello"); again != first {
		t.Errorf("same seed and prompt: %q, then %q", first, again)
	}
	if other := text(2, "hello"); other == first {
		t.Errorf("other seed gives the same text %q", other)
	}
	if other := text(1, "hullo"); other == first {
		t.Errorf("other prompt gives the same text %q", other)
	}
}
