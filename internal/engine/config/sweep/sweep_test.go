package sweep

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// read decodes a document with the blocks of this package and checks them.
func read(t *testing.T, text string) (Block, MultiRun, error) {
	t.Helper()
	root, _, err := tree.Parse([]byte(text), tree.YAML, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var report problem.Report
	d := schema.NewDecoder(&report, schema.DecodeOptions{Lists: func(string) []schema.Choice {
		return []schema.Choice{{Name: "request_latency"}} // metrics
	}})
	doc := struct {
		Sweep    Block    `json:"sweep"`
		MultiRun MultiRun `json:"multiRun"`
	}{NewBlock(), NewMultiRun()}
	d.Document(root, &doc)
	doc.Sweep.Check(d)
	doc.MultiRun.Check(d, root.Get("sweep") != nil, doc.Sweep.Type == Adaptive)
	return doc.Sweep, doc.MultiRun, report.Err()
}

// Every type of sweep gives its variations in order, with AIPerf's labels and folders.
func TestExpand(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"grid: paths sorted, the last one fastest", `
sweep: {type: grid, parameters: {phases.profiling.concurrency: [1, 2], datasets.main.prompts.isl.mean: [10, 20]}}`, `
isl_10__concurrency_1: datasets.main.prompts.isl.mean=10, phases.profiling.concurrency=1
isl_10__concurrency_2: datasets.main.prompts.isl.mean=10, phases.profiling.concurrency=2
isl_20__concurrency_1: datasets.main.prompts.isl.mean=20, phases.profiling.concurrency=1
isl_20__concurrency_2: datasets.main.prompts.isl.mean=20, phases.profiling.concurrency=2`},
		{"zip", `
sweep: {type: zip, parameters: {rate: [1.5, 2], variables.mode: [a/b, "c d"]}}`, `
rate_1.5__mode_ab: rate=1.5, variables.mode=a/b
rate_2__mode_c d: rate=2, variables.mode=c d`},
		{"scenarios", `
sweep: {type: scenarios, runs: [{name: small, values: {concurrency: 1}}, {name: "..", benchmark: {phases: []}, variables: {x: 1}}]}`, `
small: small
variation_1: ..`},
		{"sampled", `
sweep: {type: sobol, samples: 4, scramble: false, dimensions: [{path: concurrency, lo: 1, hi: 9, kind: int}, {path: isl, lo: 10, hi: 1000, scale: log}, {path: mode, choices: [a, b]}], labelFormat: kv}`, `
concurrency_1__isl_10__mode_a: concurrency=1, isl=10, mode=a
concurrency_5__isl_100__mode_b: concurrency=5, isl=100, mode=b
concurrency_7__isl_31.6227766017__mode_a: concurrency=7, isl=31.6227766017, mode=a
concurrency_3__isl_316.227766017__mode_b: concurrency=3, isl=316.227766017, mode=b`},
		{"sampled points can be equal", `
sweep: {type: sobol, samples: 4, scramble: false, dimensions: [{path: concurrency, lo: 1, hi: 2, kind: int}], labelFormat: kv}`, `
concurrency_1: concurrency=1
concurrency_2: concurrency=2
concurrency_2_2: concurrency=2
concurrency_1_2: concurrency=1`},
	} {
		b, _, err := read(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		for i, v := range b.Expand(42) {
			got += "\n" + v.Folder + ": " + v.Label
			if v.Index != i {
				t.Errorf("%s: variation %d has index %d", c.name, i, v.Index)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// All problems of the blocks are found, each at its place.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`sweep: {parameters: {a: [1]}}`, "sweep: type is required"},
		{`sweep: {type: random}`, "must be grid, zip"},
		{`sweep: {type: grid}`, "needs at least one path"},
		{`sweep: {type: grid, parameters: {a: []}}`, "sweep/parameters/a: needs at least one value"},
		{`sweep: {type: grid, parameters: {a: 1}}`, "must be a list of values"},
		{`sweep: {type: grid, parameters: {a: [2, 2]}}`, "a: the value 2 is given twice"},
		{`sweep: {type: zip, parameters: {a: [1, 2], b: [1]}}`, "zip takes lists of equal length; this one has 1 values and that of a has 2"},
		{`sweep: {type: zip, parameters: {a: [1, 1], b: [3, 3]}}`, "the variation [1,3] is given twice"},
		{`sweep: {type: grid, runs: [{name: a}], parameters: {a: [1]}}`, "a sweep of type grid has no runs"},
		{`sweep: {type: scenarios, runs: [{name: a}, {name: a}]}`, `the name "a" is given twice`},
		{`sweep: {type: scenarios}`, "needs 1 to 1000 runs"},
		{`sweep: {type: scenarios, runs: [{name: a, extra: 1}]}`, `unknown field "extra"`},
		{`sweep: {type: sobol}`, "samples is required"},
		{`sweep: {type: sobol, samples: 1, dimensions: [{path: a, lo: 0, hi: 1}]}`, "must be at least 2"},
		{`sweep: {type: sobol, samples: 2, dimensions: [{path: a, lo: 2, hi: 1}]}`, "the lower end 2 must be less than the upper end 1"},
		{`sweep: {type: sobol, samples: 2, dimensions: [{path: a, lo: 0, hi: 1, scale: log}]}`, "must be greater than 0 with scale log"},
		{`sweep: {type: sobol, samples: 2, dimensions: [{path: a, lo: 0.1, hi: 0.9, kind: int}]}`, "no whole number"},
		{`sweep: {type: sobol, samples: 2, dimensions: [{path: a, lo: 0, choices: [1]}]}`, "choices replace lo"},
		{`sweep: {type: sobol, samples: 2, dimensions: [{path: a}]}`, "lo and hi are required"},
		{`sweep: {type: grid, parameters: {a: [1]}, slaFilters: [{metricTag: request_latency, op: lt}]}`, "threshold is required"},
		{`sweep: {type: grid, parameters: {a: [1]}, onFailure: abort, maxFailures: 2}`, "ends the sweep at the first failure"},
		{`multiRun: {numRuns: 11}`, "must be at most 10"},
		{`multiRun: {cooldownSeconds: 1}`, "needs more than one run"},
		{`multiRun: {setConsistentSeed: false}`, "needs more than one run or a sweep"},
		{`multiRun: {convergence: {metric: request_latency}}`, "needs more than one run"},
		{`multiRun: {numRuns: 3, convergence: {}}`, "metric is required"},
		{`multiRun: {numRuns: 3, convergence: {metric: nonsense}}`, "unknown metric. docs/metrics.md lists all metrics"},
	} {
		_, _, err := read(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %q", c.text, err, c.want)
		}
	}
	_, _, err := read(t, `sweep: {type: grid, parameters: {a: [`+strings.Repeat("1,", 2)+`3], b: [`+numbers(400)+`]}}`)
	if err == nil || !strings.Contains(err.Error(), "at most 1000 variations") {
		t.Errorf("1200 variations: %v", err)
	}
}

func numbers(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, ",")
}

// The defaults are AIPerf's.
func TestDefaults(t *testing.T) {
	b, m, err := read(t, `
sweep: {type: grid, parameters: {a: [1]}, slaFilters: [{metricTag: request_latency, op: lt, threshold: 5}]}
multiRun: {numRuns: 3, convergence: {metric: request_latency}}`)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Convergence
	got := fmt.Sprintln(b.IterationOrder, b.OnFailure, b.SLAFilters[0].Stat, m.ConfidenceLevel, c.Mode, c.Stat, c.MinRuns, c.Limit())
	if want := "repeated continue p95 0.95 ci_width avg 2 0.1\n"; got != want {
		t.Errorf("defaults %q, want %q", got, want)
	}
}

// The mode precision has defaults of its own.
func TestPreciseDefaults(t *testing.T) {
	_, m, err := read(t, "multiRun: {numRuns: 10, convergence: {metric: request_latency, mode: precision}}")
	if err != nil {
		t.Fatal(err)
	}
	c := m.Convergence
	if got, want := fmt.Sprintln(c.Mode, c.Stat, c.MinRuns, c.Limit()), "precision avg 3 0.05\n"; got != want {
		t.Errorf("defaults %q, want %q", got, want)
	}
}

// Without a scramble the points are those of the published sequence; the test values are
// those of scipy.
func TestSobolSequence(t *testing.T) {
	points := sobol(128, 21, false, nil)
	want := []int{53, 33, 99, 93, 113, 95, 3, 61, 81, 89, 59, 87, 61, 109, 41, 63, 87, 95, 107, 43, 97}
	for j, w := range want {
		if got := int(points[100][j] * 128); got != w {
			t.Errorf("point 100, dimension %d: %d/128, want %d/128", j, got, w)
		}
	}
}

// A sampled design has one point in each of n intervals of every dimension; a seed gives
// the same points again.
func TestDesigns(t *testing.T) {
	const n = 64
	lloyd := "lloyd"
	none := "none"
	dims := make([]Dimension, 5)
	for _, b := range []Block{
		{Type: Sobol, Samples: n, Dimensions: dims},
		{Type: LatinHypercube, Samples: n, Dimensions: dims},
		{Type: LatinHypercube, Samples: n, Dimensions: dims, Optimization: &none},
	} {
		points := b.Points(1)
		for j := range dims {
			seen := make(map[int]bool)
			for _, p := range points {
				seen[int(p[j]*n)] = true
			}
			if len(seen) != n {
				t.Errorf("%s: dimension %d has points in %d of %d intervals", b.Type, j, len(seen), n)
			}
		}
		if diff := cmp.Diff(points, b.Points(1)); diff != "" {
			t.Errorf("%s: another design for the same seed", b.Type)
		}
		if cmp.Equal(points, b.Points(2)) {
			t.Errorf("%s: the same design for another seed", b.Type)
		}
	}
	plain := Block{Type: LatinHypercube, Samples: n, Dimensions: dims[:2], Optimization: &none}
	better := Block{Type: LatinHypercube, Samples: n, Dimensions: dims[:2]}
	even := Block{Type: LatinHypercube, Samples: n, Dimensions: dims[:2], Optimization: &lloyd}
	if a, b := discrepancy(plain.Points(1)), discrepancy(better.Points(1)); !(b < a) {
		t.Errorf("random-cd does not lower the discrepancy: %v, without %v", b, a)
	}
	if a, b := closest(plain.Points(1)), closest(even.Points(1)); !(b > 2*a) {
		t.Errorf("lloyd does not spread the points: the closest are at %v, without at %v", b, a)
	}
}

// closest returns the smallest distance between two points.
func closest(points [][]float64) float64 {
	best := math.Inf(1)
	for i, a := range points {
		for _, b := range points[:i] {
			best = min(best, math.Hypot(a[0]-b[0], a[1]-b[1]))
		}
	}
	return best
}
