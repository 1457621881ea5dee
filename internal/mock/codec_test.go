package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/tokenizer"

	"github.com/google/go-cmp/cmp"
)

// byteCodec has one token a byte, and a decoder that drops a leading space, as
// those of SentencePiece models do.
type byteCodec struct{}

func (byteCodec) Count(text string) int { return len(text) }

func (byteCodec) Encode(text string) []int {
	ids := make([]int, 0, len(text)+1)
	for _, b := range []byte(text) {
		ids = append(ids, int(b))
	}
	return ids
}

func (byteCodec) Decode(ids []int) string {
	var b []byte
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(b), "\uFFFD"), " ")
}

func TestCodecPieces(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{}},
		{"a b", []string{"a", " ", "b"}},
		{"é!", []string{"", "é", "!"}},
		{"x😀y", []string{"x", "", "", "", "😀", "y"}},
	}
	for _, tt := range tests {
		got := FromCodec(byteCodec{}).Pieces(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Pieces(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestExactCounts: with a client's tokenizer, its count of the answer is the
// number of tokens that was asked for.
func TestExactCounts(t *testing.T) {
	exact := tokenizer.Builtin()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Tokenizer: FromCodec(exact)})
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
