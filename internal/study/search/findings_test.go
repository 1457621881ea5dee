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
			"concurrency 29 is the highest value that keeps all limits; 30 breaks time_to_first_token p95 < 100 (101). 95 % interval of the boundary: 29 to 30."}},
		{"no pass", boundaryOptions(Isotonic, 64, 1), exact.measure, []string{
			"No value keeps all limits: concurrency 1 breaks time_to_first_token p95 < 1 (21.54)."}},
		{"no failure", boundaryOptions(Monotonic, 64, 1e6), exact.measure, []string{"concurrency 64, the highest value, keeps all limits."}},
		{"budget", spent, exact.measure, []string{
			"concurrency 4 keeps all limits; no value was found that does not.", "The search ended because its budget of 3 values was spent."}},
		{"distorted and short", boundaryOptions(Monotonic, 64, 21), distorted, []string{
			"No value keeps all limits: concurrency 1 breaks time_to_first_token p95 < 21 (21.54).",
			"The load generator distorted the probe that breaks a limit: the boundary may be its own and not that of the server.",
			"2 of 2 probes had too few requests for a percentile that has a limit."}},
		{"another number distorted", boundaryOptions(Monotonic, 64, 1e6), func(v cell.Variation, p string) cell.Outcome {
			o := queueing(1, 0).measure(v, p)
			o.Trials[0].Metrics = append(o.Trials[0].Metrics, cell.Metric{Tag: "inter_chunk_latency", Doubt: &cell.Doubt{Invalid: true}})
			return o
		}, []string{"concurrency 64, the highest value, keeps all limits."}},
		{"tiers", tiers, exact.measure, []string{
			"gold: concurrency 14 is the highest value that keeps all limits; 15 breaks time_to_first_token p95 <= 50 (51.5).",
			"any: concurrency 60, the highest value, keeps all limits."}},
	} {
		if got := find(c.options, c.measure); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
	best := boundaryOptions(Bayesian, 64, 1)
	best.Iterations = 6
	want := []string{
		"Best: concurrency 51 with output_token_throughput avg 5514; no probe keeps all limits.", "The search ended because its budget of 6 values was spent."}
	if got := find(best, exact.measure); !slices.Equal(got, want) {
		t.Errorf("optimum: %q, want %q", got, want)
	}
}
