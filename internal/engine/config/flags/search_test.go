package flags

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/search"
)

// Every recipe becomes a valid block, and every option of it changes the block.
func TestRecipes(t *testing.T) {
	for _, line := range []string{
		"max-throughput-ttft-sla --ttft-sla-ms 200 + --ttft-sla-ms=100 --concurrency-min=2 --concurrency-max=64 --search-max-iterations=12 --search-initial-points=3 --search-random-seed=9 --search-sla=request_latency:p99:lt:900",
		"max-throughput-itl-sla --itl-sla-ms 30 + --itl-sla-ms=20",
		"max-throughput-itl-sla --tpot-sla-ms 30 + --tpot-sla-ms=20",
		"max-concurrency-under-sla --e2e-sla-ms 3000 + --e2e-sla-ms=2 --ttft-sla-ms=200 --itl-sla-ms=20 --tpot-sla-ms=20 --error-rate-sla=0.01 --search-style=monotonic --search-style=bo --search-style=optuna --search-style=grid",
		"max-concurrency-under-sla --e2e-sla-ms 3000 --search-style grid + --concurrency-steps=4 --concurrency-max=8",
		"max-rate-under-sla --ttft-sla-ms 200 + --rate-min=2 --rate-max=64 --search-style=grid --search-max-iterations=7",
		"max-rate-under-sla --ttft-sla-ms 200 --search-style grid + --rate-steps=4",
		"max-goodput-under-slo --ttft-sla-ms 500 --itl-sla-ms 15 --e2e-sla-ms 2000 + --slo-attainment-fraction=0.9 --concurrency-max=9",
		"concurrency-ramp + --concurrency-steps=4 --degradation-threshold=0.5 --degradation-metric-tag=time_to_first_token --degradation-stat=p95",
		"prefill-ttft-curve + --isl-min=64 --isl-max=512 --isl-steps=3",
		"decode-itl-curve + --osl-min=32 --osl-max=128 --osl-steps=2 --concurrency-max=10 --concurrency-steps=3",
		"pareto-sweep --isl-osl-pairs 128/128,256/64 + --isl-osl-pairs=1/1,2/2 --concurrency=1,8",
	} {
		words, more, _ := strings.Cut(line, " + ")
		argv := append([]string{"--streaming", "--search-recipe"}, strings.Fields(words)...)
		base := blockText(t, argv)
		for option := range strings.FieldsSeq(more) {
			if changed := blockText(t, replaced(argv, option)); changed == base {
				t.Errorf("%s: %s changes nothing", words, option)
			}
		}
	}
}

// replaced returns argv without an option of the same name, and with the new one.
func replaced(argv []string, option string) []string {
	name, _, _ := strings.Cut(option, "=")
	var out []string
	for i := 0; i < len(argv); i++ {
		if argv[i] == name {
			i++
			continue
		}
		out = append(out, argv[i])
	}
	return append(out, option)
}

// blockText returns the block of a command line, with the objectives of requests.
func blockText(t *testing.T, argv []string) string {
	t.Helper()
	d := mustFlags(t, argv...)
	text, err := json.Marshal([]any{d.Sweep, d.Benchmark.SLOs})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The options of a search become its block. Its probes are as long as they must be unless
// their length is given.
func TestSearchOptions(t *testing.T) {
	argv := []string{"--search-space", "phases.profiling.concurrency:1,64:int", "--search-space", "phases.profiling.rate:0.5,8",
		"--search-metric", "output_token_throughput", "--search-stat", "p50", "--search-direction", "maximize", "--search-max-iterations", "12",
		"--search-sla", "time_to_first_token:p95:lt:200,request_error_rate:avg:le:1", "--request-rate", "2"}
	d := mustFlags(t, argv...)
	o := search.OptionsOf(d.Study())
	want := search.Options{
		Algorithm: search.Bayesian, Iterations: 12, Initial: 5, Patience: 10, PlateauWindow: 8, PlateauThreshold: 0.01, Stability: 2,
		Space: []search.Dimension{
			{Path: "phases.profiling.concurrency", Lo: 1, Hi: 64, Integer: true}, {Path: "phases.profiling.rate", Lo: 0.5, Hi: 8}},
		Objectives: []search.Objective{{Metric: "output_token_throughput", Stat: "p50", Maximize: true}},
		Filters: []sweep.Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 200},
			{MetricTag: "request_error_rate", Stat: "avg", Op: "le", Threshold: 1}},
		Seed: 42, Sizing: sweep.Sizing{Precision: sweep.Normal},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("options differ (-want +got):\n%s", diff)
	}
	if o = search.OptionsOf(mustFlags(t, append(argv, "--request-count", "77")...).Study()); !o.Sizing.Given {
		t.Error("a given number of requests is replaced")
	}
	tiers := mustFlags(t, "--search-space", "concurrency:1,64:int", "--search-max-iterations", "20",
		"--search-sla-tier", "gold:request_latency:p99:lt:200,request_error_rate:avg:lt:1", "--search-sla-tier", "request_latency:p99:lt:900")
	if got := search.OptionsOf(tiers.Study()).Tiers; len(got) != 2 || got[0].Label != "gold" || len(got[0].Filters) != 2 || got[1].Label != "tier_1" {
		t.Errorf("tiers = %+v", got)
	}
	grid := mustFlags(t, "--concurrency", "1,2", "--search-sla", "request_latency:p99:lt:200")
	if got := grid.Sweep.SLAFilters; len(got) != 1 || got[0].Threshold != 200 {
		t.Errorf("filters of a grid = %+v", got)
	}
	for _, argv := range [][]string{{"--concurrency", "1,2"}, {"--request-rate", "1,2"}, {"--search-recipe", "concurrency-ramp"}} {
		d := mustFlags(t, append(argv, "--sweep-stop-when", "request_latency:p99:gt:2000", "--sweep-stop-when", "request_error_rate:avg:gt:1")...)
		if got := d.Sweep.StopWhen; len(got) != 2 || got[0].Threshold != 2000 || got[1].MetricTag != "request_error_rate" {
			t.Errorf("%v: conditions = %+v", argv, got)
		}
	}
}

// A variation of a search with automatic requests has as many as it needs, and as many
// conversations.
func TestAutoRequests(t *testing.T) {
	study := mustFlags(t, "--streaming", "--search-recipe", "max-concurrency-under-sla", "--ttft-sla-ms", "5").Study()
	for i, want := range []int64{1000, 30_000} {
		d, _, err := study.Cell(&study.Checked()[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := *d.Benchmark.Phases[0].Requests; got != want || int64(d.Benchmark.Datasets[0].Entries) != want {
			t.Errorf("%d requests of %d conversations, want %d", got, d.Benchmark.Datasets[0].Entries, want)
		}
	}
	rates := mustFlags(t, "--search-recipe", "max-rate-under-sla", "--e2e-sla-ms", "5", "--concurrency", "64").Study()
	for i, want := range []int64{1920, 30_000} { // 30 per concurrent session, or 30 s
		d, _, err := rates.Cell(&rates.Checked()[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		if p := d.Benchmark.Phases[0]; *p.Requests != want || p.Type != "poisson" || *p.Rate != []float64{1, 1000}[i] || *p.Concurrency != 64 {
			t.Errorf("%d requests of type %s at rate %v and concurrency %d, want %d", *p.Requests, p.Type, *p.Rate, *p.Concurrency, want)
		}
	}
	ramp := mustFlags(t, "--search-recipe", "concurrency-ramp", "--concurrency-max", "100", "--concurrency-steps", "2").Study()
	d, _, err := ramp.Cell(&ramp.Variations[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := *d.Benchmark.Phases[0].Requests; got != 3000 {
		t.Errorf("a grid at concurrency 100 has %d requests, want 3000", got)
	}
}

// Options that contradict a recipe or a search, or have none, are reported by name.
func TestSearchProblems(t *testing.T) {
	for _, c := range []struct{ argv, want string }{
		{"--ttft-sla-ms 5", "--ttft-sla-ms: needs --search-recipe"},
		{"--search-style grid --isl-min 4", "--search-style: needs --search-recipe\n--isl-min: needs --search-recipe"},
		{"--search-metric goodput", "--search-metric: needs --search-space"},
		{"--search-planner bayesian", "--search-planner: needs a sweep, for example --concurrency 1,2,4, or --search-recipe"},
		{"--search-sla request_latency:p99:lt:5", "--search-sla: needs a sweep or a search, for example --concurrency 1,2,4, or --search-recipe"},
		{"--search-sla request_latency:lt:5 --concurrency 1,2", `--search-sla: must be metric:statistic:operator:threshold, for example time_to_first_token:p95:lt:200, not "request_latency:lt:5"`},
		{"--search-recipe best", "--search-recipe: must be one of max-throughput-ttft-sla, max-throughput-itl-sla, max-concurrency-under-sla, max-rate-under-sla, max-goodput-under-slo, concurrency-ramp, prefill-ttft-curve, decode-itl-curve, pareto-sweep, not best"},
		{"--search-recipe concurrency-ramp --search-metric goodput --ttft-sla-ms 5", "--search-metric: conflicts with --search-recipe, which defines the search\n--ttft-sla-ms: the recipe concurrency-ramp does not use it"},
		{"--search-recipe max-throughput-ttft-sla --ttft-sla-ms 5", "--search-recipe: the recipe max-throughput-ttft-sla measures tokens as they arrive and needs --streaming"},
		{"--search-recipe concurrency-ramp --concurrency 4", "--concurrency: conflicts with --search-recipe, which varies phases.profiling.concurrency"},
		{"--search-recipe concurrency-ramp --concurrency 4,5", "--concurrency: conflicts with --search-recipe, which varies phases.profiling.concurrency"},
		{"--search-recipe concurrency-ramp --isl 4,5", "--isl: a list of values conflicts with --search-recipe"},
		{"--search-recipe concurrency-ramp --search-max-iterations 5", "--search-max-iterations: the recipe concurrency-ramp does not use it"},
		{"--search-recipe max-rate-under-sla --e2e-sla-ms 5 --request-rate 4", "--request-rate: conflicts with --search-recipe, which varies phases.profiling.rate"},
		{"--streaming --search-recipe max-goodput-under-slo --ttft-sla-ms 5 --itl-sla-ms 5 --e2e-sla-ms 5 --goodput ttft:5", "--goodput: conflicts with --search-recipe, which sets the objectives itself"},
		{"--search-space concurrency:1,8:int", "objectives is required"},
		{"--search-space concurrency:10,1:int --search-max-iterations 5 --search-metric goodput --search-direction maximize", "--search-space: the lower end 10 must be less than the upper end 1"},
		{"--search-space concurrency:1,8:int --search-max-iterations 5 --search-metric goodput", "--search-space: needs --search-direction"},
		{"--sweep-stop-when request_latency:p99:gt:2000", "--sweep-stop-when: needs a sweep over the load, for example --concurrency 1,2,4"},
		{"--isl 10,20 --sweep-stop-when request_latency:p99:gt:2000", "--sweep-stop-when: needs a sweep over the load: concurrency, prefill_concurrency, rate, session_rate or users"},
		{"--concurrency 1,2 --sweep-stop-when request_latency:p99:gt:2000,foo:p99:gt:1", "--sweep-stop-when foo: unknown metric. docs/metrics.md"},
		{"--concurrency 1,2 --search-sla foo:p99:gt:1", "--search-sla foo: unknown metric. docs/metrics.md"},
		{"--concurrency 1,2 --sweep-stop-when p99>2000", "--sweep-stop-when: must be metric:statistic:operator:threshold"},
		{"--streaming --search-recipe max-concurrency-under-sla --ttft-sla-ms 5 --sweep-stop-when request_latency:p99:gt:2000",
			"--sweep-stop-when: a sweep of type adaptive_search has no --sweep-stop-when; it is for grid, zip, scenarios, sobol or latin_hypercube"},
		{"--search-space concurrency:1-8", `--search-space: must be path:low,high or path:low,high:int, for example phases.profiling.concurrency:1,256:int, not "concurrency:1-8"`},
	} {
		_, _, err := flagsDocument(t, nil, strings.Fields(c.argv)...)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "searchSpace is required") {
			t.Errorf("%s:\n%v\nwant:\n%s", c.argv, err, c.want)
		}
	}
}
