package mock

import (
	"encoding/json"
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
