package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

func TestNewErrors(t *testing.T) {
	_, err := New(options.Options{
		Prefix: "v2", MaxModelLen: -1, Coalesce: -2, MaxBody: -3, Comments: -1, RoleChunk: "loud", Split: "words",
	})
	want := `max-model-len is -1, want ≥ 0 (0 = default)
coalesce is -2, want ≥ 0 (0 = default)
max-body is -3, want ≥ 0 (0 = default)
comments is -1ns, want ≥ 0
role-chunk is "loud", want one of separate, with_first_token, none, early
split is "words", want one of none, every-byte, random, mid-utf8, before-newline
prefix is "v2", want a path such as /v2/EP/openai`
	if err == nil || err.Error() != want {
		t.Errorf("New error:\n%v\nwant\n%s", err, want)
	}
	if _, err := New(options.Options{TruthFile: filepath.Join(t.TempDir(), "no", "such")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("New with a bad truth file: %v, want not exist", err)
	}
}

func TestRefusals(t *testing.T) {
	const chatHi = `"messages":[{"role":"user","content":"Hi"}]`
	tests := []struct {
		name, path, body string
		status           int
		param, message   string
	}{
		{"not JSON", chatPath, `{"a":`, 400, "", `JSON decode error: cannot parse JSON: cannot parse object: cannot parse object value: cannot parse empty string; unparsed tail: ""`},
		{"not an object", chatPath, `[1]`, 400, "", `Input should be a valid dictionary`},
		{"no messages", chatPath, `{"model":"a"}`, 400, "messages", `Input should be a valid list: messages`},
		{"empty messages", chatPath, `{"messages":[]}`, 400, "messages", `messages should have at least 1 item.`},
		{"message is a string", chatPath, `{"messages":["Hi"]}`, 400, "messages", `Input should be a valid list of messages: messages`},
		{"no role", chatPath, `{"messages":[{"content":"Hi"}]}`, 400, "messages.role", `Input should be a valid string: messages.role`},
		{"content is a number", chatPath, `{"messages":[{"role":"user","content":1}]}`, 400, "messages.content",
			`Input should be a valid string or list of parts: messages.content`},
		{"unknown part", chatPath, `{"messages":[{"role":"user","content":[{"type":"smell"}]}]}`, 400, "messages", `Unknown part type: smell`},
		{"part without text", chatPath, `{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, 400,
			"messages.content.text", `Input should be a valid string: messages.content.text`},
		{"no prompt", completionPath, `{}`, 400, "prompt", `Input should be a valid string or list: prompt`},
		{"empty prompt list", completionPath, `{"prompt":[]}`, 400, "prompt", `Input should be a valid string or non-empty list: prompt`},
		{"mixed prompt list", completionPath, `{"prompt":["a",{}]}`, 400, "prompt", `Input should be a valid list of strings or of token id lists: prompt`},
		{"negative token id", completionPath, `{"prompt":[1,-2]}`, 400, "prompt", `Input should be a valid list of token ids: prompt`},
		{"unknown model", chatPath, `{"model":"zz",` + chatHi + `}`, 404, "model", "The model `zz` does not exist."},
		{"max_tokens 0", chatPath, `{"max_tokens":0,` + chatHi + `}`, 400, "max_tokens", `max_tokens must be at least 1, got 0.`},
		{"max_tokens is text", chatPath, `{"max_tokens":"5",` + chatHi + `}`, 400, "max_tokens", `Input should be a valid integer: max_tokens`},
		{"max_tokens is a fraction", chatPath, `{"max_tokens":1.5,` + chatHi + `}`, 400, "max_tokens", `Input should be a valid integer: max_tokens`},
		{"min over max", chatPath, `{"max_tokens":2,"min_tokens":3,` + chatHi + `}`, 400, "min_tokens",
			`min_tokens must be less than or equal to max_tokens=2, got 3.`},
		{"n 0", chatPath, `{"n":0,` + chatHi + `}`, 400, "n", `n must be between 1 and 1024, got 0.`},
		{"too many choices", completionPath, `{"n":600,"prompt":["a","b"]}`, 400, "n", `n must be at most 1024 over all prompts.`},
		{"stream is text", chatPath, `{"stream":"yes",` + chatHi + `}`, 400, "stream", `Input should be a valid boolean: stream`},
		{"stream options without stream", chatPath, `{"stream_options":{"include_usage":true},` + chatHi + `}`, 400,
			"stream_options", "Stream options can only be defined when `stream=True`."},
		{"too long", chatPath, `{"max_tokens":100,` + chatHi + `}`, 400, "max_tokens",
			`This model's maximum context length is 50 tokens. However, you requested 100 output tokens and your prompt contains 1 input tokens.`},
		{"body too large", chatPath, strings.Repeat(" ", 2000), 413, "", `Request body is larger than 1000 bytes.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{ServedModels: []string{"a", "b"}, MaxModelLen: 50, MaxBody: 1000})
				got := r.post(tt.path, tt.body)
				var doc struct {
					Error struct {
						Message, Type string
						Param         *string
						Code          int
					}
				}
				if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
					t.Fatalf("body %q: %v", got.body, err)
				}
				param := ""
				if doc.Error.Param != nil {
					param = *doc.Error.Param
				}
				if got.status != tt.status || doc.Error.Code != tt.status || param != tt.param || doc.Error.Message != tt.message {
					t.Errorf("status %d, %+v, param %q\nwant %d, %q, param %q",
						got.status, doc.Error, param, tt.status, tt.message, tt.param)
				}
				if truth := r.lastTruth(); truth.Outcome != fmt.Sprintf("rejected:%d", tt.status) || truth.Status != tt.status {
					t.Errorf("truth says %q, status %d", truth.Outcome, truth.Status)
				}
			})
		})
	}
}

func TestPromptTokens(t *testing.T) {
	tests := []struct {
		name, path, body string
		want             int
	}{
		{"messages", chatPath, `{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi there"},` +
			`{"role":"assistant","content":null},{"role":"user","content":"ok"}],"unknown":{"x":[1]},"max_tokens":1}`, 6},
		{"parts", chatPath, `{"messages":[{"role":"user","content":[{"type":"text","text":"Hi there"},` +
			`{"type":"image_url","image_url":{"url":"data:,"}}]}],"max_tokens":1}`, 258},
		{"token ids", completionPath, `{"prompt":[5,6,7],"max_tokens":1}`, 3},
		{"lists of token ids", completionPath, `{"prompt":[[5,6],[7]],"max_tokens":1}`, 3},
		{"list of strings", completionPath, `{"prompt":["a b","c"],"max_tokens":1}`, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{})
				got := r.post(tt.path, tt.body)
				if want := fmt.Sprintf(`"prompt_tokens":%d,`, tt.want); !strings.Contains(got.body, want) {
					t.Errorf("%s is missing in %s", want, got.body)
				}
				if n := r.lastTruth().PromptTokens; n != tt.want {
					t.Errorf("truth has %d prompt tokens, want %d", n, tt.want)
				}
			})
		})
	}
}

func TestRoutes(t *testing.T) {
	const model = `{"id":"a","object":"model","created":946684800,"owned_by":"aiperfd-mock","root":"a","parent":null,"max_model_len":131072,"permission":[]}`
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Prefix: "/v2/ep/openai/", ServedModels: []string{"a"}, APIKey: "k"})
		tests := []struct {
			method, path, auth string
			status             int
			body               string
		}{
			{"GET", "/v1/models", "Bearer k", 200, `{"object":"list","data":[` + model + `]}`},
			{"GET", "/v2/ep/openai/v1/models", "bearer k", 200, `{"object":"list","data":[` + model + `]}`},
			{"GET", "/v1/models", "", 401, `{"error":"Unauthorized"}`},
			{"GET", "/v1/models", "Bearer kk", 401, `{"error":"Unauthorized"}`},
			{"POST", "/v2/ep/openai/v1/chat/completions", "Basic k", 401, `{"error":"Unauthorized"}`},
			{"GET", "/health", "", 200, ""},
			{"GET", "/ping", "", 200, ""},
			{"POST", "/ping", "", 200, ""},
			{"GET", "/version", "", 200, `{"version":"0.0.0+mock"}`},
			{"GET", "/v3", "", 404, `{"detail":"Not Found"}`},
			{"GET", "/v2/other/v1/models", "Bearer k", 404, `{"detail":"Not Found"}`},
			{"GET", "/v1/completions", "Bearer k", 405, `{"detail":"Method Not Allowed"}`},
			{"DELETE", "/v2/ep/openai/ping", "", 405, `{"detail":"Method Not Allowed"}`},
		}
		for _, tt := range tests {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, r.base+tt.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", tt.auth)
			got := r.read(r.client.Do(req))
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.path, got.status, got.body, tt.status, tt.body)
			}
			if allow := got.header.Get("Allow"); tt.path == "/v2/ep/openai/ping" && allow != "GET, POST" {
				t.Errorf("Allow = %q, want GET, POST", allow)
			}
		}
	})
}

func TestReadyAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{ReadyAfter: 3 * time.Second, NoModelsRoute: true})
		if h, c := r.get("/health"), r.post(completionPath, `{"prompt":"x"}`); h.status != 503 || c.status != 503 {
			t.Errorf("before: health %d, completions %d, want 503", h.status, c.status)
		}
		time.Sleep(3 * time.Second)
		if h, c := r.get("/health"), r.post(completionPath, `{"prompt":"x"}`); h.status != 200 || c.status != 200 {
			t.Errorf("after: health %d, completions %d, want 200", h.status, c.status)
		}
		if m := r.get("/v1/models"); m.status != 404 {
			t.Errorf("models: %d, want 404", m.status)
		}
	})
}

func TestRequestID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{RequestIDHeaders: true, Fast: true})
		const body = `{"prompt":"x","max_tokens":1}`
		got := r.post(completionPath, body, "X-Request-Id", "abc", "X-Correlation-ID", "c1")
		if id := got.header.Get("X-Request-Id"); id != "abc" || !strings.HasPrefix(got.body, `{"id":"cmpl-abc",`) {
			t.Errorf("X-Request-Id = %q, body %s", id, got.body)
		}
		if truth := r.lastTruth(); truth.RequestID != "abc" || truth.CorrelationID != "c1" {
			t.Errorf("truth has ids %q and %q", truth.RequestID, truth.CorrelationID)
		}
		a, b := r.post(completionPath, body).header.Get("X-Request-Id"), r.post(completionPath, body).header.Get("X-Request-Id")
		if len(a) != 32 || len(b) != 32 || a == b {
			t.Errorf("made ids %q and %q, want two of 32 digits", a, b)
		}
	})
}

func TestClientGone(t *testing.T) {
	for _, rule := range []string{"", "stall:after_tokens:2"} {
		t.Run("rule "+rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opt := options.Options{}
				want := api.OutcomeClientGone
				if rule != "" {
					opt.Faults, want = mustFaults(t, rule), api.OutcomeFault+rule
				}
				r := newRig(t, opt)
				ctx, cancel := context.WithTimeout(t.Context(), 31*ms)
				defer cancel()
				resp, err := r.send(ctx, completionPath, `{"prompt":"x","max_tokens":100,"stream":true}`)
				if got := r.read(resp, err); !errors.Is(got.err, context.DeadlineExceeded) {
					t.Errorf("error = %v, want deadline exceeded", got.err)
				}
				synctest.Wait()
				got := r.lastTruth()
				tokens := map[string]int{"": 3, "stall:after_tokens:2": 2}[rule]
				if got.Outcome != want || got.OutputTokens != tokens || got.LatencyMs != float64(15+5*tokens) {
					t.Errorf("outcome %q, %d tokens, %v ms; want %q, %d", got.Outcome, got.OutputTokens, got.LatencyMs, want, tokens)
				}
				if n := r.server.Summary().Running; n != 0 {
					t.Errorf("%d requests still running", n)
				}
			})
		})
	}
}

func TestTruthFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TruthFile: path, TruthChunks: true, TruthLimit: 2})
		r.post(completionPath, `{"prompt":"<x>","max_tokens":2,"stream":true}`, "X-Request-Id", "<r>")
		time.Sleep(flushEvery)
		synctest.Wait()
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"seq":1,"path":"/v1/completions","request_id":"<r>","correlation_id":"","model":"mock-model","stream":true,` +
			`"status":200,"n":1,"max_tokens":2,"prompt_tokens":3,"output_tokens":2,"reasoning_tokens":0,"finish_reason":"length",` +
			`"accept_ns":946684800000000000,"body_read_ns":946684800000000000,"headers_ns":946684800000000000,` +
			`"first_write_ns":946684800020000000,"first_write_end_ns":946684800020000000,` +
			`"last_write_ns":946684800025000000,"last_write_end_ns":946684800025000000,"end_ns":946684800025000000,` +
			`"chunk_ns":[946684800020000000,946684800025000000],"chunk_tokens":[1,1],"ttft_ms":20,"itl_ms":5,"latency_ms":25,"outcome":"ok"}` + "\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("truth file after a second (-want +got):\n%s", diff)
		}
		for range 2 {
			r.post(completionPath, `{"prompt":"x","max_tokens":1}`)
		}
		synctest.Wait() // a request ends a moment after its answer
		if all := r.server.Truth(); len(all) != 2 || all[0].Seq != 2 || all[1].Seq != 3 {
			t.Errorf("Truth() has %d entries from %d", len(all), all[0].Seq)
		}
	})
	got, err := os.ReadFile(path) // the bubble's cleanup closed the server
	if n := strings.Count(string(got), "\n"); err != nil || n != 3 {
		t.Errorf("%d lines after Close, error %v, want 3", n, err)
	}
}

func TestServeDrains(t *testing.T) {
	tests := []struct {
		name    string
		tokens  int
		outcome string
		at      time.Duration // of the stream's end
	}{
		{"short streams finish", 101, "ok", 520 * ms},
		{"long streams are cut", 10000, "shutdown", DrainTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends := make(chan reply, 1)
				r := newRig(t, options.Options{})
				body := fmt.Sprintf(`{"prompt":"x","stream":true,"max_tokens":%d}`, tt.tokens)
				go func() {
					resp, err := r.send(context.Background(), completionPath, body)
					ends <- r.read(resp, err)
				}()
				synctest.Wait()
				r.stop()
				if got := <-ends; got.at != tt.at {
					t.Errorf("stream ended at %v, want %v", got.at, tt.at)
				}
				synctest.Wait()
				if got := r.server.Truth(); len(got) != 1 || got[0].Outcome != tt.outcome {
					t.Errorf("truths = %+v, want one that is %s", got, tt.outcome)
				}
			})
		})
	}
}
