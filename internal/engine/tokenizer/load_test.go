package tokenizer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/engine/tokenizer/pattern"
)

func TestEncodings(t *testing.T) {
	for name, size := range map[string]int{
		"builtin": 200019, "o200k_base": 200019, "o200k_harmony": 201088, "cl100k_base": 100277,
		"p50k_base": 50281, "p50k_edit": 50284, "r50k_base": 50257, "gpt2": 50257,
	} {
		tok, ok := Encoding(name)
		if !ok {
			t.Errorf("Encoding(%q): none", name)
			continue
		}
		if tok.Name() != name || tok.VocabSize() != size || tok.Count("hello world") != 2 {
			t.Errorf("Encoding(%q): name %q, size %d, count %d; want size %d, count 2", name, tok.Name(), tok.VocabSize(), tok.Count("hello world"), size)
		}
		if text := tok.Decode(tok.Encode("hello world")); text != "hello world" {
			t.Errorf("Encoding(%q) reproduces %q", name, text)
		}
		want := "built-in " + strings.Replace(name, "builtin", "o200k_base", 1)
		if tok.Method() != want {
			t.Errorf("Encoding(%q).Method() = %q, want %q", name, tok.Method(), want)
		}
	}
	for _, name := range []string{"org/model", "gpt-4o", "cl200k", ""} {
		if _, ok := Encoding(name); ok {
			t.Errorf("Encoding(%q) exists", name)
		}
	}
	harmony, _ := Encoding("o200k_harmony")
	if got, want := harmony.Decode([]int{199998, 199999, 200000, 200012, 201087}), "<|startoftext|><|endoftext|><|reserved_200000|><|call|><|reserved_201087|>"; got != want {
		t.Errorf("Decode = %q, want %q", got, want)
	}
}

// TestEncodingOf compares with tiktoken's encoding_name_for_model.
func TestEncodingOf(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4o": "o200k_base", "gpt-4o-2024-05-13": "o200k_base", "gpt-4": "cl100k_base", "gpt-4-32k": "cl100k_base",
		"gpt-4.1": "o200k_base", "gpt-4.1-mini": "o200k_base", "gpt-4.5-preview": "o200k_base", "gpt-5-nano": "o200k_base", "o1": "o200k_base",
		"o3-mini": "o200k_base", "o4-mini": "o200k_base", "gpt-oss-20b": "o200k_harmony", "openai/gpt-oss-120b": "o200k_harmony",
		"openai/gpt-4o-mini": "o200k_base", "gpt-3.5-turbo-0125": "cl100k_base", "ft:gpt-4o:org": "o200k_base", "ft:gpt-4:org": "cl100k_base",
		"text-embedding-3-small": "cl100k_base", "davinci": "r50k_base", "text-davinci-003": "p50k_base", "code-davinci-edit-001": "p50k_edit",
		"gpt-2": "gpt2", "gpt-4.2": "", "llama": "", "org/gpt-4o": "", "": "", "o1*": "", "davincier": "",
	} {
		if got := EncodingOf(model); got != want {
			t.Errorf("EncodingOf(%q) = %q, want %q", model, got, want)
		}
	}
}

func TestIsPath(t *testing.T) {
	for name, want := range map[string]bool{
		"./x": true, "../x/y": true, "/x": true, "x.json": true, ".": true, "~/x": true,
		"org/name": false, "gpt2": false, "name.v1": false, "": false,
	} {
		if got := IsPath(name); got != want {
			t.Errorf("IsPath(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestLoadDirectory(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/wordpiece_bert.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(dir, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := ReadFile(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Name() != dir || tok.SpecialTokensToAdd() != 2 || !strings.HasPrefix(tok.Method(), "tokenizer.json wordpiece sha256:") || len(tok.Method()) != len("tokenizer.json wordpiece sha256:")+12 {
		t.Errorf("name %q, method %q, to add %d", tok.Name(), tok.Method(), tok.SpecialTokensToAdd())
	}
}

func TestMethodNamesGenericEngine(t *testing.T) {
	if got := load(t, "generic_pattern").Method(); !strings.HasPrefix(got, "tokenizer.json bpe (generic pattern engine) sha256:") {
		t.Errorf("Method = %q", got)
	}
	if got := load(t, "byte_level_llama3").Method(); !strings.HasPrefix(got, "tokenizer.json bpe sha256:") {
		t.Errorf("Method = %q", got)
	}
}

// TestUnsupported: components that are not supported exactly are refused by name.
func TestUnsupported(t *testing.T) {
	const wl = `"model":{"type":"WordLevel","vocab":{"a":0,"?":1},"unk_token":"?"}`
	split := func(pattern string) string {
		return `{` + wl + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"` + pattern + `"},"behavior":"Isolated","invert":false}}`
	}
	tests := []struct{ name, file, want string }{
		{"not json", `{"model":`, "parse json"},
		{"not a tokenizer", `{"a":1}`, "member model is missing"},
		{"model type", `{"model":{"type":"Markov","vocab":{}}}`, `model: unsupported type "Markov"`},
		{"model member", `{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a","magic":1}}`, `unknown field "magic"`},
		{"dropout", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1}}`, "unsupported dropout"},
		{"merge outside", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, `merge 0 ["a" "b"] is outside the vocabulary`},
		{"merge no pair", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}}`, "merge 0 is no pair"},
		{"no unk", `{"model":{"type":"WordPiece","vocab":{"a":0}}}`, "unk_token is missing"},
		{"bad unk", `{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"b"}}`, `unk_token "b" is not in the vocabulary`},
		{"unk id", `{"model":{"type":"Unigram","vocab":[["a",-1]],"unk_id":1}}`, "unk_id 1 is not in the vocabulary"},
		{"vocab id", `{"model":{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}}`, "want an integer"},
		{"vocab type", `{"model":{"type":"Unigram","vocab":{"a":1}}}`, "want an array"},
		{"normalizer", `{` + wl + `,"normalizer":{"type":"Rot13"}}`, `normalizer: unsupported type "Rot13"`},
		{"nested normalizer", `{` + wl + `,"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"X"}]}}`, `unsupported type "X"`},
		{"charsmap", `{` + wl + `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"AA=="}}`, "too short"},
		{"pre_tokenizer", `{` + wl + `,"pre_tokenizer":{"type":"UnicodeScripts"}}`, `pre_tokenizer: unsupported type "UnicodeScripts"`},
		{"member", `{` + wl + `,"pre_tokenizer":{"type":"Digits","individual_digits":true,"base":12}}`, `Digits: unsupported: json: unknown field "base"`},
		{"behavior", `{` + wl + `,"pre_tokenizer":{"type":"Punctuation","behavior":"Doubled"}}`, `unsupported behavior "Doubled"`},
		{"class intersection", split(`[\\p{L}&&[^a]]`), `unsupported construct "&&"`},
		{"possessive", split(`a++|b`), `unsupported construct "++"`},
		{"broken pattern", split(`(a`), "compile pattern"},
		{"empty match", split(`a*`), "matches the empty string"},
		{"decoder", `{` + wl + `,"decoder":{"type":"CTC"}}`, `decoder: unsupported type "CTC"`},
		{"post_processor", `{` + wl + `,"post_processor":{"type":"Fancy"}}`, `post_processor: unsupported type "Fancy"`},
		{"template", `{` + wl + `,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}}],"special_tokens":{}}}`, `special token "[X]" is not defined`},
		{"added token", `{` + wl + `,"added_tokens":[{"id":1,"content":"x","regex":true}]}`, `added_tokens: json: unknown field "regex"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadFile("x", path)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestInvalidUTF8: every maximal invalid part is one U+FFFD, as in Python.
func TestInvalidUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb":            "a\uFFFDb",
		"\xe4\xb8":          "\uFFFD",
		"\xe4\xb8x\xb8":     "\uFFFDx\uFFFD",
		"\xf0\x9f\x98":      "\uFFFD",
		"\xf0\x80\x80":      "\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\x80":      "\uFFFD\uFFFD\uFFFD",
		"\xc3\xc3\xa9\xc0é": "\uFFFDé\uFFFDé",
	} {
		if got := ValidUTF8(in); got != want {
			t.Errorf("ValidUTF8(%q) = %q, want %q", in, got, want)
		}
		tok := Builtin()
		if got := tok.Decode(tok.Encode(in)); got != want {
			t.Errorf("Decode(Encode(%q)) = %q, want %q", in, got, want)
		}
	}
}

func TestDecodeSpecialAndUnknownIDs(t *testing.T) {
	if got, want := Builtin().Decode([]int{-1, 199999, 200018, 200000, 1 << 40}), "<|endoftext|><|endofprompt|>"; got != want {
		t.Errorf("Decode = %q, want %q", got, want)
	}
	if got := load(t, "bpe_llama2").Decode([]int{-1, 1, 1 << 40}); got != "<s>" {
		t.Errorf("Decode = %q, want <s>", got)
	}
}

// TestNormalizationLongMarks: more marks in a row than golang.org/x/text
// takes; precomposed text must not depend on how many follow.
func TestNormalizationLongMarks(t *testing.T) {
	marks := strings.Repeat("\u0301\u0323", 40)
	got, _ := unicodeForm{nfc, pattern.Reference()}.normalize("xa" + marks)
	want := "x\u1ea1" + "\u0323" // a and the first dot below compose; the rest is sorted
	want = strings.TrimSuffix(want, "\u0323") + strings.Repeat("\u0323", 39) + strings.Repeat("\u0301", 40)
	if got != want {
		t.Errorf("NFC = %+q, want %+q", got, want)
	}
}

func TestLongRunsAreNotQuadratic(t *testing.T) {
	for _, name := range []string{o200kName, "bpe_llama2", "unigram_t5"} {
		tok := load(t, name)
		text := strings.Repeat("abcdefgh", 20_000)
		if n := tok.Count(text); n < 100 || n > len(text) {
			t.Errorf("%s: Count = %d", name, n)
		}
	}
}
