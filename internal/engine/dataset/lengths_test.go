package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/tokenizer"
)

// TestSyntheticEqualsVLLM: a synthetic dataset has the prompts and the output lengths of
// `vllm bench serve --dataset-name random` with the same options; see testdata/README.md.
func TestSyntheticEqualsVLLM(t *testing.T) {
	var golden struct {
		Cases []struct {
			Seed       uint64
			Requests   int
			InputLen   float64         `json:"input_len"`
			OutputLen  float64         `json:"output_len"`
			PrefixLen  int             `json:"prefix_len"`
			RangeRatio json.RawMessage `json:"range_ratio"`
			OutputLens []int           `json:"output_lens"`
			PromptLen  []bench.Tokens  `json:"prompt_len"`
			PromptSHA  []string        `json:"prompt_sha256_16"`
		}
	}
	data, err := os.ReadFile("testdata/random_vllm/o200k_base.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for n, c := range golden.Cases {
		if len(c.PromptSHA) == 0 {
			continue
		}
		o := basic()
		o.Entries, o.Seed = c.Requests, bench.Seed(c.Seed)
		o.Synthetic.ISL, o.OSL, o.Synthetic.Corpus = random.Fixed(c.InputLen), random.Fixed(c.OutputLen), "random"
		o.Synthetic.Ratio = synthetic.Ratio{Given: true}
		if json.Unmarshal(c.RangeRatio, &o.Synthetic.Ratio.Input) == nil {
			o.Synthetic.Ratio.Output = o.Synthetic.Ratio.Input
		} else if err := json.Unmarshal(c.RangeRatio, &o.Synthetic.Ratio); err != nil {
			t.Fatal(err)
		}
		if c.PrefixLen > 0 {
			o.Synthetic.PrefixPool, o.Synthetic.PrefixLength = 1, c.PrefixLen
		}
		s := mustOpen(t, "synthetic", o)
		for i := range s.Len() {
			turn := s.At(i).Turns[0]
			sum := sha256.Sum256([]byte(turn.Texts[0]))
			if hex.EncodeToString(sum[:8]) != c.PromptSHA[i] || turn.InputTokens != c.PromptLen[i] || int(turn.MaxTokens) != c.OutputLens[i] {
				t.Errorf("case %d entry %d: %q of %d tokens, at most %d, want %d and %d", n, i, turn.Texts[0], turn.InputTokens, turn.MaxTokens, c.PromptLen[i], c.OutputLens[i])
			}
			compared++
		}
	}
	if compared != 12*32 {
		t.Errorf("%d prompts compared, want 12 cases of 32", compared)
	}
}

// TestRangesOfOtherCorpora: every corpus has the lengths of the tool, and later turns
// have lengths of the same ranges.
func TestRangesOfOtherCorpora(t *testing.T) {
	tok := tokenizer.Builtin()
	o := basic()
	o.Entries = 40
	o.Synthetic.ISL, o.OSL, o.Synthetic.Turns = random.Fixed(100), random.Fixed(50), random.Fixed(3)
	o.Synthetic.Ratio, o.Synthetic.BatchSize = synthetic.Ratio{Given: true, Input: 0.5, Output: 0.2}, 2
	want, err := random.Ranges{
		Style: random.VLLM, Input: 100, Output: 50, InputRatio: 0.5, OutputRatio: 0.2, Vocab: 1, N: 40, Seed: uint64(o.Seed),
	}.Draws()
	if err != nil {
		t.Fatal(err)
	}
	s, later := mustOpen(t, "synthetic", o), map[int]bool{}
	for i := range s.Len() {
		for k, turn := range s.At(i).Turns {
			n, other := tok.Count(turn.Texts[0]), tok.Count(turn.Texts[1])
			switch {
			case n != other || n < 50 || n > 150 || turn.MaxTokens < 40 || turn.MaxTokens > 60:
				t.Errorf("entry %d turn %d: %d and %d tokens, at most %d", i, k, n, other, turn.MaxTokens)
			case k == 0 && (n != want.Input(i) || int(turn.MaxTokens) != want.Output(i)):
				t.Errorf("entry %d: %d tokens, at most %d; want %d, %d", i, n, turn.MaxTokens, want.Input(i), want.Output(i))
			case k > 0:
				later[n] = true
			}
		}
	}
	if len(later) < 30 {
		t.Errorf("later turns have %d different lengths", len(later))
	}
}

// TestPairsOfLengths: every turn has a pair in the right proportion.
func TestPairsOfLengths(t *testing.T) {
	o := basic()
	o.Entries = 1000
	o.Tokenizer = special{o.Tokenizer, 2} // is subtracted from input lengths
	pairs, err := random.NewPairs([]random.Pair{{Input: random.Fixed(10), Output: random.Fixed(3), Probability: 20}, {Input: random.Fixed(5), Output: random.Fixed(9), Probability: 80}})
	if err != nil {
		t.Fatal(err)
	}
	o.Synthetic.ISL, o.Synthetic.Pairs, o.Synthetic.Turns = random.Dist{}, pairs, random.Fixed(2)
	counts := map[[2]bench.Tokens]float64{}
	turns(mustOpen(t, "synthetic", o), func(_ string, _ *bench.Conversation, _ int, turn bench.Turn) {
		counts[[2]bench.Tokens{turn.InputTokens, turn.MaxTokens}]++
	})
	first := counts[[2]bench.Tokens{8, 3}]
	// 400 of 2000, four standard deviations.
	if len(counts) != 2 || first+counts[[2]bench.Tokens{3, 9}] != 2000 || math.Abs(first-400) > 4*math.Sqrt(2000*0.2*0.8) {
		t.Errorf("pairs %v, want about 400 times {8 3} and 1600 times {3 9}", counts)
	}
}

// TestUniqueCorpus: no two prompts have the first four characters in common, and
// another seed has other ones.
func TestUniqueCorpus(t *testing.T) {
	o := basic()
	o.Entries, o.Synthetic.Corpus, o.Synthetic.BatchSize = 500, "unique", 2
	seen := map[string]bool{}
	for seed := range bench.Seed(2) {
		o.Seed = seed
		turns(mustOpen(t, "synthetic", o), func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
			for _, text := range turn.Texts {
				if seen[text[:4]] {
					t.Errorf("seed %d %s: another prompt begins with %q too", seed, where, text[:4])
				}
				seen[text[:4]] = true
			}
		})
	}
}

// TestRunsInAnyOrder: the corpus random has texts of the tool in its order, and others
// of the same length where another order needs them alone; both are the same each time.
func TestRunsInAnyOrder(t *testing.T) {
	o := basic()
	o.Entries, o.Synthetic.Corpus, o.Synthetic.ISL = 200, "random", normal(t, 200, 50)
	first := mustOpen(t, "synthetic", o)
	s, err := Open(t.Context(), "synthetic", o)
	if err != nil {
		t.Fatal(err)
	}
	indexed, ok := s.(source.Indexed)
	if !ok {
		t.Fatalf("the source is a %T, want one with random access", s)
	}
	equal := 0
	for i := o.Entries - 1; i >= 0; i-- {
		c, err := indexed.At(i).Make()
		again, err2 := indexed.At(i).Make()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if c.Turns[0].Texts[0] != again.Turns[0].Texts[0] || c.Turns[0].InputTokens != first.At(i).Turns[0].InputTokens {
			t.Errorf("entry %d: %d tokens, then %d; in order %d", i, c.Turns[0].InputTokens, again.Turns[0].InputTokens, first.At(i).Turns[0].InputTokens)
		}
		if c.Turns[0].Texts[0] == first.At(i).Turns[0].Texts[0] {
			equal++
		}
	}
	if equal < 50 {
		t.Errorf("%d of 200 texts are the same in any order, want all without a correction", equal)
	}
	for range 2 { // after a rewind the pass is the same
		if err := s.Rewind(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			e, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c, err := e.Make(); err != nil || c.Turns[0].Texts[0] != first.At(i).Turns[0].Texts[0] {
				t.Errorf("entry %d of a new pass differs, %v", i, err)
			}
		}
	}
}
