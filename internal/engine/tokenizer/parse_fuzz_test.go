package tokenizer

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: no tokenizer.json crashes when it is read, and none that was accepted
// crashes when it is used.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 16<<10 {
			f.Add(data)
		}
	}
	for _, s := range []string{
		`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`,
		`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]],"byte_fallback":true},"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`,
		`{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1,"##b":2},"unk_token":"[UNK]"},"pre_tokenizer":{"type":"Whitespace"}}`,
		`{"model":{"type":"WordLevel","vocab":{"a":0,"<unk>":1},"unk_token":"<unk>"},"added_tokens":[{"id":7,"content":"<s>","special":true}]}`,
		`{"model":{"type":"Unigram","vocab":[["<unk>",0],["a",-1.5]],"unk_id":0},"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}}`,
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\p{L}+|(?!x)."},"behavior":"Isolated"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse("fuzz", data)
		if err != nil {
			return
		}
		const text = "Hello ab <s> ab\u00e9 \U0001F600 x"
		ids := p.Encode(text)
		if n := p.Count(text); n != len(ids) {
			t.Errorf("Count = %d, Encode gives %d", n, len(ids))
		}
		p.Decode(ids)
	})
}
