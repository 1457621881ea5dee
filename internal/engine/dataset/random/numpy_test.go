package random

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numpyArray is an array that NumPy drew.
type numpyArray struct {
	Low, High, N int
	First, Last  []int
	SHA          string
}

type numpyCase struct {
	Seed   string
	Raw    []string // the first outputs of 64 bits
	Arrays []numpyArray
}

// TestNumPy compares both generators with arrays drawn by NumPy; scripts/dataset/numpy_arrays.py
// made them.
func TestNumPy(t *testing.T) {
	var golden struct{ PCG64, MT19937 []numpyCase }
	read(t, "testdata/numpy.json", &golden)
	for _, c := range golden.PCG64 {
		g := NewPCG64(seedOf(t, c.Seed))
		raw := g
		for i, want := range c.Raw {
			if got := strconv.FormatUint(raw.Uint64(), 10); got != want {
				t.Errorf("PCG64 seed %s: output %d = %s, want %s", c.Seed, i, got, want)
			}
		}
		checkArrays(t, "PCG64 seed "+c.Seed, &g, c.Arrays)
	}
	for _, c := range golden.MT19937 {
		checkArrays(t, "MT19937 seed "+c.Seed, NewMT19937(seedOf(t, c.Seed)), c.Arrays)
	}
	if len(golden.PCG64) != 7 || len(golden.MT19937) != 4 {
		t.Errorf("%d and %d cases, want 7 and 4", len(golden.PCG64), len(golden.MT19937))
	}
}

// checkArrays draws the arrays one after the other and reads them forwards and
// backwards.
func checkArrays(t *testing.T, name string, g generator, arrays []numpyArray) {
	t.Helper()
	for _, want := range arrays {
		a := newArray(g, want.Low, want.High, want.N)
		g = a.after()
		values := make([]int, want.N)
		for i := range values {
			values[i] = a.At(i)
		}
		if !slices.Equal(values[:len(want.First)], want.First) && want.N >= 5 || hashOf(values) != want.SHA {
			t.Errorf("%s: %d from %d to %d begin with %v, want %v", name, want.N, want.Low, want.High, values[:3], want.First)
		}
		for i := want.N - 1; i >= 0; i -= 700 {
			if got := a.At(i); got != values[i] {
				t.Fatalf("%s: value %d read again = %d, want %d", name, i, got, values[i])
			}
		}
	}
}

// toolCase is a case of what vLLM or SGLang drew.
type toolCase struct {
	Seed           uint64
	DatasetName    string `json:"dataset_name"`
	Requests       int
	InputLen       int             `json:"input_len"`
	OutputLen      int             `json:"output_len"`
	PrefixLen      int             `json:"prefix_len"`
	RangeRatio     json.RawMessage `json:"range_ratio"`
	InputLens      []int           `json:"input_lens"`
	DrawnInputLens []int           `json:"drawn_input_lens"`
	OutputLens     []int           `json:"output_lens"`
	Offsets        []int
	PromptLen      []int  `json:"prompt_len"`
	InputSHA       string `json:"input_lens_sha256_16"`
	OutputSHA      string `json:"output_lens_sha256_16"`
	OffsetSHA      string `json:"offsets_sha256_16"`
}

// TestTools compares lengths and offsets with those of the real tools; see
// ../testdata/README.md.
func TestTools(t *testing.T) {
	files, err := filepath.Glob("../testdata/random_*/*.json")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "conversations.json") {
			continue
		}
		var golden struct {
			VocabSize int `json:"vocab_size"`
			Special   int `json:"special_tokens_to_add"`
			Cases     []toolCase
		}
		read(t, file, &golden)
		if len(golden.Cases) == 0 {
			t.Errorf("%s has no cases", file)
		}
		for i := range golden.Cases {
			c := &golden.Cases[i]
			o := Ranges{
				Style: VLLM, Input: c.InputLen, Output: c.OutputLen, Special: golden.Special,
				Vocab: golden.VocabSize, Prefix: c.PrefixLen, N: c.Requests, Seed: c.Seed,
			}
			if strings.Contains(file, "sglang") {
				o.Style = SGLang
			}
			o.InputRatio, o.OutputRatio = ratios(t, c.RangeRatio)
			checkTool(t, file+" case "+strconv.Itoa(i), o, c)
		}
	}
}

func checkTool(t *testing.T, name string, o Ranges, c *toolCase) {
	t.Helper()
	d, err := o.Draws()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var input, output, offset []int
	for i := range c.Requests {
		input, output, offset = append(input, d.Input(i)), append(output, d.Output(i)), append(offset, d.Offset(i))
	}
	if c.InputSHA != "" {
		if o.Style == SGLang && o.Special > 0 {
			input = nil // the file has the hash of the lengths as drawn
			for i := range c.Requests {
				input = append(input, d.input.At(i))
			}
		}
		if hashOf(input) != c.InputSHA || hashOf(output) != c.OutputSHA || c.OffsetSHA != "" && hashOf(offset) != c.OffsetSHA {
			t.Errorf("%s: other arrays; they end with %v, %v, %v", name, input[c.Requests-2:], output[c.Requests-2:], offset[c.Requests-2:])
		}
		return
	}
	want := c.InputLens
	if o.Style == SGLang {
		want = c.PromptLen
	}
	if !slices.Equal(input, want) || !slices.Equal(output, c.OutputLens) {
		t.Errorf("%s: lengths %v and %v, want %v and %v", name, input, output, want, c.OutputLens)
	}
	if len(c.Offsets) > 0 && !slices.Equal(offset, c.Offsets) {
		t.Errorf("%s: offsets %v, want %v", name, offset, c.Offsets)
	}
}

func ratios(t *testing.T, raw json.RawMessage) (in, out float64) {
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

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func seedOf(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func hashOf(values []int) string {
	var b []byte
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func BenchmarkDraws(b *testing.B) {
	for _, style := range []Style{VLLM, SGLang} {
		b.Run(string(style), func(b *testing.B) {
			o := Ranges{Style: style, Input: 1024, Output: 128, InputRatio: 0.3, OutputRatio: 0.3, Vocab: 128256, N: 10_000_000}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := o.Draws(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
