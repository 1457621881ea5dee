package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/results"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// rowsOf writes the rows of a summary, one in a line.
func rowsOf(s *results.Sweep) string {
	var out strings.Builder
	for _, r := range s.Rows {
		e := r.Metrics[cell.ThroughputTag].Statistics[cell.ThroughputStat]
		fmt.Fprintf(&out, "%s: %d runs, %s, %.4g (%.4g to %.4g of %d), pareto %t\n",
			r.Name, len(r.Runs), r.Outcome, e.Mean, e.Low, e.High, e.Runs, r.Pareto)
	}
	return out.String()
}

// The repeats of a value are one row with a mean, an interval and the number of its runs.
func TestSummaryOfRepeats(t *testing.T) {
	limit := []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 100}}
	r := report(&sweep.Block{Type: sweep.Grid, SLAFilters: limit}, 3)
	dir := t.TempDir()
	if err := WriteSummary(dir, r); err != nil {
		t.Fatal(err)
	}
	got, err := results.Open(dir, "").Sweep()
	if err != nil {
		t.Fatal(err)
	}
	const want = `concurrency 1: 3 runs, pass, 11 (8.516 to 13.48 of 3), pareto true
concurrency 2: 4 runs, pass, 21 (18.52 to 23.48 of 3), pareto true
concurrency 4: 3 runs, fail, 31 (28.52 to 33.48 of 3), pareto false
`
	if diff := cmp.Diff(want, rowsOf(got)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got.BestThroughput == nil || *got.BestThroughput != 1 || got.Search != nil || got.Parameters[0].Name != "concurrency" {
		t.Errorf("summary: %+v", got)
	}
	reading := got.Rows[2].Readings[0]
	if reading.Met || reading.Observed == nil || *reading.Observed != 181 || reading.Unit != "ms" || reading.Operator != "<" {
		t.Errorf("reading: %+v", reading)
	}
	if failed := got.Rows[1].Runs[3]; failed.Failure == "" {
		t.Errorf("the failed run: %+v", failed)
	}
}

// A study of repeats has one row, which is best at nothing.
func TestSummaryWithoutSweep(t *testing.T) {
	s := report(nil, 3).Summary()
	if s.Type != "repeats" || len(s.Rows) != 1 || s.Rows[0].Name != "all runs" || s.Rows[0].Pareto || s.BestThroughput != nil || s.BestLatency != nil {
		t.Errorf("summary: %+v", s)
	}
}

// probes returns the report of a whole search for the largest concurrency below a limit of
// 95 ms, of a server whose latency is ten times the concurrency.
func probes(t *testing.T) *Report {
	t.Helper()
	lo, hi := 1.0, 1000.0
	block := &sweep.Block{
		Type: sweep.Adaptive, Planner: "monotonic_sla", MaxIterations: 30,
		SearchSpace: []sweep.SearchDimension{{Path: "phases.profiling.concurrency", Lo: &lo, Hi: &hi, Kind: "int"}},
		SLAFilters:  []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 95}},
	}
	r := report(block, 1)
	r.Study = &config.Study{Sweep: block, MultiRun: r.Study.MultiRun, Seed: 42}
	r.Outcomes = nil
	planner := search.PlannerOf(r.Study)
	for {
		v, more := planner.Next(r.Outcomes)
		if !more {
			return r
		}
		x, ok := v.Number("phases.profiling.concurrency")
		if !ok || len(r.Outcomes) == planner.Budget() {
			t.Fatalf("probe %d is %v", len(r.Outcomes), v.Values)
		}
		r.Outcomes = append(r.Outcomes, cell.Outcome{Variation: v, Trials: []cell.Trial{trial(len(r.Outcomes)+1, x, 10*x)}})
	}
}

// The answer of a search: the value on both sides of the boundary, what was observed there, the
// limit that binds, and one row for each value although some were probed twice.
func TestSummaryOfSearch(t *testing.T) {
	r := probes(t)
	s := r.Summary()
	const want = `concurrency 1: 1 runs, pass, 1 (1 to 1 of 1), pareto true
concurrency 2: 1 runs, pass, 2 (2 to 2 of 1), pareto true
concurrency 4: 1 runs, pass, 4 (4 to 4 of 1), pareto true
concurrency 8: 2 runs, pass, 8 (8 to 8 of 2), pareto true
concurrency 16: 1 runs, fail, 16 (16 to 16 of 1), pareto false
concurrency 12: 1 runs, fail, 12 (12 to 12 of 1), pareto false
concurrency 10: 2 runs, fail, 10 (10 to 10 of 2), pareto false
concurrency 9: 2 runs, pass, 9 (9 to 9 of 2), pareto true
`
	if diff := cmp.Diff(want, rowsOf(s)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if s.Search == nil || len(s.Search.Boundaries) != 1 {
		t.Fatalf("search: %+v", s.Search)
	}
	b := s.Search.Boundaries[0]
	if b.Pass == nil || b.Fail == nil || b.Binding == nil {
		t.Fatalf("boundary: %+v", b)
	}
	got := fmt.Sprintf("%s %v of row %d, %v %s; %v of row %d, %v %s; %s %s %s %v %s; %s",
		b.Parameter.Name, b.Pass.Value, b.Pass.Row, *b.Pass.Readings[0].Observed, b.Pass.Readings[0].Unit,
		b.Fail.Value, b.Fail.Row, *b.Fail.Readings[0].Observed, b.Fail.Readings[0].Unit,
		b.Binding.Metric, b.Binding.Statistic, b.Binding.Operator, b.Binding.Threshold, b.Binding.Unit, s.Search.ReasonText)
	const answer = "concurrency 9 of row 7, 90 ms; 10 of row 6, 100 ms; request_latency p99 < 95 ms; the values on both sides of the boundary are as close as the search asks"
	if got != answer || !b.Pass.Valid || !b.Fail.Valid {
		t.Errorf("answer %s\nwant   %s (valid %t, %t)", got, answer, b.Pass.Valid, b.Fail.Valid)
	}
	if len(s.Findings) == 0 || !strings.HasPrefix(s.Findings[0], "Highest concurrency within the limits: 9 ") {
		t.Errorf("findings: %q", s.Findings)
	}
}

// A probe that the load generator distorted is excluded, and the answer says that it decides.
func TestSummaryOfDistortedSearch(t *testing.T) {
	r := probes(t)
	for i := range r.Outcomes {
		if x, _ := r.Outcomes[i].Number("phases.profiling.concurrency"); x == 10 {
			r.Outcomes[i].Trials[0].Metrics[1].Doubt = &cell.Doubt{Invalid: true, Side: 1}
		}
	}
	s := r.Summary()
	b := s.Search.Boundaries[0]
	if s.Rows[6].Outcome != "excluded" || b.Fail == nil || b.Fail.Valid || b.Fail.Readings[0].Doubt != "the load generator distorted request_latency" {
		t.Errorf("row %s, edge %+v", s.Rows[6].Outcome, b.Fail)
	}
}

// A limit names its unit, also that of a search for a capacity, whose metric is none of the catalogue.
func TestLimitOf(t *testing.T) {
	for _, tt := range []struct {
		in   sweep.Filter
		want results.Condition
	}{
		{sweep.Filter{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 45},
			results.Condition{Metric: "time_to_first_token", Statistic: "p95", Operator: "<", Threshold: 45, Unit: "ms"}},
		{sweep.Filter{MetricTag: sweep.Attainment, Stat: "avg", Op: "ge", Threshold: 95},
			results.Condition{Metric: "attainment", Statistic: "avg", Operator: ">=", Threshold: 95, Unit: "%"}},
	} {
		if got := limitOf(tt.in); got != tt.want {
			t.Errorf("limitOf(%v) = %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

// Whether there were too few requests to decide a limit is told by the same rule for the sides of a boundary and for
// the rows: by the number of requests, also if they are worth fewer independent ones.
func TestSummaryOfSearchWithFewIndependent(t *testing.T) {
	r := probes(t)
	for i := range r.Outcomes {
		for j := range r.Outcomes[i].Trials {
			metrics := r.Outcomes[i].Trials[j].Metrics
			for k := range metrics {
				metrics[k].Unsupported = []string{"p99"}
			}
		}
	}
	r.cells, r.rows = nil, nil
	s := r.Summary()
	for _, row := range s.Rows {
		if e := row.Metrics["request_latency"].Statistics["p99"]; !e.Unsupported || row.Readings[0].Doubt != "" {
			t.Errorf("%s: unsupported %t, doubt %q, want a mark and no doubt", row.Name, e.Unsupported, row.Readings[0].Doubt)
		}
	}
	if why := s.Undecided(); len(why) != 0 {
		t.Errorf("not decided: %q", why)
	}
}
