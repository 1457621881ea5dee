package tokenizer

import (
	"fmt"
	"testing"
)

// The special tokens around a sequence are those of the post-processor, on its two sides.
func TestFraming(t *testing.T) {
	for name, want := range map[string]string{
		"byte_level_llama3": "[900] []", "bpe_llama2": "[1] []", "wordpiece_bert": "[2] [3]", "unigram_t5": "[] [2]",
	} {
		tok, err := ReadFile(name, "testdata/"+name+".json")
		if err != nil {
			t.Fatal(err)
		}
		before, after := tok.(*pipeline).Framing()
		if got := fmt.Sprint(before, after); got != want || tok.SpecialTokensToAdd() != len(before)+len(after) {
			t.Errorf("%s: %s, %d in all, want %s", name, got, tok.SpecialTokensToAdd(), want)
		}
	}
	for _, processor := range []string{
		`{"type":"BertProcessing","cls":["[CLS]"],"sep":["[SEP]",3]}`, `{"type":"RobertaProcessing","cls":["[CLS]",2],"sep":[3,"x"]}`,
		`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}]}`, `{"type":"Other"}`, `[]`,
	} {
		if f, err := readFraming([]byte(processor)); err == nil {
			t.Errorf("%s is accepted: %v", processor, f)
		}
	}
}
