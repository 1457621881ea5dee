package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func sample(t *testing.T, kind string, n, count int, seed bench.Seed) []int {
	t.Helper()
	s, err := NewSampler(kind, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int, count)
	for i := range out {
		out[i] = s.Next()
	}
	return out
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
	for _, k := range Samplers() {
		if diff := cmp.Diff([]int{0, 0, 0}, sample(t, k.Name, 1, 3, 1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.Name, diff)
		}
	}
}

func TestNewSamplerRefuses(t *testing.T) {
	if _, err := NewSampler("zigzag", 1, 0); err == nil || !strings.Contains(err.Error(), "accepted: sequential, random, shuffle") {
		t.Errorf("error of an unknown kind = %v", err)
	}
	if _, err := NewSampler("random", 0, 0); err == nil || !strings.Contains(err.Error(), "at least one") {
		t.Errorf("error of no entries = %v", err)
	}
}
