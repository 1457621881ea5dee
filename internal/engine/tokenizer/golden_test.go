package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed are the encodings that fixtures.py compares with tiktoken.
var packed = []string{o200kName, "cl100k_base", "p50k_base", "r50k_base"}

// fixtures are the tokenizers of testdata; scripts/tokenizer/fixtures.py
// trains them and records how the reference encodes strings.json.
var fixtures = []string{
	"byte_level_llama3", "byte_level_gpt2", "wordpiece_bert", "unigram_t5", "unigram_bytes",
	"bpe_llama2", "bpe_unk", "wordlevel", "generic_pattern",
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func load(t testing.TB, name string) Tokenizer {
	t.Helper()
	if tok, ok := Encoding(name); ok {
		return tok
	}
	tok, err := ReadFile(name, filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type golden struct {
	IDs     [][]int           `json:"ids"`
	Decoded map[string]string `json:"decoded"`
	ToAdd   int               `json:"special_tokens_to_add"`
	Size    int               `json:"vocab_size"`
}

func TestGolden(t *testing.T) {
	var inputs []string
	readJSON(t, "strings.json", &inputs)
	for _, name := range slices.Concat(packed, fixtures) {
		t.Run(name, func(t *testing.T) {
			var want golden
			readJSON(t, name+".golden.json", &want)
			tok := load(t, name)
			if tok.SpecialTokensToAdd() != want.ToAdd || tok.VocabSize() != want.Size {
				t.Errorf("to add %d, size %d, want %d, %d", tok.SpecialTokensToAdd(), tok.VocabSize(), want.ToAdd, want.Size)
			}
			for i, s := range inputs {
				if got := tok.Encode(s); !cmp.Equal(got, want.IDs[i]) {
					t.Errorf("Encode(%q) = %v, want %v", s, got, want.IDs[i])
				}
				if got := tok.Count(s); got != len(want.IDs[i]) {
					t.Errorf("Count(%q) = %d, want %d", s, got, len(want.IDs[i]))
				}
				text, changed := want.Decoded[strconv.Itoa(i)]
				if !changed {
					text = s
				}
				if got := tok.Decode(want.IDs[i]); got != text {
					t.Errorf("Decode(%v) = %q, want %q", want.IDs[i], got, text)
				}
			}
		})
	}
}

// TestComponents checks single normalizers and pre-tokenizers, in particular
// every hand-written scanner, against the reference.
func TestComponents(t *testing.T) {
	var file struct {
		Strings []string
		Rows    []struct {
			Kind   string
			Config json.RawMessage
			Out    map[string]string
		}
	}
	readJSON(t, "components.golden.json", &file)
	if len(file.Rows) < 40 {
		t.Fatalf("only %d components", len(file.Rows))
	}
	for _, row := range file.Rows {
		var run func(string) string
		p := &parser{alphabet: newByteAlphabet()}
		if row.Kind == "normalizer" {
			n, err := p.normalizer(row.Config)
			if err != nil {
				t.Fatalf("%s: %v", row.Config, err)
			}
			run = func(s string) string { out, _ := n.normalize(s); return out }
		} else {
			pre, err := p.preTokenizer(row.Config)
			if err != nil {
				t.Fatalf("%s: %v", row.Config, err)
			}
			run = func(s string) string {
				var out []string
				if s != "" {
					for _, q := range pre.split(new(scratch), nil, piece{s, true}) {
						out = append(out, q.text)
					}
				}
				return strings.Join(out, "␞")
			}
		}
		for i, s := range file.Strings {
			want, changed := row.Out[strconv.Itoa(i)]
			if !changed {
				want = s
			}
			if got := run(s); got != want {
				t.Errorf("%.150s\n  of %q\n got %q\nwant %q", row.Config, s, got, want)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	var inputs []string
	readJSON(t, "strings.json", &inputs)
	for _, name := range slices.Concat(packed, fixtures) {
		var want golden
		readJSON(t, name+".golden.json", &want)
		tok := load(t, name) // fresh, so that goroutines race for what is lazy
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i, s := range inputs {
					if got := tok.Encode(s); !cmp.Equal(got, want.IDs[i]) {
						t.Errorf("%s: Encode(%q) = %v, want %v", name, s, got, want.IDs[i])
					}
					tok.Decode(want.IDs[i])
				}
			})
		}
		wg.Wait()
	}
}

// FuzzEncodeDecode checks that byte-level tokenizers lose no text.
func FuzzEncodeDecode(f *testing.F) {
	var inputs []string
	readJSON(f, "strings.json", &inputs)
	for _, s := range inputs {
		f.Add(s)
	}
	f.Add("\xff\xe4\xb8 bad")
	plain := Builtin()
	file := load(f, "byte_level_llama3")
	f.Fuzz(func(t *testing.T, s string) {
		ids := plain.Encode(s)
		if got, want := plain.Decode(ids), ValidUTF8(s); got != want {
			t.Errorf("builtin: decode of encode %q = %q", s, got)
		}
		if n := plain.Count(s); n != len(ids) {
			t.Errorf("Count(%q) = %d, want %d", s, n, len(ids))
		}
		if strings.Contains(s, "strip>") || strings.Contains(s, "<é>") {
			return // added tokens that swallow blanks, or whose name is no UTF-8 once decoded
		}
		if got, want := file.Decode(file.Encode(s)), ValidUTF8(s); got != want {
			t.Errorf("fixture: decode of encode %q = %q", s, got)
		}
	})
}
