package mock

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// TestRetrieve checks that stored responses and models can be retrieved.
func TestRetrieve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{ServedModels: []string{"org/m"}})
		sent := r.post(responsesPath, `{"input":"Hi","max_output_tokens":2}`, "X-Request-Id", "a")
		r.post(responsesPath, `{"input":"Hi","max_output_tokens":2,"stream":true}`, "X-Request-Id", "b")
		r.post(responsesPath, `{"input":"Hi","max_output_tokens":2,"store":false}`, "X-Request-Id", "c")
		model := `{"id":"org/m","object":"model","created":946684800,"owned_by":"aiperfd-mock","root":"org/m","parent":null,"max_model_len":131072,"permission":[]}`
		for _, tt := range []struct {
			path   string
			status int
			body   string // part of it
		}{
			{"/v1/responses/resp_a", http.StatusOK, sent.body},
			{"/v1/responses/resp_b", http.StatusOK, `{"id":"resp_b","object":"response"`},
			{"/v1/responses/resp_c", http.StatusNotFound, "Response with id 'resp_c' not found."},
			{"/v1/responses/resp_x", http.StatusNotFound, "Response with id 'resp_x' not found."},
			{"/v1/models/org/m", http.StatusOK, model},
			{"/v1/models/other", http.StatusNotFound, "The model `other` does not exist."},
		} {
			if got := r.get(tt.path); got.status != tt.status || !strings.Contains(got.body, tt.body) {
				t.Errorf("GET %s: %d %s, want %d %s", tt.path, got.status, got.body, tt.status, tt.body)
			}
		}
	})
}

// TestStoredObjects checks that the newest responses can be retrieved, and that older
// ones can be continued.
func TestStoredObjects(t *testing.T) {
	var s text.StoredResponses
	for i := range text.MaxStored + 5 {
		s.Put(fmt.Sprint(i), text.StoredResponse{Tokens: i, Object: []byte("{}")})
	}
	for _, tt := range []struct {
		id           int
		kept, object bool
	}{{4, false, false}, {5, true, false}, {text.MaxStored + 4 - text.MaxObjects, true, false}, {text.MaxStored + 5 - text.MaxObjects, true, true}, {text.MaxStored + 4, true, true}} {
		r, ok := s.Get(fmt.Sprint(tt.id))
		if ok != tt.kept || (r.Object != nil) != tt.object {
			t.Errorf("response %d: kept %t, object %t, want %t, %t", tt.id, ok, r.Object != nil, tt.kept, tt.object)
		}
	}
}

// TestTokenizeWithoutModel: tokens are counted without the model, by the tokenizer of
// the server.
func TestTokenizeWithoutModel(t *testing.T) {
	const text = "Tokenization of naïve 日本 texts."
	exact := tokenizer.Builtin()
	for name, o := range map[string]options.Options{
		"timing": {Tokenizer: token.FromCodec(exact)},
		"preset": {Tokenizer: token.FromCodec(exact), Accelerator: tiny(t)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, o)
				ids := strings.Join(strings.Fields(fmt.Sprint(exact.Encode(text))), ",")
				if got := r.post("/tokenize", `{"prompt":"`+text+`"}`); !strings.Contains(got.body, `"tokens":`+ids+`,`) {
					t.Errorf("tokens: %d %s, want %s", got.status, got.body, ids)
				}
				if got := r.post("/detokenize", `{"tokens":`+ids+`}`); got.body != `{"prompt":"`+text+`"}` {
					t.Errorf("text: %d %s", got.status, got.body)
				}
				metrics := r.get("/metrics").body
				for _, name := range []string{"vllm:prompt_tokens_total{", "vllm:time_to_first_token_seconds_count{", "vllm:request_success_total{"} {
					for line := range strings.Lines(metrics) {
						if strings.HasPrefix(line, name) && !strings.HasSuffix(line, " 0\n") {
							t.Errorf("the model was asked: %s", line)
						}
					}
				}
			})
		})
	}
}
