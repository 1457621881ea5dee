package search

import (
	"encoding/json"
	"testing"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// A variation is skipped if one with less load, and otherwise the same values, met a
// condition or failed.
func TestStop(t *testing.T) {
	at := func(concurrency string, isl int) vary.Variation {
		return vary.Variation{Values: []vary.Assignment{
			{Path: "phases.profiling.concurrency", Value: json.Number(concurrency)}, {Path: "datasets.main.prompts.isl.mean", Value: isl},
		}}
	}
	measured := func(v vary.Variation, p99 ...float64) cell.Outcome {
		o := cell.Outcome{Variation: v}
		for _, x := range p99 {
			o.Trials = append(o.Trials, cell.Trial{Metrics: []cell.Metric{{Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"p99": x}}}})
		}
		return o
	}
	failed := cell.Outcome{Variation: at("8", 512), Trials: []cell.Trial{{Failure: "no request succeeded"}}}
	distorted := measured(at("8", 512), 800)
	distorted.Trials[0].Metrics[0].Doubt = &cell.Doubt{Invalid: true}
	stop := Stop{{MetricTag: "request_latency", Stat: "p99", Op: "gt", Threshold: 500}}
	for _, tt := range []struct {
		name string
		done []cell.Outcome
		v    vary.Variation
		want string
	}{
		{"nothing is done", nil, at("16", 512), ""},
		{"not begun", []cell.Outcome{measured(at("8", 512))}, at("16", 512), ""},
		{"below", []cell.Outcome{measured(at("8", 512), 499)}, at("16", 512), ""},
		{"above", []cell.Outcome{measured(at("4", 512), 100), measured(at("8", 512), 800)}, at("16", 512), "concurrency 8, isl 512 has request_latency p99 > 500 ms (800 ms)"},
		{"numbers, not texts", []cell.Outcome{measured(at("8", 512), 800)}, at("128", 512), "concurrency 8, isl 512 has request_latency p99 > 500 ms (800 ms)"},
		{"less load", []cell.Outcome{measured(at("8", 512), 800)}, at("4", 512), ""},
		{"the same load", []cell.Outcome{measured(at("8", 512), 800)}, at("8", 512), ""},
		{"another prompt length", []cell.Outcome{measured(at("8", 512), 800)}, at("16", 1024), ""},
		{"the mean of trials", []cell.Outcome{measured(at("8", 512), 300, 600)}, at("16", 512), ""},
		{"the metric is missing", []cell.Outcome{{Variation: at("8", 512), Trials: []cell.Trial{{}}}}, at("16", 512), ""},
		{"distorted", []cell.Outcome{distorted}, at("16", 512), ""},
		{"failed", []cell.Outcome{failed}, at("16", 512), "concurrency 8, isl 512 failed"},
		{"one of two failed", []cell.Outcome{{Variation: failed.Variation, Trials: append(failed.Trials, measured(at("8", 512), 100).Trials...)}}, at("16", 512), ""},
		{"fewer values", []cell.Outcome{measured(at("8", 512), 800)}, vary.Variation{Values: at("16", 512).Values[:1]}, ""},
	} {
		why, skip := stop.Skips(&tt.v, tt.done)
		if why != tt.want || skip != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, why, skip, tt.want)
		}
		if why, skip := Stop(nil).Skips(&tt.v, tt.done); skip {
			t.Errorf("%s: skipped without a condition: %s", tt.name, why)
		}
	}
}
