package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// TestExactCounts checks that with a client's tokenizer, its count of the answer is the
// requested number of tokens.
func TestExactCounts(t *testing.T) {
	exact := tokenizer.Builtin()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Tokenizer: token.FromCodec(exact)})
		const prompt = "Unbelievably, tokenization differs: 日本 and naïve 12345."
		for _, limit := range []string{"1", "2", "17", "128", "1500"} {
			got := r.post(completionPath, `{"prompt":"`+prompt+`","max_tokens":`+limit+`}`)
			var doc struct {
				Choices []struct{ Text string }
				Usage   struct {
					Prompt     int `json:"prompt_tokens"`
					Completion int `json:"completion_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
				t.Fatal(err)
			}
			if n := exact.Count(doc.Choices[0].Text); n != doc.Usage.Completion || doc.Usage.Prompt != exact.Count(prompt) {
				t.Errorf("max_tokens %s: text counts %d, usage %+v, prompt counts %d", limit, n, doc.Usage, exact.Count(prompt))
			}
		}
	})
}

// A prompt of a tokenizer with special tokens has them on the server, as with vLLM:
// /tokenize and the usage of completions count them unless add_special_tokens is false.
func TestSpecialTokens(t *testing.T) {
	exact, err := tokenizer.ReadFile("llama", "../engine/tokenizer/testdata/byte_level_llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	const text = "Hello there"
	plain := exact.Count(text)
	for name, o := range map[string]options.Options{
		"timing": {Tokenizer: token.FromCodec(exact)},
		"preset": {Tokenizer: token.FromCodec(exact), Accelerator: tiny(t)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, o)
				for _, tt := range []struct {
					path, body string
					want       int // tokens beyond those of the text
				}{
					{"/tokenize", `{"prompt":"` + text + `"}`, 1},
					{"/tokenize", `{"prompt":"` + text + `","add_special_tokens":true}`, 1},
					{"/tokenize", `{"prompt":"` + text + `","add_special_tokens":false}`, 0},
					{"/tokenize", `{"messages":[{"role":"user","content":"` + text + `"}]}`, 0},
					{completionPath, `{"prompt":"` + text + `","max_tokens":1}`, 1},
					{completionPath, `{"prompt":"` + text + `","max_tokens":1,"add_special_tokens":false}`, 0},
					{completionPath, `{"prompt":["` + text + `","` + text + `"],"max_tokens":1}`, 2 + plain},
				} {
					var doc struct {
						Count  int
						Tokens []int
						Usage  struct {
							Prompt int `json:"prompt_tokens"`
						}
					}
					got := r.post(tt.path, tt.body)
					if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
						t.Fatal(err, got.body)
					}
					if n := doc.Count + doc.Usage.Prompt; n != plain+tt.want {
						t.Errorf("%s %s counts %d tokens, want %d", tt.path, tt.body, n, plain+tt.want)
					}
					if before, _ := token.Framing(o.Tokenizer); tt.path == "/tokenize" && tt.want > 0 && doc.Tokens[0] != before[0] {
						t.Errorf("%s %s begins with token %d, want %d", tt.path, tt.body, doc.Tokens[0], before[0])
					}
				}
				got := r.post("/tokenize", `{"inputs":"`+text+`"}`)
				if want := `[[{"id":900,"text":"<|bos|>","special":true,"start":null,"stop":null},`; !strings.HasPrefix(got.body, want) {
					t.Errorf("TEI's tokens are %s, want %s…", got.body, want)
				}
			})
		})
	}
}
