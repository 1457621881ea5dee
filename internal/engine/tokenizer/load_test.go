package tokenizer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadNames(t *testing.T) {
	for _, name := range []string{"builtin", "o200k_base"} {
		tok, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if tok.Name() != name || tok.VocabSize() != 200019 || tok.Count("hello world") != 2 {
			t.Errorf("Load(%q): name %q, size %d, count %d", name, tok.Name(), tok.VocabSize(), tok.Count("hello world"))
		}
		if !strings.HasPrefix(tok.Method(), "tiktoken o200k_base embedded sha256:") {
			t.Errorf("Method = %q", tok.Method())
		}
	}
	for _, name := range []string{"org/model", "gpt2", "cl100k_base", "Qwen/Qwen3-8B", ""} {
		if _, err := Load(name); !errors.Is(err, ErrNotLocal) {
			t.Errorf("Load(%q) = %v, want ErrNotLocal", name, err)
		}
	}
	for _, name := range []string{"./nowhere", "../nowhere/x", filepath.Join(t.TempDir(), "x"), "gone.json"} {
		if _, err := Load(name); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotLocal) {
			t.Errorf("Load(%q) = %v, want a missing file", name, err)
		}
	}
}

func TestLoadDirectory(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/wordpiece_bert.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Load(dir)
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

// TestUnsupported: what we cannot do exactly is refused, by name.
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
			_, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestIsPlaceholder(t *testing.T) {
	for model, want := range map[string]bool{
		"test": true, "Mock": true, "FAKE": true, "dummy": true, "placeholder": true, "sample": true, "example": true,
		"mock-llm": true, "my_model": true, "Your-Model-Here": true, "llm_mock": true, "model_name": true, "the-model-id": true, "test_model": true,
		"": false, "gpt2": false, "testing": false, "mocking": false, "org/test": false, `dir\test`: false, "./mock-llm": false, "~mock-llm": false, "llama-3.1-8b": false,
	} {
		if got := IsPlaceholder(model); got != want {
			t.Errorf("IsPlaceholder(%q) = %v, want %v", model, got, want)
		}
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
		if got := validUTF8(in); got != want {
			t.Errorf("validUTF8(%q) = %q, want %q", in, got, want)
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
	got, _ := unicodeForm{nfc, classes()}.normalize("xa" + marks)
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
