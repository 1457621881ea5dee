package target

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// words counts as many tokens as there are words.
func words(text string) int { return len(strings.Fields(text)) }

// prompts responds with the words of the prompt, times factor plus added, as usage; 0 =
// without usage. /tokenize does the same if it exists.
func prompts(t *testing.T, factor, added int, usage, tokenize bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages  []struct{ Content string }
			Prompt    string
			MaxTokens int `json:"max_completion_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		text := body.Prompt
		for _, m := range body.Messages {
			text += m.Content
		}
		n := words(text)*factor + added
		switch {
		case r.URL.Path == tokenizePath && tokenize:
			fmt.Fprintf(w, `{"count":%d,"tokens":[]}`, n)
		case r.URL.Path == tokenizePath:
			http.NotFound(w, r)
		case usage && (body.MaxTokens == 1 || body.Prompt != ""):
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"text":"x","finish_reason":"length"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, n)
		default:
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"text":"x","finish_reason":"length"}]}`)
		}
	}
}

func TestCalibrate(t *testing.T) {
	const probe, count = "0s POST /v1/chat/completions", "0s POST /tokenize"
	for _, tt := range []struct {
		name, members string
		server        func(t *testing.T) http.HandlerFunc
		tokens        int
		want          string // the description, or the error
		requests      string
	}{
		{"usage", "", func(t *testing.T) http.HandlerFunc { return prompts(t, 1, 11, true, true) }, 11,
			"the server adds 11 tokens to each prompt (usage: 12 and 179 tokens for texts of 1 and 168)", probe + "\n" + probe},
		{"completions", "type: completions", func(t *testing.T) http.HandlerFunc { return prompts(t, 1, 1, true, true) }, 1,
			"the server adds 1 tokens to each prompt (usage: 2 and 169 tokens for texts of 1 and 168)", "0s POST /v1/completions\n0s POST /v1/completions"},
		{"no usage", "", func(t *testing.T) http.HandlerFunc { return prompts(t, 1, 5, false, true) }, 5,
			"the server adds 5 tokens to each prompt (/tokenize: 6 and 173 tokens for texts of 1 and 168)",
			strings.Join([]string{probe, count, probe, count}, "\n")},
		{"neither", "", func(t *testing.T) http.HandlerFunc { return prompts(t, 1, 5, false, false) }, 0,
			"measure how many tokens http://mem adds to prompts: the server counts no prompts: the response has no usage, and POST /tokenize has no count (HTTP 404)",
			probe + "\n" + count},
		{"another tokenizer", "", func(t *testing.T) http.HandlerFunc { return prompts(t, 2, 3, true, true) }, 0,
			"http://mem counts 5 and 339 tokens for texts of 1 and 168: the difference is not constant, so its tokenizer is another one; set --tokenizer to that of the model",
			probe + "\n" + probe},
		{"an error", "", func(*testing.T) http.HandlerFunc { return fails(http.StatusInternalServerError) }, 0,
			"measure how many tokens http://mem adds to prompts: HTTP 500: loading", probe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, tt.members, "model: m", tt.server(t))
				o, err := Calibrate(t.Context(), b.Servers, "m", words)
				got := o.String()
				if err != nil {
					got = err.Error()
				}
				if got != tt.want || o.Tokens != tt.tokens {
					t.Errorf("%d: %s\nwant %d: %s", o.Tokens, got, tt.tokens, tt.want)
				}
				if requests := b.transcript(&b.requests); requests != tt.requests {
					t.Errorf("requests:\n%s\nwant:\n%s", requests, tt.requests)
				}
			})
		})
	}
}
