package flags

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func expandRecipe(t *testing.T, name string, streaming bool, options ...string) *expansion {
	t.Helper()
	given := make(map[string]string)
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		given[k] = v
	}
	for _, r := range recipes() {
		if r.name == name {
			return r.expanded(given, streaming)
		}
	}
	t.Fatalf("no recipe %s", name)
	return nil
}

// What every recipe becomes.
func TestRecipeExpansions(t *testing.T) {
	var out strings.Builder
	for _, line := range []string{
		"max-throughput-ttft-sla ttft-sla-ms=200",
		"max-throughput-itl-sla tpot-sla-ms=30 concurrency-min=2 concurrency-max=64 search-max-iterations=12 search-random-seed=7",
		"max-concurrency-under-sla ttft-sla-ms=200 itl-sla-ms=20 e2e-sla-ms=5000 error-rate-sla=0.01",
		"max-concurrency-under-sla e2e-sla-ms=100 search-style=monotonic search-sla=output_token_throughput:avg:ge:50",
		"max-concurrency-under-sla e2e-sla-ms=100 search-style=bo search-initial-points=3",
		"max-concurrency-under-sla e2e-sla-ms=100 search-style=optuna",
		"max-concurrency-under-sla e2e-sla-ms=100 search-style=grid concurrency-max=100 concurrency-steps=5",
		"max-rate-under-sla ttft-sla-ms=200 rate-min=2 rate-max=64",
		"max-rate-under-sla e2e-sla-ms=100 search-style=grid rate-max=100 rate-steps=5",
		"max-rate-under-sla ttft-sla-ms=25 itl-sla-ms=10 search-style=capacity rate-min=0.5 rate-max=64 search-start=4 search-precision=0.1",
		"max-concurrency-under-sla e2e-sla-ms=900 search-style=capacity concurrency-max=64 search-max-iterations=16 search-random-seed=7 search-max-load-seconds=60",
		"max-goodput-under-slo ttft-sla-ms=500 itl-sla-ms=15 e2e-sla-ms=2000 slo-attainment-fraction=0.9",
		"concurrency-ramp",
		"concurrency-ramp concurrency-max=8 degradation-threshold=0.5 degradation-metric-tag=time_to_first_token degradation-stat=p95",
		"prefill-ttft-curve isl-max=1024 isl-steps=3",
		"decode-itl-curve osl-min=32 osl-max=128 osl-steps=2 concurrency-max=10 concurrency-steps=2",
		"pareto-sweep isl-osl-pairs=128/128,2048/512 concurrency=1,8",
	} {
		words := strings.Fields(line)
		e := expandRecipe(t, words[0], true, words[1:]...)
		if len(e.problems) > 0 {
			t.Errorf("%s: %v", line, e.problems)
		}
		text, err := json.MarshalIndent(e.sweep, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== %s\n%s\n", line, text)
		if e.slos != nil {
			fmt.Fprintf(&out, "slos %v\n", e.slos)
		}
	}
	name := filepath.Join("testdata", "expansions.txt")
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("expansions differ (-want +got):\n%s", diff)
	}
}

// Every problem names its option, and all are reported at once.
func TestRecipeProblems(t *testing.T) {
	for line, want := range map[string][]string{
		"max-throughput-ttft-sla": {": the recipe max-throughput-ttft-sla needs --ttft-sla-ms"},
		"max-throughput-ttft-sla ttft-sla-ms=-1 isl-min=5 search-style=grid": {
			"isl-min: the recipe max-throughput-ttft-sla does not use it", "search-style: the recipe max-throughput-ttft-sla does not use it",
			`ttft-sla-ms: must be a number greater than 0, not "-1"`},
		"max-throughput-itl-sla itl-sla-ms=5 tpot-sla-ms=6": {"tpot-sla-ms: is another name of --itl-sla-ms; the two have different values"},
		"max-concurrency-under-sla":                         {": the recipe max-concurrency-under-sla needs a limit: --ttft-sla-ms, --itl-sla-ms, --e2e-sla-ms, --error-rate-sla or --search-sla"},
		"max-rate-under-sla concurrency-max=9 rate-steps=4": {"concurrency-max: the recipe max-rate-under-sla does not use it",
			": the recipe max-rate-under-sla needs a limit: --ttft-sla-ms, --itl-sla-ms, --e2e-sla-ms, --error-rate-sla or --search-sla",
			"rate-steps: is for --search-style grid"},
		"max-concurrency-under-sla error-rate-sla=1 search-style=best concurrency-min=9 concurrency-max=9 search-initial-points=4": {
			`error-rate-sla: must be a number greater than 0 and less than 1, not "1"`,
			`search-style: must be one of smooth_isotonic, monotonic, bo, optuna, grid, capacity, not "best"`,
			"concurrency-min: --concurrency-min must be less than --concurrency-max: 9 to 9",
			"search-initial-points: the planner smooth_isotonic has no initial points"},
		"max-concurrency-under-sla e2e-sla-ms=5 search-style=grid search-max-iterations=5": {"search-max-iterations: a grid has nothing to search for"},
		"max-concurrency-under-sla search-sla=request_latency:p95:200": {
			`search-sla: must be metric:statistic:operator:threshold, for example time_to_first_token:p95:lt:200, not "request_latency:p95:200"`},
		"prefill-ttft-curve isl-steps=1 isl-min=x": {`isl-min: must be a whole number of at least 1, not "x"`, `isl-steps: must be a whole number of at least 2, not "1"`},
		"pareto-sweep isl-osl-pairs=1/2,1/2,3 concurrency=0": {
			"isl-osl-pairs: the pair 1/2 is given twice",
			`isl-osl-pairs: must be pairs of whole numbers greater than 0 such as 128/128,2048/512, not "3"`,
			`concurrency: must be whole numbers greater than 0, not "0"`},
		"pareto-sweep isl-osl-pairs=1/2 concurrency=4": {": the recipe pareto-sweep needs at least two points: several pairs in --isl-osl-pairs, or several values of --concurrency"},
	} {
		words := strings.Fields(line)
		e := expandRecipe(t, words[0], true, words[1:]...)
		var got []string
		for _, p := range e.problems {
			got = append(got, p.option+": "+p.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", line, diff)
		}
	}
	for name, want := range map[string]int{"max-throughput-ttft-sla": 1, "concurrency-ramp": 0} {
		given := strings.Fields(map[string]string{"max-throughput-ttft-sla": "ttft-sla-ms=5"}[name])
		if e := expandRecipe(t, name, false, given...); len(e.problems) != want {
			t.Errorf("%s without streaming: %v", name, e.problems)
		}
	}
	if e := expandRecipe(t, "max-concurrency-under-sla", false, "e2e-sla-ms=5"); len(e.problems) != 0 {
		t.Errorf("the latency of requests needs no streaming: %v", e.problems)
	}
}

// The notations of the command line are read without a panic, and what is not understood
// is refused.
func FuzzSearchNotations(f *testing.F) {
	for _, text := range []string{"a:p95:lt:1", "a.b:1,2:int", "a:b", ":::", "a:1,NaN", "x:y:z:1e999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if filter, err := parseFilter(text); err == nil && filter["metricTag"] == "" {
			t.Errorf("%q has no metric", text)
		}
		if d, err := parseDimension(text); err == nil {
			if _, err := json.Marshal(d); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
