package study_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// repeated is a benchmark of a server that bears three times as much, with several runs of other prompts and arrivals.
func repeated(seed int64, server string, runs, requests int) string {
	return fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  tokenizer: {name: builtin}
  endpoint: {url: "http://%s", streaming: true}
  dataset: {isl: {mean: 128, stddev: 32}, osl: {mean: 32, stddev: 8}, entries: 500}
  serverMetrics: {enabled: false}
  gpuTelemetry: {enabled: false}
  profiling: {type: poisson, rate: 10, requests: %d}
multiRun: {numRuns: %d, varySeedPerTrial: true}
`, seed, server, requests, runs)
}

// inputs performs repeats, and returns their runs.
func (d *duel) inputs(seed int64, server string, runs, requests int) []compare.Input {
	d.t.Helper()
	parent := d.submitDocument(repeated(seed, server, runs, requests))
	ended, err := d.service.Wait(d.t.Context(), parent.ID)
	if err != nil || ended.State != bench.StateCompleted {
		d.t.Fatalf("%v: %s (%s)", err, ended.State, ended.StateReason)
	}
	page, err := d.service.List(d.t.Context(), run.Query{Parent: parent.ID, Sort: run.SortCreated})
	if err != nil || len(page.Runs) != runs {
		d.t.Fatalf("%d runs, %v", len(page.Runs), err)
	}
	var out []compare.Input
	for i := range page.Runs {
		r := &page.Runs[i]
		snap, err := d.service.Snapshot(d.t.Context(), r.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, compare.Input{Run: r, Snapshot: snap, Dir: d.tree.Dir(r.ID)})
	}
	return out
}

// judge compares runs, single ones request by request.
func (d *duel) judge(a, b []compare.Input) *compare.Answer {
	d.t.Helper()
	err := compare.ReadSingles(a, b, func(in *compare.Input) (*compare.Requests, error) {
		return compare.ReadRequests(context.Background(), results.Open(in.Dir, ""), in)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	answer, err := compare.Judge(a, b, compare.AnswerOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return answer
}

// TestSimulateSameRuns: two runs of one server, by the whole program, are called better or worse in at most 5 % of
// pairs.
func TestSimulateSameRuns(t *testing.T) {
	pairs := 2
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		pairs = 100
	}
	verdicts := map[results.Verdict]int{}
	for seed := range int64(pairs) {
		synctest.Test(t, func(t *testing.T) {
			d := newSlow(t, uint64(seed)+1)
			runs := d.inputs(seed+1, "a", 2, 400)
			answer := d.judge(runs[:1], runs[1:])
			verdicts[answer.Verdict]++
			t.Logf("seed %d: %s", seed, answer.Sentences[0])
		})
	}
	if alarms := verdicts[compare.IsBetter] + verdicts[compare.IsWorse]; 20*alarms > pairs {
		t.Errorf("%d false alarms of %d pairs", alarms, pairs)
	}
	if unjudged := verdicts[compare.Invalid] + verdicts[compare.NotComparable]; unjudged > 0 {
		t.Errorf("%d of %d pairs have no verdict", unjudged, pairs)
	}
}

// TestSimulateSlowerRuns: a server whose steps take 5 % longer is worse by five runs of each.
func TestSimulateSlowerRuns(t *testing.T) {
	pairs := 1
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		pairs = 40
	}
	found := 0
	for seed := range int64(pairs) {
		synctest.Test(t, func(t *testing.T) {
			d := newArena(t, t.TempDir(), map[string]http.Handler{
				"a": newAccelerator(t, "tiny", 10, uint64(2*seed)+1), "b": newAccelerator(t, "tiny", 10.5, uint64(2*seed)+2),
			})
			answer := d.judge(d.inputs(2*seed+1, "a", 5, 200), d.inputs(2*seed+2, "b", 5, 200))
			t.Logf("seed %d: %s", seed, answer.Sentences[0])
			if answer.Verdict == compare.IsWorse {
				found++
			}
		})
	}
	if 10*found < 9*pairs {
		t.Errorf("worse in %d of %d comparisons, want 9 of 10", found, pairs)
	}
}
