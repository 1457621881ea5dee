package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// searched returns the report of a search for the highest concurrency with a p99 below 100 ms,
// whose probes measured these values: concurrency, then p99.
func searched(probes ...[2]float64) *Report {
	r := &Report{Study: &config.Study{
		Sweep: &sweep.Block{
			Type: sweep.Adaptive, Planner: sweep.MonotonicSLA, MaxIterations: 20, StabilityTrials: 2,
			SLAFilters:  []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 100}},
			SearchSpace: []sweep.SearchDimension{{Path: "concurrency", Lo: new(1.0), Hi: new(64.0), Kind: "int"}},
		},
		MultiRun: sweep.MultiRun{NumRuns: 1, ConfidenceLevel: 0.95},
	}}
	for i, p := range probes {
		v := vary.Variation{Index: i, Label: fmt.Sprintf("search_iter_%04d", i), Values: []vary.Assignment{{Path: "concurrency", Value: p[0]}}}
		r.Outcomes = append(r.Outcomes, cell.Outcome{Variation: v, Trials: []cell.Trial{trial(i, 10*p[0], p[1])}})
	}
	return r
}

// A search has one row per value, and what its table calls the best keeps the limits as the
// search says it.
func TestRowsOfASearch(t *testing.T) {
	// 17 fails twice and passes once, and the mean of its probes keeps the limit.
	r := searched([2]float64{1, 10}, [2]float64{2, 20}, [2]float64{4, 30}, [2]float64{8, 50}, [2]float64{16, 85}, [2]float64{32, 400},
		[2]float64{24, 300}, [2]float64{20, 200}, [2]float64{18, 150}, [2]float64{17, 101}, [2]float64{17, 60}, [2]float64{17, 102}, [2]float64{16, 84})
	var got []string
	for i := range r.Rows() {
		c := &r.rows[i]
		got = append(got, fmt.Sprintf("%v: %d runs, p99 %.4g, feasible %v", c.Values[0].Value, len(c.Good), c.Find("request_latency", "p99").Mean, c.Feasible()))
	}
	want := []string{
		"1: 1 runs, p99 10, feasible true", "2: 1 runs, p99 20, feasible true", "4: 1 runs, p99 30, feasible true", "8: 1 runs, p99 50, feasible true",
		"16: 2 runs, p99 84.5, feasible true", "32: 1 runs, p99 400, feasible false", "24: 1 runs, p99 300, feasible false", "20: 1 runs, p99 200, feasible false",
		"18: 1 runs, p99 150, feasible false", "17: 3 runs, p99 87.67, feasible false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	best := r.Compare()
	if v := r.rows[best.BestThroughput].Values[0].Value; v != 16.0 {
		t.Errorf("best throughput at %v, want 16", v)
	}
	if found := search.Of(r.Study).Findings(r.Outcomes)[0]; !strings.HasPrefix(found, "Highest concurrency within the limits: 16 (") {
		t.Errorf("found: %s", found)
	}
	// An optimization knows no boundary: a value above one that breaks the limit may keep it.
	optimum := searched([2]float64{3, 120}, [2]float64{8, 40})
	optimum.Study.Sweep.Planner, optimum.Study.Sweep.InitialPoints = sweep.Bayesian, 1
	optimum.Study.Sweep.Objectives = []sweep.Objective{{Metric: "request_throughput", Stat: "avg", Direction: "maximize"}}
	if best := optimum.Compare(); optimum.rows[0].Feasible() || !optimum.rows[1].Feasible() || best.BestThroughput != 1 {
		t.Errorf("an optimization: %+v", best)
	}
	if len(r.Cells()) != len(r.Outcomes) {
		t.Errorf("%d cells of %d probes", len(r.Cells()), len(r.Outcomes))
	}
}

// A study of which the load generator distorted what decides in every run has no results; one
// sound run is enough, and other numbers do not matter.
func TestAllExcluded(t *testing.T) {
	distort := func(r *Report, from int, tags ...string) *Report {
		for i := range r.Outcomes[from:] {
			for k := range r.Outcomes[from+i].Trials {
				metrics := r.Outcomes[from+i].Trials[k].Metrics
				for j := range metrics {
					if slices.Contains(tags, metrics[j].Tag) {
						metrics[j].Doubt = &cell.Doubt{Invalid: true}
					}
				}
			}
		}
		return r
	}
	const rate, latency = "request_throughput", "request_latency"
	grid := &sweep.Block{Type: sweep.Grid}
	limited := &sweep.Block{Type: sweep.Grid, SLAFilters: []sweep.Filter{{MetricTag: latency, Stat: "p99", Op: "lt", Threshold: 100}}}
	failed := report(grid, 1)
	for i := range failed.Outcomes {
		failed.Outcomes[i].Trials = []cell.Trial{{Failure: "not one request succeeded"}}
	}
	for _, tt := range []struct {
		name   string
		report *Report
		want   bool
	}{
		{"a sound sweep", report(grid, 1), false},
		{"latencies", distort(report(grid, 1), 0, latency), false},
		{"latencies and throughput", distort(report(grid, 1), 0, latency, rate), true},
		{"of all but one", distort(report(grid, 1), 1, latency, rate), false},
		{"latencies, which have a condition", distort(report(limited, 1), 0, latency), true},
		{"throughput beside the condition", distort(report(limited, 1), 0, rate), false},
		{"repeats", distort(report(nil, 3), 0, latency, rate), true},
		{"a search by latency", distort(searched([2]float64{1, 10}, [2]float64{2, 200}), 0, latency), true},
		{"a search by latency, throughput", distort(searched([2]float64{1, 10}, [2]float64{2, 200}), 0, rate), false},
		{"nothing succeeded", failed, false},
	} {
		if got := tt.report.AllExcluded(); got != tt.want {
			t.Errorf("%s: all excluded = %v, want %v; excluded %v", tt.name, got, tt.want, tt.report.Compare().Excluded)
		}
	}
}
