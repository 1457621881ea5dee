package sweep

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
)

// A search gets the defaults that it was not given.
func TestSearchDefaults(t *testing.T) {
	b, _, err := read(t, `
sweep:
  type: adaptive_search
  max_iterations: 4
  search_space: [{path: phases.profiling.concurrency, lo: 1, hi: 64, kind: int, prior: log-uniform}]
  objectives: [{metric: request_latency, direction: MINIMIZE}]
  outcome_constraints: [{metric: request_latency, op: "<=", bound: 20}]`)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{b.Planner, b.InitialPoints, b.ImprovementPatience, b.PlateauWindow, b.SLAPrecision, b.Objectives[0], b.Boundary()}
	want := []any{Bayesian, 3, 10, 8, "normal", Objective{"request_latency", "avg", "minimize"}, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults differ (-want +got):\n%s", diff)
	}
}

// Every problem of a search is reported, at its place or, if something is missing, at that of its parent.
func TestSearchProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty": {`{type: adaptive_search}`, []string{"#/sweep", "#/sweep"}},
		"boundary without a filter": {`{type: adaptive_search, planner: smooth_isotonic, maxIterations: 20, searchSpace: [{path: rate, lo: 1, hi: 2, kind: real}]}`,
			[]string{"#/sweep", "#/sweep/searchSpace"}},
		"space": {`{type: adaptive_search, maxIterations: 20, nInitialPoints: 20, objectives: [{metric: request_latency, direction: minimize}],
  searchSpace: [{path: rate, lo: 2, hi: 1}, {path: rate, lo: 0, hi: 1, prior: log-uniform}, {path: users, lo: 1.2, hi: 2.3, kind: int}, {path: x}]}`,
			[]string{"#/sweep/nInitialPoints", "#/sweep/searchSpace/0/lo", "#/sweep/searchSpace/1/lo", "#/sweep/searchSpace/1/path",
				"#/sweep/searchSpace/2/lo", "#/sweep/searchSpace/3", "#/sweep/searchSpace/3"}},
		"members of other planners": {`{type: adaptive_search, planner: monotonic_sla, maxIterations: 20, slaReplicates: 3, plateauWindow: 3,
  slaFilters: [{metricTag: request_latency, op: lt, threshold: 5}], searchSpace: [{path: concurrency, lo: 1, hi: 10, kind: int}]}`,
			[]string{"#/sweep/plateauWindow", "#/sweep/slaReplicates"}},
		"tiers": {`{type: adaptive_search, planner: bayesian, maxIterations: 20, searchSpace: [{path: concurrency, lo: 1, hi: 10, kind: int}],
  slaTiers: [{label: a, filters: [{metricTag: request_latency, op: lt, threshold: 5}]}, {label: a, filters: [{metricTag: request_latency, op: lt}]}]}`,
			[]string{"#/sweep/planner", "#/sweep/slaTiers/1/filters/0", "#/sweep/slaTiers/1/label"}},
		"of a grid": {`{type: grid, parameters: {rate: [1, 2]}, planner: bayesian, maxIterations: 5, slaPrecision: coarse}`, []string{"#/sweep/maxIterations", "#/sweep/planner", "#/sweep/slaPrecision"}},
		"post-process": {`{type: grid, parameters: {rate: [1, 2]}, postProcess: {handler: degradation_knee_detect, outputFilename: ../a.json, params: {stat: p99}}}`,
			[]string{"#/sweep/postProcess/outputFilename", "#/sweep/postProcess/params", "#/sweep/postProcess/params", "#/sweep/postProcess/params"}},
	} {
		_, _, err := read(t, "sweep: "+c.text)
		var invalid *problem.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range invalid.Problems {
			got = append(got, p.Pointer)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: places differ (-want +got):\n%s\n%v", name, diff, err)
		}
	}
}
