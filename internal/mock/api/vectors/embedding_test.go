package vectors

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSimilar checks that texts with more common words have more similar vectors.
func TestSimilar(t *testing.T) {
	for _, tt := range []struct {
		query string
		texts []string // the best first
	}{
		{"What is the capital of France?", []string{
			"What is the capital of France?", "The capital of France is Paris.", "The capital of Brazil is Brasilia.", "Horses and cows are both animals",
		}},
		{"organic cotton t-shirts for sensitive skin", []string{
			"T-shirts of organic cotton, kind to sensitive skins", "organic apples", "A lawnmower with four wheels",
		}},
		{"tokenization", []string{"TOKENIZATION!", "tokenizer", "a bicycle"}},
		{"富士山の高さ", []string{"富士山の高さは", "富士山", "海"}},
	} {
		for _, dim := range []int{64, DefaultDim, 1024} {
			last := math.Inf(1)
			for _, text := range tt.texts {
				score := Cosine(Vector(tt.query, dim), Vector(text, dim))
				if score >= last {
					t.Errorf("%d dimensions: %q and %q have %v, want less than %v", dim, tt.query, text, score, last)
				}
				last = score
			}
		}
	}
}

func TestWords(t *testing.T) {
	got := Words("Hello, WORLD-wide 3D—Grüße 世界!\xff x")
	if diff := cmp.Diff([]string{"hello", "world", "wide", "3d", "grüße", "世", "界", "x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVectorProperty checks that vectors have unit length, that the same text always has
// the same vector, and that its similarity to itself is 1.
func TestVectorProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, dim := rapid.String().Draw(t, "text"), rapid.IntRange(1, 500).Draw(t, "dim")
		v := Vector(text, dim)
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != dim || math.Abs(sum-1) > 1e-5 {
			t.Fatalf("%d numbers of length %v, want %d of length 1", len(v), math.Sqrt(sum), dim)
		}
		if !slices.Equal(v, Vector(text, dim)) {
			t.Fatal("the same text gives two vectors")
		}
		if c := Cosine(v, v); c < 0.99999 || c > 1 {
			t.Fatalf("a text is like itself by %v", c)
		}
	})
}

func BenchmarkVector(b *testing.B) {
	text := strings.Repeat("The keeper of the lighthouse writes the weather into two books. ", 40)
	b.ReportAllocs()
	for b.Loop() {
		Vector(text, DefaultDim)
	}
}
