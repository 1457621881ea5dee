package format

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/engine/tokenizer"
)

// fuzz reads any text as a file of a format: it must not panic, and what is accepted
// must be complete and the same when it is read again.
func fuzz(f *testing.F, name string) {
	f.Helper()
	path := examples(f)[name]
	if info, err := os.Stat(path); err != nil {
		f.Fatal(err)
	} else if info.IsDir() {
		path = filepath.Join(path, "questions.jsonl")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		o := of(string(text))
		o.Systems, o.Tokenizer, o.SkipBad = true, tokenizer.Builtin(), len(text)%3
		first, _, err := read(t, name, o)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Errorf("the error is not valid UTF-8: %q", err)
			}
			return
		}
		for _, c := range first {
			if c.ID == "" || len(c.Turns) == 0 && len(c.Rounds) == 0 {
				t.Fatalf("conversation %+v is not complete", c)
			}
		}
		again, _, err := read(t, name, o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, first, again)
		o.Whole = true
		whole, _, err := read(t, name, o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, first, whole)
	})
}

func FuzzSingleTurn(f *testing.F) { fuzz(f, "single_turn") }
func FuzzMultiTurn(f *testing.F)  { fuzz(f, "multi_turn") }
func FuzzRandomPool(f *testing.F) { fuzz(f, "random_pool") }
func FuzzRawPayload(f *testing.F) { fuzz(f, "raw_payload") }
func FuzzInputsJSON(f *testing.F) { fuzz(f, "inputs_json") }
func FuzzShareGPT(f *testing.F)   { fuzz(f, "sharegpt") }
func FuzzSageMaker(f *testing.F)  { fuzz(f, "sagemaker_data_capture") }
func FuzzDAG(f *testing.F)        { fuzz(f, "dag_jsonl") }
