package app

import (
	"slices"
	"testing"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
)

// trialsOf returns the runs of a command line of profile.
func trialsOf(t *testing.T, url string, more ...string) *Trials {
	t.Helper()
	f, err := flags.Parse(append([]string{
		"--url", url, "--model", "m", "--tokenizer", "builtin", "--isl", "8", "--osl", "4", "--request-count", "4",
		"--num-profile-runs", "2",
	}, more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Options.Choices = plan.Choices()
	document, _, err := f.Document()
	if err != nil {
		t.Fatal(err)
	}
	trials, err := NewTrials(TrialOptions{Document: document})
	if err != nil {
		t.Fatal(err)
	}
	return trials
}

// seedsOf returns the seeds of the first runs.
func seedsOf(t *testing.T, trials *Trials, runs int) []int64 {
	t.Helper()
	var out []int64
	for range runs {
		document, _, err := trials.cell()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *document.RandomSeed)
		trials.taken++
	}
	trials.taken = 0
	return out
}

// Every measurement has prompts of its own, each of its runs too; a seed in the document makes all of them the same.
func TestTrialSeeds(t *testing.T) {
	first, second := seedsOf(t, trialsOf(t, "a:1"), 3), seedsOf(t, trialsOf(t, "a:1"), 3)
	seen := map[int64]bool{}
	for _, seed := range slices.Concat(first, second) {
		if seen[seed] || seed < 0 {
			t.Errorf("seeds %v and %v, want six different ones, none negative", first, second)
		}
		seen[seed] = true
	}
	given := seedsOf(t, trialsOf(t, "a:1", "--random-seed", "42"), 3)
	if again := seedsOf(t, trialsOf(t, "a:1", "--random-seed", "42"), 3); !slices.Equal(given, again) || given[0] == given[1] {
		t.Errorf("seeds %v and %v of --random-seed 42, want the same, of different runs", given, again)
	}
}

// Sides without a server in common send the same prompts, run by run; sides of one server do not, since the second
// would find those of the first in its cache. What documents give stays.
func TestInterleavedSeeds(t *testing.T) {
	seed := func(n string) []string { return []string{"--random-seed", n} }
	for _, c := range []struct {
		name             string
		urlA, urlB       string
		givenA, givenB   []string
		equal            bool
		wantBaseA, baseB int64 // 0 = drawn
	}{
		{"two servers", "a:1", "b:1", nil, nil, true, 0, 0},
		{"one server", "a:1", "a:1", nil, nil, false, 0, 0},
		{"two servers, one seed", "a:1", "b:1", nil, seed("7"), true, 7, 7},
		{"one server, one seed", "a:1", "a:1", seed("7"), nil, false, 7, 0},
		{"two servers, two seeds", "a:1", "b:1", seed("7"), seed("8"), false, 7, 8},
		{"one server, the same seeds", "a:1", "a:1", seed("7"), seed("7"), true, 7, 7},
	} {
		m := &Interleaved{A: trialsOf(t, c.urlA, c.givenA...), B: trialsOf(t, c.urlB, c.givenB...)}
		if _, err := m.foresee(compare.Question{}); err != nil {
			t.Fatal(err)
		}
		a, b := seedsOf(t, m.A, 2), seedsOf(t, m.B, 2)
		if slices.Equal(a, b) != c.equal {
			t.Errorf("%s: seeds %v and %v, want equal: %v", c.name, a, b, c.equal)
		}
		if c.wantBaseA != 0 && m.A.Seed() != c.wantBaseA || c.baseB != 0 && m.B.Seed() != c.baseB {
			t.Errorf("%s: bases %d and %d, want %d and %d", c.name, m.A.Seed(), m.B.Seed(), c.wantBaseA, c.baseB)
		}
	}
}
