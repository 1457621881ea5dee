package search

import (
	"slices"
	"testing"

	"aiperfd/internal/study/cell"
)

// What a search found is said in sentences, the recommendation first.
func TestFindings(t *testing.T) {
	find := func(o Options, measure func(cell.Variation, string) cell.Outcome) []string {
		s := &Search{Planner: New(o), Options: o}
		done, _ := perform(t, s, measure)
		return s.Findings(done)
	}
	exact, distorted := queueing(1, 0), func(v cell.Variation, p string) cell.Outcome {
		o := queueing(1, 0).measure(v, p)
		o.Trials[0].Metric("time_to_first_token").Doubt = &cell.Doubt{Invalid: true}
		o.Trials[0].Metrics[0].Stats["count"] = 50
		return o
	}
	spent := boundaryOptions(Monotonic, 1000, 100)
	spent.Iterations = 3
	tiers := boundaryOptions(Tiered, 60, 0)
	tiers.Filters = nil
	tiers.Tiers = []Tier{
		{"gold", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "le", Threshold: 50}}},
		{"any", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 5000}}},
	}
	for _, c := range []struct {
		name    string
		options Options
		measure func(cell.Variation, string) cell.Outcome
		want    []string
	}{
		{"boundary", boundaryOptions(Isotonic, 64, 100), exact.measure, []string{
			"Highest concurrency within the limits: 29 (at 30: time_to_first_token p95 101 ms, limit < 100 ms). 95 % confidence interval of the boundary: 29 to 30."}},
		{"no pass", boundaryOptions(Isotonic, 64, 1), exact.measure, []string{
			"No measured concurrency is within the limits (at 1: time_to_first_token p95 21.54 ms, limit < 1 ms)."}},
		{"no failure", boundaryOptions(Monotonic, 64, 1e6), exact.measure, []string{"Highest concurrency within the limits: 64, the largest value of the search."}},
		{"budget", spent, exact.measure, []string{
			"Highest concurrency within the limits: 4, the largest value measured.", "The search ended after 3 values, its maximum."}},
		{"distorted and short", boundaryOptions(Monotonic, 64, 21), distorted, []string{
			"No measured concurrency is within the limits (at 1: time_to_first_token p95 21.54 ms, limit < 21 ms).",
			"Load generator verdict invalid for the probe that violates a limit: the boundary may be that of the load generator, not of the server.",
			"2 of 2 probes had too few requests for a percentile with a limit."}},
		{"another number distorted", boundaryOptions(Monotonic, 64, 1e6), func(v cell.Variation, p string) cell.Outcome {
			o := queueing(1, 0).measure(v, p)
			o.Trials[0].Metrics = append(o.Trials[0].Metrics, cell.Metric{Tag: "inter_chunk_latency", Doubt: &cell.Doubt{Invalid: true}})
			return o
		}, []string{"Highest concurrency within the limits: 64, the largest value of the search."}},
		{"tiers", tiers, exact.measure, []string{
			"gold: Highest concurrency within the limits: 14 (at 15: time_to_first_token p95 51.5 ms, limit <= 50 ms).",
			"any: Highest concurrency within the limits: 60, the largest value of the search."}},
	} {
		if got := find(c.options, c.measure); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
	best := boundaryOptions(Bayesian, 64, 1)
	best.Iterations = 6
	want := []string{
		"Best: concurrency 51 with output_token_throughput avg 5514; no probe is within all limits.", "The search ended after 6 values, its maximum."}
	if got := find(best, exact.measure); !slices.Equal(got, want) {
		t.Errorf("optimum: %q, want %q", got, want)
	}
}
