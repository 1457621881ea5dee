package text

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/tokenizer"
)

// toolFile holds what vLLM or SGLang drew with one tokenizer; see
// ../testdata/README.md.
type toolFile struct {
	VocabSize  int   `json:"vocab_size"`
	Special    int   `json:"special_tokens_to_add"`
	Prohibited []int `json:"prohibited_ids"`
	Cases      []struct {
		DatasetName string `json:"dataset_name"`
		Seed        uint64
		Requests    int
		InputLen    int             `json:"input_len"`
		OutputLen   int             `json:"output_len"`
		PrefixLen   int             `json:"prefix_len"`
		RangeRatio  json.RawMessage `json:"range_ratio"`
		Prefix      []int           `json:"prefix_tokens"`
		Sequences   [][]int         `json:"first_token_sequences"`
		PromptLen   []int           `json:"prompt_len"`
		PromptSHA   []string        `json:"prompt_sha256_16"`
	}
}

// TestRunsEqualTheTools makes every prompt that the real tools made, byte for byte.
func TestRunsEqualTheTools(t *testing.T) {
	files, err := filepath.Glob("../testdata/random_*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	prompts := 0
	for _, file := range files {
		if name := filepath.Base(file); name != "conversations.json" {
			prompts += compareFile(t, file, loadTokenizer(t, strings.TrimSuffix(name, ".json")))
		}
	}
	if prompts < 2000 {
		t.Errorf("%d prompts compared, want at least 2000", prompts)
	}
}

func loadTokenizer(t *testing.T, name string) tokenizer.Tokenizer {
	t.Helper()
	if tok, ok := tokenizer.Encoding(name); ok {
		return tok
	}
	tok, err := tokenizer.ReadFile(name, "../../tokenizer/testdata/"+name+".json")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func compareFile(t *testing.T, file string, tok tokenizer.Tokenizer) (prompts int) {
	t.Helper()
	var golden toolFile
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	size, reserved := tok.Base()
	if size != golden.VocabSize || !slices.Equal(reserved, golden.Prohibited) || tok.SpecialTokensToAdd() != golden.Special {
		t.Errorf("%s: vocabulary of %d without %v, want %d without %v", file, size, reserved, golden.VocabSize, golden.Prohibited)
	}
	style := random.VLLM
	if strings.Contains(file, "sglang") {
		style = random.SGLang
	}
	runs := NewRuns(tok, style == random.SGLang)
	for n, c := range golden.Cases {
		if len(c.PromptSHA) == 0 || c.DatasetName == "random" { // texts of a file
			continue
		}
		in, out := ratiosOf(t, c.RangeRatio)
		d, err := random.Ranges{
			Style: style, Input: c.InputLen, Output: c.OutputLen, InputRatio: in, OutputRatio: out, Special: golden.Special,
			Vocab: runs.Vocab(), Prefix: c.PrefixLen, N: c.Requests, Seed: c.Seed,
		}.Draws()
		if err != nil {
			t.Fatal(err)
		}
		rest := d.After()
		more := func(count int) []int { return rest.Below(runs.Vocab(), count) }
		prefix := runs.Prefix(c.PrefixLen, rest)
		if !slices.Equal(prefix, c.Prefix) {
			t.Errorf("%s case %d: prefix %v, want %v", file, n, prefix, c.Prefix)
		}
		for i, want := range c.PromptSHA {
			ids := runs.Run(slices.Clone(prefix), d.Offset(i)+i, d.Input(i))
			if i < len(c.Sequences) && !slices.Equal(ids, c.Sequences[i]) {
				t.Fatalf("%s case %d: tokens of prompt %d = %v, want %v", file, n, i, ids, c.Sequences[i])
			}
			text, tokens := runs.Fit(ids, c.PrefixLen+d.Input(i), more)
			sum := sha256.Sum256([]byte(text))
			if hex.EncodeToString(sum[:8]) != want || style == random.VLLM && len(tokens) != c.PromptLen[i] {
				t.Fatalf("%s case %d: prompt %d = %q of %d tokens", file, n, i, text, len(tokens))
			}
			prompts++
		}
	}
	return prompts
}

func ratiosOf(t *testing.T, raw json.RawMessage) (in, out float64) {
	t.Helper()
	if json.Unmarshal(raw, &in) == nil {
		return in, in
	}
	var both struct{ Input, Output float64 }
	if err := json.Unmarshal(raw, &both); err != nil {
		t.Fatal(err)
	}
	return both.Input, both.Output
}
