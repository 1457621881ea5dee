package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// prose returns about size bytes of sentences from the ASCII words of strings.json.
func prose(t testing.TB, size int) string {
	t.Helper()
	var inputs, words []string
	readJSON(t, "strings.json", &inputs)
	for _, s := range inputs {
		for w := range strings.FieldsSeq(s) {
			if len(w) < 12 && strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz'.,;") == "" {
				words = append(words, w)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(" \n     "[rng.IntN(7)])
	}
	return b.String()
}

// TestRingPrompt: every length from every start is met exactly, also in a
// corpus of all that is odd.
func TestRingPrompt(t *testing.T) {
	var inputs []string
	readJSON(t, "strings.json", &inputs)
	corpora := map[string]string{"prose": prose(t, 30_000), "odd": strings.Join(inputs, "\n")}
	for _, name := range append([]string{o200kName}, fixtures...) {
		tok := load(t, name)
		for kind, corpus := range corpora {
			t.Run(name+"/"+kind, func(t *testing.T) {
				ring := NewRing(tok, corpus)
				rng := rand.New(rand.NewPCG(3, uint64(len(name))))
				for i := range 80 {
					start, n := rng.IntN(1<<20)-1<<19, i+1
					if i >= 60 {
						n = 1 + rng.IntN(3000)
					}
					text, ok := ring.Prompt(start, n)
					if !ok {
						t.Errorf("Prompt(%d, %d) found nothing in a ring of %d", start, n, ring.Len())
						continue
					}
					if got := len(tok.Encode(text)); got != n {
						t.Errorf("Prompt(%d, %d) = %.60q has %d tokens", start, n, text, got)
					}
					if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
						t.Errorf("Prompt(%d, %d) = %.60q is not clean", start, n, text)
					}
					if again, _ := ring.Prompt(start, n); again != text {
						t.Errorf("Prompt(%d, %d) differs the second time", start, n)
					}
				}
			})
		}
	}
}

func TestRingEdges(t *testing.T) {
	ring := NewRing(Builtin(), "one two three\n\n  four five\n")
	if got, want := ring.Len(), Builtin().Count("one two three four five"); got != want {
		t.Errorf("Len = %d, want %d", got, want)
	}
	if a, _ := ring.Prompt(0, 3); a != "one two three" {
		t.Errorf("Prompt(0, 3) = %q", a)
	}
	if a, _ := ring.Prompt(-1, 1); a != " five" {
		t.Errorf("Prompt(-1, 1) = %q", a)
	}
	if text, ok := ring.Prompt(1, 500); !ok || Builtin().Count(text) != 500 {
		t.Errorf("Prompt(1, 500) longer than the ring: %v", ok)
	}
	if _, ok := ring.Prompt(0, 0); ok {
		t.Error("Prompt(0, 0) is ok")
	}
	if _, ok := NewRing(Builtin(), " \n ").Prompt(0, 1); ok {
		t.Error("an empty ring has a prompt")
	}
}

func BenchmarkNewRing(b *testing.B) {
	corpus, tok := prose(b, 300_000), Builtin()
	for b.Loop() {
		NewRing(tok, corpus)
	}
}

func BenchmarkPrompt1000(b *testing.B) {
	ring := NewRing(Builtin(), prose(b, 300_000))
	start := 0
	for b.Loop() {
		ring.Prompt(start, 1000)
		start += 9973
	}
}

func BenchmarkCount(b *testing.B) {
	corpus := prose(b, 300_000)
	for _, name := range []string{o200kName, "byte_level_llama3", "byte_level_gpt2", "wordpiece_bert", "unigram_t5", "bpe_llama2"} {
		b.Run(name, func(b *testing.B) {
			tok := load(b, name)
			total := 0
			for b.Loop() {
				total += tok.Count(corpus)
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds()/1e6, "Mtok/s")
		})
	}
}

func BenchmarkOpenTables(b *testing.B) {
	for b.Loop() {
		openTables(o200kText, o200kTables)
	}
}
