package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/dataset/text"
	"aiperfd/internal/engine/tokenizer"
)

// made returns a distribution that must be valid.
func made(t testing.TB, s random.Spec) random.Dist {
	t.Helper()
	d, err := random.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func normal(t testing.TB, mean, sd float64) random.Dist {
	t.Helper()
	return made(t, random.Spec{Mean: &mean, Stddev: sd})
}

// basic returns small, valid options for kind synthetic.
func basic() Options {
	return Options{
		Options:   source.Options{Entries: 20, Seed: 42, Tokenizer: tokenizer.Builtin()},
		Synthetic: synthetic.Spec{ISL: random.Fixed(50), DelayRatio: 1, BatchSize: 1, Corpus: "sonnet"},
	}
}

// opened is a whole dataset.
type opened struct {
	entries []*bench.Conversation
	about   source.Description
	hash    string
}

func (o *opened) Len() int                     { return len(o.entries) }
func (o *opened) At(i int) *bench.Conversation { return o.entries[i] }
func (o *opened) Hash() string                 { return o.hash }
func (o *opened) Describe() source.Description { return o.about }

// tokens counts the input tokens of all turns, and the turns.
func (o *opened) tokens() (n bench.Tokens, turns int) {
	for _, c := range o.entries {
		for i := range c.Turns {
			n, turns = n+c.Turns[i].InputTokens, turns+1
		}
	}
	return n, turns
}

// openAll reads one pass.
func openAll(ctx context.Context, kind string, o Options) (*opened, error) {
	s, err := Open(ctx, kind, o)
	if err != nil {
		return nil, err
	}
	var out opened
	u := usage{}
	for {
		entry, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		c, err := entry.Make()
		if err != nil {
			return nil, err
		}
		out.entries = append(out.entries, c)
		u.add(entry.Number, newHasher().digest(entry.Number, c))
	}
	out.about, out.hash = s.Describe(), u.hash()
	return &out, s.Close()
}

func mustOpen(t testing.TB, kind string, o Options) *opened {
	t.Helper()
	s, err := openAll(t.Context(), kind, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each turn of a source with its place.
func turns(s *opened, do func(where string, c *bench.Conversation, k int, turn bench.Turn)) {
	for i := range s.Len() {
		for k, turn := range s.At(i).Turns {
			do(fmt.Sprintf("entry %d turn %d", i, k), s.At(i), k, turn)
		}
	}
}

func TestSyntheticLengthsAreExact(t *testing.T) {
	tok := tokenizer.Builtin()
	for _, corpus := range text.Corpora() {
		for _, n := range []int{1, 7, 600} {
			t.Run(fmt.Sprintf("%s %d", corpus.Name, n), func(t *testing.T) {
				o := basic()
				o.Synthetic.Corpus, o.Synthetic.ISL = corpus.Name, random.Fixed(float64(n))
				s := mustOpen(t, "synthetic", o)
				seen := map[string]bool{}
				turns(s, func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
					text := turn.Texts[0]
					if got := tok.Count(text); got != n || turn.InputTokens != bench.Tokens(n) {
						t.Errorf("%s: %d tokens, InputTokens %d, want %d", where, got, turn.InputTokens, n)
					}
					if seen[text] && n > 7 { // short texts of code are alike
						t.Errorf("%s: the text occurs twice", where)
					}
					seen[text] = true
				})
				total, _ := s.tokens()
				if d := s.Describe(); d.Inexact != 0 || int(total) != n*20 || len(d.Warnings) != 0 {
					t.Errorf("Describe() = %+v, want %d tokens and nothing inexact", d, n*20)
				}
			})
		}
	}
}

func TestSyntheticShape(t *testing.T) {
	tok := tokenizer.Builtin()
	o := basic()
	o.Entries = 200
	o.System = "Be brief."
	o.OSL = normal(t, 100, 20)
	o.Synthetic = synthetic.Spec{
		ISL: normal(t, 40, 10), Turns: normal(t, 3, 1), TurnDelay: normal(t, 1000, 300),
		DelayRatio: 0.5, BatchSize: 2, Corpus: "coding",
		SharedSystem: 30, UserContext: 25, PrefixPool: 3, PrefixLength: 20,
	}
	s := mustOpen(t, "synthetic", o)
	contexts, prefixes, sum := map[string]bool{}, map[string]int{}, bench.Tokens(0)
	for i := range s.Len() {
		c := s.At(i)
		if want := fmt.Sprintf("session_%06d", i); c.ID != want {
			t.Errorf("entry %d: id %s, want %s", i, c.ID, want)
		}
		literal, shared, _ := strings.Cut(c.System, "\n\n")
		if literal != "Be brief." || c.System != s.At(0).System || tok.Count(shared) != 30 {
			t.Errorf("entry %d: system message %q, want the literal one and 30 shared tokens", i, c.System)
		}
		if n := tok.Count(c.Context); n != 25 {
			t.Errorf("entry %d: context of %d tokens, want 25", i, n)
		}
		contexts[c.Context] = true
		prefixes[c.Turns[0].Texts[0][:30]]++
	}
	turns(s, func(where string, _ *bench.Conversation, k int, turn bench.Turn) {
		counted := tok.Count(turn.Texts[0]) + tok.Count(turn.Texts[1])
		if len(turn.Texts) != 2 || counted != int(turn.InputTokens) {
			t.Errorf("%s: %d texts of %d tokens, InputTokens %d", where, len(turn.Texts), counted, turn.InputTokens)
		}
		if (k == 0) != (turn.Delay == 0) {
			t.Errorf("%s: delay %v", where, turn.Delay)
		}
		if turn.MaxTokens < 1 {
			t.Errorf("%s: output cap %d", where, turn.MaxTokens)
		}
		sum += turn.InputTokens
	})
	if len(contexts) < 195 { // texts of code are alike at a few places
		t.Errorf("%d different contexts of 200", len(contexts))
	}
	if len(prefixes) != 3 {
		t.Errorf("texts begin in %d ways, want the 3 prefixes: %v", len(prefixes), prefixes)
	}
	d := s.Describe()
	_, count := s.tokens()
	if d.Entries != 200 || count < 500 || count > 700 {
		t.Errorf("Describe() = %+v, %d turns, want 200 entries, about 600 turns", d, count)
	}
	// 600 turns of two texts of 40 and, on the 200 first ones, a prefix of 20.
	if mean := (float64(sum) - 200*20) / float64(2*count); math.Abs(mean-40) > 1.5 {
		t.Errorf("mean ISL = %v, want about 40", mean)
	}
}

func TestSyntheticPrefixSeamsAreExact(t *testing.T) {
	o := basic()
	o.Entries = 300
	o.Synthetic.PrefixPool, o.Synthetic.PrefixLength = 5, 33
	s := mustOpen(t, "synthetic", o)
	turns(s, func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
		if n := tokenizer.Builtin().Count(turn.Texts[0]); n != 83 || turn.InputTokens != 83 {
			t.Errorf("%s: %d tokens, InputTokens %d, want 83", where, n, turn.InputTokens)
		}
	})
}

func TestSyntheticPromptsBeginDifferently(t *testing.T) {
	o := basic()
	o.Entries, o.Synthetic.ISL = 3000, random.Fixed(60)
	s := mustOpen(t, "synthetic", o)
	// A prefix cache works on blocks of 16 tokens or more.
	seen, same := map[string]bool{}, 0
	for i := range s.Len() {
		ids := o.Tokenizer.Encode(s.At(i).Turns[0].Texts[0])
		key := fmt.Sprint(ids[:16])
		if seen[key] {
			same++
		}
		seen[key] = true
	}
	if same > 3 {
		t.Errorf("%d of 3000 prompts share their first 16 tokens with another one, want almost none", same)
	}
}

// special is a tokenizer with tokens that a server adds to every sequence.
type special struct {
	tokenizer.Tokenizer
	n int
}

func (s special) SpecialTokensToAdd() int     { return s.n }
func (s special) Unwrap() tokenizer.Tokenizer { return s.Tokenizer }

func TestSyntheticSubtractsSpecialTokens(t *testing.T) {
	tests := []struct{ isl, special, want int }{{50, 0, 50}, {50, 2, 48}, {2, 2, 1}, {1, 3, 1}}
	for _, tt := range tests {
		o := basic()
		o.Tokenizer, o.Synthetic.ISL = special{o.Tokenizer, tt.special}, random.Fixed(float64(tt.isl))
		if got := mustOpen(t, "synthetic", o).At(0).Turns[0].InputTokens; int(got) != tt.want {
			t.Errorf("ISL %d with %d special tokens = %d tokens, want %d", tt.isl, tt.special, got, tt.want)
		}
	}
}

// lossy is a tokenizer that counts one token more than requested.
type lossy struct{ tokenizer.Tokenizer }

func (l lossy) Count(s string) int { return 2*l.Tokenizer.Count(s) + 1 }
func (l lossy) Encode(s string) []int {
	ids := l.Tokenizer.Encode(s)
	return append(append(ids, ids...), 1)
}

func TestSyntheticSaysWhatIsInexact(t *testing.T) {
	o := basic()
	o.Tokenizer = lossy{o.Tokenizer}
	o.Synthetic.ISL = random.Fixed(50) // an odd count is the only one that exists
	s := mustOpen(t, "synthetic", o)
	d := s.Describe()
	if d.Inexact != 20 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "20 generated texts missed their length") {
		t.Errorf("Describe() = %+v, want 20 inexact texts and a warning", d)
	}
	if turn := s.At(0).Turns[0]; int(turn.InputTokens) != o.Tokenizer.Count(turn.Texts[0]) {
		t.Errorf("InputTokens = %d, want the real length %d", turn.InputTokens, o.Tokenizer.Count(turn.Texts[0]))
	}
}

func TestSyntheticSeeds(t *testing.T) {
	o := basic()
	o.OSL = normal(t, 100, 20)
	o.Synthetic = synthetic.Spec{
		ISL: normal(t, 40, 10), Turns: normal(t, 2, 1), TurnDelay: normal(t, 1000, 300),
		DelayRatio: 1, BatchSize: 1, Corpus: "sonnet", SharedSystem: 10, UserContext: 10, PrefixPool: 3, PrefixLength: 10,
	}
	a := mustOpen(t, "synthetic", o)
	old := runtime.GOMAXPROCS(1)
	b := mustOpen(t, "synthetic", o)
	runtime.GOMAXPROCS(old)
	if a.Hash() != b.Hash() {
		t.Errorf("one processor gives hash %s, %d give %s", b.Hash(), old, a.Hash())
	}
	for i := range a.Len() {
		if diff := cmp.Diff(a.At(i), b.At(i)); diff != "" {
			t.Fatalf("entry %d differs:\n%s", i, diff)
		}
	}
	more := o
	more.Entries++
	if diff := cmp.Diff(a.At(7), mustOpen(t, "synthetic", more).At(7)); diff != "" {
		t.Errorf("another number of entries changes entry 7:\n%s", diff)
	}
	o.Seed = 43
	if c := mustOpen(t, "synthetic", o); c.Hash() == a.Hash() || c.At(0).Turns[0].Texts[0] == a.At(0).Turns[0].Texts[0] {
		t.Error("seeds 42 and 43 give the same dataset")
	}
}

// Each option must change the dataset.
func TestSyntheticOptionsMatter(t *testing.T) {
	set := map[string]func(*Options){
		"entries":        func(o *Options) { o.Entries++ },
		"seed":           func(o *Options) { o.Seed++ },
		"system":         func(o *Options) { o.System = "x" },
		"isl":            func(o *Options) { o.Synthetic.ISL = random.Fixed(51) },
		"osl":            func(o *Options) { o.OSL = random.Fixed(9) },
		"turns":          func(o *Options) { o.Synthetic.Turns = random.Fixed(3) },
		"delay":          func(o *Options) { o.Synthetic.TurnDelay = random.Fixed(70) },
		"delay ratio":    func(o *Options) { o.Synthetic.DelayRatio = 2 },
		"delay cap":      func(o *Options) { o.DelayCap = new(time.Millisecond) },
		"batch":          func(o *Options) { o.Synthetic.BatchSize = 2 },
		"corpus":         func(o *Options) { o.Synthetic.Corpus = "random" },
		"shared system":  func(o *Options) { o.Synthetic.SharedSystem = 5 },
		"user context":   func(o *Options) { o.Synthetic.UserContext = 5 },
		"prefix":         func(o *Options) { o.Synthetic.PrefixPool, o.Synthetic.PrefixLength = 1, 5 },
		"prefix longer":  func(o *Options) { o.Synthetic.PrefixPool, o.Synthetic.PrefixLength = 1, 6 },
		"prefix of more": func(o *Options) { o.Synthetic.PrefixPool, o.Synthetic.PrefixLength = 2, 5 },
	}
	base := func() Options {
		o := basic()
		o.Entries = 6
		o.Synthetic.Turns, o.Synthetic.TurnDelay = random.Fixed(2), random.Fixed(50)
		return o
	}
	seen := map[string]string{mustOpen(t, "synthetic", base()).Hash(): "nothing"}
	for name, change := range set {
		o := base()
		change(&o)
		hash := mustOpen(t, "synthetic", o).Hash()
		if other, ok := seen[hash]; ok {
			t.Errorf("changing %s gives the same dataset as changing %s", name, other)
		}
		seen[hash] = name
	}
}

func TestSyntheticDelays(t *testing.T) {
	o := basic()
	o.Synthetic.Turns, o.Synthetic.TurnDelay, o.Synthetic.DelayRatio = random.Fixed(3), random.Fixed(1.5), 0.5
	got := mustOpen(t, "synthetic", o).At(0).Turns
	if want := 750 * time.Microsecond; got[0].Delay != 0 || got[1].Delay != want || got[2].Delay != want {
		t.Errorf("delays %v, %v, %v; want 0, %v, %v", got[0].Delay, got[1].Delay, got[2].Delay, want, want)
	}
	o.DelayCap = new(100 * time.Microsecond)
	if got := mustOpen(t, "synthetic", o).At(0).Turns[1].Delay; got != *o.DelayCap {
		t.Errorf("capped delay = %v, want %v", got, *o.DelayCap)
	}
}

func TestSyntheticRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no entries", func(o *Options) { o.Entries = 0 }, "entries 0: must be from 1 to 10000000"},
		{"no input length", func(o *Options) { o.Synthetic.ISL = random.Dist{} }, "input length is missing"},
		{"no batch", func(o *Options) { o.Synthetic.BatchSize = 0 }, "batch size 0: must be from 1 to 10000"},
		{"no tokenizer", func(o *Options) { o.Tokenizer = nil }, "a tokenizer is needed"},
		{"corpus", func(o *Options) { o.Synthetic.Corpus = "x" }, `unknown corpus "x"; accepted: sonnet, coding, random`},
		{"prefix without length", func(o *Options) { o.Synthetic.PrefixPool = 1 }, "both or neither"},
		{"prefix without pool", func(o *Options) { o.Synthetic.PrefixLength = 1 }, "both or neither"},
		{"negative system", func(o *Options) { o.Synthetic.SharedSystem = -1 }, "shared system length -1"},
		{"negative context", func(o *Options) { o.Synthetic.UserContext = -1 }, "user context length -1"},
		{"negative ratio", func(o *Options) { o.Synthetic.DelayRatio = -1 }, "turn delay ratio -1"},
		{"ratio NaN", func(o *Options) { o.Synthetic.DelayRatio = math.NaN() }, "turn delay ratio NaN"},
		{"negative cap", func(o *Options) { o.DelayCap = new(-time.Second) }, "delay cap -1s"},
		{"one huge prompt", func(o *Options) { o.Synthetic.ISL = random.Fixed(5e8) }, "entry 0: turn 0: a text of 500000000 tokens: at most"},
		{"too many turns", func(o *Options) { o.Synthetic.Turns = random.Fixed(1e6) }, "entry 0: 1000000 turns: at most 100000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := basic()
			tt.change(&o)
			s, err := openAll(t.Context(), "synthetic", o)
			if s != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestSyntheticListsAllBadOptions(t *testing.T) {
	_, err := Open(t.Context(), "synthetic", Options{})
	for _, want := range []string{"entries", "batch size", "input length", "tokenizer", "corpus"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want it to speak of %s", err, want)
		}
	}
}

func TestSyntheticStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Open(ctx, "synthetic", basic()); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, %v; want the context's error", s, err)
	}
}

// The hash is part of what users compare across machines and versions: a change
// of this value must be deliberate and listed in the change log.
func TestHashGolden(t *testing.T) {
	o := basic()
	o.OSL = normal(t, 100, 20)
	o.Synthetic = synthetic.Spec{
		ISL: normal(t, 40, 10), Turns: normal(t, 2, 1), TurnDelay: normal(t, 1000, 300),
		DelayRatio: 1, BatchSize: 1, Corpus: "sonnet", PrefixPool: 3, PrefixLength: 10,
	}
	want := map[string]string{
		"sonnet": "e2959f88406ffbaa697706112886e7ff1026bde81767b06cd01de54552e8b0ec",
		"coding": "4d0fd292d0590a9a9102a604fedb035e8535c135ff2473ab38c624a103647dd5",
		"random": "ecc3b8dbaa561e8cdb99d94e27d7f4e494af04e5091fed82280ea70db9c4c9cb",
	}
	for corpus, hash := range want {
		o.Synthetic.Corpus = corpus
		if got := mustOpen(t, "synthetic", o).Hash(); got != hash {
			t.Errorf("hash with corpus %s = %s, want %s", corpus, got, hash)
		}
	}
}

func BenchmarkSynthetic(b *testing.B) {
	o := basic()
	o.Entries, o.Synthetic.ISL = 10_000, normal(b, 550, 50)
	b.ReportAllocs()
	for b.Loop() {
		mustOpen(b, "synthetic", o)
	}
}
