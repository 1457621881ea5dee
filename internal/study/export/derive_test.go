package export

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// outcome returns a variation with one trial per given list of statistics; keys are
// tag/stat.
func outcome(values []vary.Assignment, trials ...map[string]float64) cell.Outcome {
	o := cell.Outcome{Variation: vary.Variation{Label: sweep.Label(values), Values: values}}
	for _, stats := range trials {
		t := cell.Trial{}
		if stats == nil {
			t.Failure = "no successful request"
		}
		for key, v := range stats {
			tag, stat, _ := strings.Cut(key, "/")
			t.Metrics = append(t.Metrics, cell.Metric{Tag: tag, Stats: map[string]float64{stat: v}})
		}
		o.Trials = append(o.Trials, t)
	}
	return o
}

type stats = map[string]float64

const (
	concurrency = "phases.profiling.concurrency"
	isl         = "datasets.main.prompts.isl.mean"
	osl         = "datasets.main.prompts.osl.mean"
)

func at(pairs ...any) []vary.Assignment {
	var out []vary.Assignment
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, vary.Assignment{Path: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

// A trial in which the load generator distorted the metric is no result; one in which it
// distorted another is.
func TestDistorted(t *testing.T) {
	done := []cell.Outcome{
		outcome(at(concurrency, 1), stats{"request_latency/p99": 10}), outcome(at(concurrency, 2), stats{"request_latency/p99": 90}),
		outcome(at(concurrency, 4), stats{"request_latency/p99": 80}, stats{"request_latency/p99": 10}),
	}
	for i := range done {
		trial := &done[i].Trials[0]
		trial.Metrics = append(trial.Metrics, cell.Metric{Tag: "inter_chunk_latency", Doubt: &cell.Doubt{Invalid: true}})
		if i > 0 {
			trial.Metric("request_latency").Doubt = &cell.Doubt{Invalid: true}
		}
	}
	p := sweep.PostProcess{Handler: sweep.DegradationKnee, Params: sweep.PostParams{SweptParam: concurrency, MetricTag: "request_latency", Stat: "p99", ThresholdPct: 0.2}}
	content, err := derive(&p, done)
	if err != nil {
		t.Fatal(err)
	}
	got := content.(object)
	if got["knee_concurrency"] != nil || len(got["all_points"].([]object)) != 2 {
		t.Errorf("knee at %v of %v, want none of two points", got["knee_concurrency"], got["all_points"])
	}
}

// The sentence about a knee says no more than the values do.
func TestKneeFindings(t *testing.T) {
	p := sweep.PostProcess{Handler: sweep.DegradationKnee, Params: sweep.PostParams{SweptParam: concurrency, MetricTag: "request_latency", Stat: "p99", ThresholdPct: 0.2}}
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{10, 10, 11}, "Not enough values for a knee: request_latency p99 was measured at 3 values of concurrency; 4 are needed, two of them for the baseline"},
		{[]float64{10, 10, 11, 11}, "No knee up to concurrency 8, the largest value measured: request_latency p99 stays within 20 % of its baseline"},
		{[]float64{10, 10, 11, 40}, "Knee: from concurrency 8 on, request_latency p99 is more than 20 % above its baseline (40, baseline 10)"},
		{[]float64{10, 10, 40, 11}, "No clear knee: request_latency p99 is more than 20 % above its baseline at concurrency 4, but not at 8; send more requests, or repeat the runs (--num-profile-runs)"},
		{[]float64{19.5, 33, 20, 21}, "No knee: request_latency p99 differs by more than 20 % between the two lowest values of concurrency (19.5 and 33), which are the baseline; send more requests, or repeat the runs (--num-profile-runs)"},
	} {
		var done []cell.Outcome
		for i, v := range tt.values {
			done = append(done, outcome(at(concurrency, 1<<i), stats{"request_latency/p99": v}))
		}
		if got := Findings(&p, done); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}

// Every handler gives AIPerf's file; the values are computed by hand.
func TestContent(t *testing.T) {
	limit := []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 100}}
	latency := func(v float64) stats { return stats{"request_latency/p99": v} }
	var out strings.Builder
	for _, c := range []struct {
		p    sweep.PostProcess
		done []cell.Outcome
	}{
		{sweep.PostProcess{Handler: sweep.SLABreach, Params: sweep.PostParams{SweptParam: concurrency, SLAFilters: limit}}, []cell.Outcome{
			outcome(at(concurrency, json.Number("8")), latency(130)), outcome(at(concurrency, 1), latency(20), latency(90)),
			outcome(at(concurrency, 4.0), latency(99)), outcome(at(concurrency, 16), nil),
		}},
		{sweep.PostProcess{Handler: sweep.DegradationKnee, Params: sweep.PostParams{SweptParam: concurrency, MetricTag: "request_latency", Stat: "p99", ThresholdPct: 0.2}}, []cell.Outcome{
			outcome(at(concurrency, 1), latency(10)), outcome(at(concurrency, 2), latency(12)),
			outcome(at(concurrency, 4), latency(13)), outcome(at(concurrency, 8), latency(13.3)), outcome(at(concurrency, 16), latency(30)),
		}},
		{sweep.PostProcess{Handler: sweep.TTFTCurve, Params: sweep.PostParams{SweptParam: isl, MetricTag: "time_to_first_token", Stat: "avg"}}, []cell.Outcome{
			outcome(at(isl, 100, concurrency, 1), stats{"time_to_first_token/avg": 15}),
			outcome(at(isl, 200, concurrency, 1), stats{"time_to_first_token/avg": 20}),
			outcome(at(isl, 1000, concurrency, 1), stats{"time_to_first_token/avg": 60}),
		}},
		{sweep.PostProcess{Handler: sweep.ITLSurface, Params: sweep.PostParams{ConcurrencyParam: concurrency, OSLParam: osl, MetricTag: "inter_token_latency", Stat: "avg"}}, []cell.Outcome{
			outcome(at(concurrency, 1, osl, 64), stats{"inter_token_latency/avg": 5}),
			outcome(at(concurrency, 1, osl, 128), stats{"inter_token_latency/avg": 6}),
			outcome(at(concurrency, 8, osl, 64), stats{"inter_token_latency/avg": 9}),
			outcome(at(concurrency, 8, osl, 128), nil),
		}},
		{sweep.PostProcess{Handler: sweep.ParetoSweep, Params: sweep.PostParams{XMetric: "time_to_first_token", XStat: "p95", YMetric: "output_token_throughput", YStat: "avg"}}, []cell.Outcome{
			outcome(at(isl, 128, osl, 64, concurrency, 1), stats{"time_to_first_token/p95": 10, "output_token_throughput/avg": 100}),
			outcome(at(isl, 128, osl, 64, concurrency, 4), stats{"time_to_first_token/p95": 20, "output_token_throughput/avg": 300}),
			outcome(at(isl, 128, osl, 64, concurrency, 16), stats{"time_to_first_token/p95": 25, "output_token_throughput/avg": 300}),
		}},
	} {
		content, err := derive(&c.p, c.done)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(content, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== %s\n%s\n%s\n", c.p.Handler, text, Findings(&c.p, c.done))
		c.p.OutputFilename = "x.json"
		if c.p.Handler != sweep.SLABreach {
			if _, err := derive(&c.p, nil); err == nil || !strings.HasPrefix(err.Error(), "derive x.json: ") {
				t.Errorf("%s of nothing: %v", c.p.Handler, err)
			}
		}
	}
	name := filepath.Join("testdata", "contents.txt")
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
		t.Errorf("contents differ (-want +got):\n%s", diff)
	}
}

// A parabola is fitted if a line does not explain the points.
func TestQuadratic(t *testing.T) {
	var done []cell.Outcome
	for _, x := range []float64{-3, -2, -1, 0, 1, 2, 3} {
		done = append(done, outcome(at(isl, x), stats{"time_to_first_token/avg": 2*x*x - x + 7}))
	}
	got, err := derive(&sweep.PostProcess{Handler: sweep.TTFTCurve, Params: sweep.PostParams{SweptParam: isl, MetricTag: "time_to_first_token", Stat: "avg"}}, done)
	if err != nil {
		t.Fatal(err)
	}
	o := got.(object)
	c := o["coefficients"].([]float64)
	want := []float64{2, -1, 7}
	for i := range want {
		if d := c[i] - want[i]; d > 1e-9 || d < -1e-9 {
			t.Errorf("coefficients = %v, want %v", c, want)
		}
	}
	if o["fit_form"] != "quadratic" || o["below_floor"] != false {
		t.Errorf("%v", o)
	}
}
