package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// numbered is a source of n entries without content.
func numbered(n int) source.Indexed {
	return source.NewIndexed(n, func(i int) source.Entry {
		return source.Entry{Number: i, Size: 1, Make: func() (*bench.Conversation, error) { return &bench.Conversation{}, nil }}
	}, func() source.Description { return source.Description{} })
}

// stream hides that a source is indexed.
type stream struct{ source.Source }

func sample(t *testing.T, kind string, n, count int, seed bench.Seed) []int {
	t.Helper()
	return sampleOf(t, kind, numbered(n), count, seed)
}

func sampleOf(t *testing.T, kind string, s source.Source, count int, seed bench.Seed) []int {
	t.Helper()
	o, err := openOrder(kind, s, seed)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int, count)
	for i := range out {
		e, err := o.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out[i] = e.Number
	}
	return out
}

// A stream that fits into the window has the orders of an indexed source.
func TestStreamInWindow(t *testing.T) {
	for _, k := range Samplings() {
		if diff := cmp.Diff(sample(t, k.Name, 100, 250, 7), sampleOf(t, k.Name, stream{numbered(100)}, 250, 7)); diff != "" {
			t.Errorf("%s (-indexed +stream):\n%s", k.Name, diff)
		}
	}
}

// Of a longer stream, every pass returns each entry once, from within the window.
func TestStreamBeyondWindow(t *testing.T) {
	const n = windowEntries + 1000
	for _, kind := range []string{"random", "shuffle"} {
		got := sampleOf(t, kind, stream{numbered(n)}, 2*n, 7)
		for pass := range slices.Chunk(got, n) {
			for i, v := range pass {
				if v >= i+windowEntries {
					t.Fatalf("%s: entry %d at place %d, want one of the next %d", kind, v, i, windowEntries)
				}
			}
			slices.Sort(pass)
			if pass[0] != 0 || pass[n-1] != n-1 || len(slices.Compact(pass)) != n {
				t.Errorf("%s: a pass is no permutation", kind)
			}
		}
	}
}

func TestSequentialWraps(t *testing.T) {
	if diff := cmp.Diff([]int{0, 1, 2, 0, 1, 2, 0}, sample(t, "sequential", 3, 7, 1)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestShuffleIsAPermutationEachPass(t *testing.T) {
	const n = 50
	got := sample(t, "shuffle", n, 4*n, 1)
	var passes [][]int
	for pass := range slices.Chunk(got, n) {
		sorted := slices.Sorted(slices.Values(pass))
		for i, v := range sorted {
			if i != v {
				t.Fatalf("pass %v is no permutation of 0 to %d", pass, n-1)
			}
		}
		for _, other := range passes {
			if slices.Equal(pass, other) {
				t.Errorf("two passes have the same order %v", pass)
			}
		}
		passes = append(passes, pass)
	}
}

// Every entry must be equally likely at every place of a pass.
func TestShuffleIsUniform(t *testing.T) {
	const n, passes = 5, 20_000
	var counts [n][n]float64
	for i, v := range sample(t, "shuffle", n, n*passes, 3) {
		counts[i%n][v]++
	}
	checkUniform(t, counts[:], passes)
}

func TestRandomIsUniform(t *testing.T) {
	const n, draws = 5, 100_000
	var counts [1][n]float64
	for _, v := range sample(t, "random", n, draws, 3) {
		counts[0][v]++
	}
	checkUniform(t, counts[:], draws)
}

func checkUniform(t *testing.T, counts [][5]float64, total float64) {
	t.Helper()
	for place, row := range counts {
		for v, c := range row {
			if want, tol := total/5, 4*math.Sqrt(total*0.2*0.8); math.Abs(c-want) > tol {
				t.Errorf("place %d: entry %d was drawn %v times, want %v ± %v", place, v, c, want, tol)
			}
		}
	}
}

func TestSamplerSeeds(t *testing.T) {
	for _, kind := range []string{"random", "shuffle"} {
		a := sample(t, kind, 100, 250, 7)
		if diff := cmp.Diff(a, sample(t, kind, 100, 250, 7)); diff != "" {
			t.Errorf("%s: the same seed gives another order:\n%s", kind, diff)
		}
		if cmp.Equal(a, sample(t, kind, 100, 250, 8)) {
			t.Errorf("%s: seeds 7 and 8 give the same order", kind)
		}
	}
	// A recorded seed must always give these orders.
	if diff := cmp.Diff([]int{2, 3, 4, 0, 1, 0, 3, 2, 1, 4}, sample(t, "shuffle", 5, 10, 42)); diff != "" {
		t.Errorf("shuffle (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{37, 39, 66, 40, 37}, sample(t, "random", 100, 5, 42)); diff != "" {
		t.Errorf("random (-want +got):\n%s", diff)
	}
}

func TestSamplerOfOne(t *testing.T) {
	for _, k := range Samplings() {
		if diff := cmp.Diff([]int{0, 0, 0}, sample(t, k.Name, 1, 3, 1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.Name, diff)
		}
	}
}

func TestUnknownSampling(t *testing.T) {
	if _, err := openOrder("zigzag", numbered(1), 0); err == nil || !strings.Contains(err.Error(), "accepted: sequential, random, shuffle") {
		t.Errorf("error of an unknown kind = %v", err)
	}
}
