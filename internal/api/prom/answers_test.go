package prom

import (
	"testing"

	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// A study shows how far it is and what it says: nothing of its runs, and no part of an interval that is not known.
func TestStudies(t *testing.T) {
	study := func(kind run.Experiment) *run.Run {
		return &run.Run{ID: "1", Study: &run.Study{Experiment: kind, Total: 8, Done: 2}}
	}
	const progress = `aiperfd_experiment_budget_used_ratio{kind="sweep",run_id="1"} 0.25
aiperfd_experiment_children_total{kind="sweep",run_id="1"} 2
`
	if got := exposed(t, Run{Run: study(""), Aside: true}, "aiperf"); got != progress {
		t.Errorf("a sweep: got\n%s", got)
	}
	capacity := &results.Answer{
		AnswerHead: results.NewAnswerHead("capacity", "q", "s"), RunID: "1",
		Estimate: &results.AnswerEstimate{AnswerInterval: results.AnswerInterval{Value: 28, Low: 27.5, High: 29, Unit: results.RequestsPerSecond}},
	}
	capacity.Verdict, capacity.Stop.Budget = "estimated", 0.5
	const found = `aiperfd_answer_estimate{kind="capacity",metric="request_rate",run_id="1"} 28
aiperfd_answer_high{kind="capacity",metric="request_rate",run_id="1"} 29
aiperfd_answer_low{kind="capacity",metric="request_rate",run_id="1"} 27.5
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="estimated"} 1
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="invalid"} 0
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="lower_bound"} 0
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="non_monotone"} 0
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="not_found"} 0
aiperfd_answer_verdict{kind="capacity",metric="",run_id="1",verdict="upper_bound"} 0
aiperfd_experiment_budget_used_ratio{kind="capacity",run_id="1"} 0.5
aiperfd_experiment_children_total{kind="capacity",run_id="1"} 2
`
	if got := exposed(t, Run{Run: study(run.CapacityExperiment), Answer: capacity, Aside: true}, "aiperf"); got != found {
		t.Errorf("a capacity: got\n%s", got)
	}
	pairs := &results.Answer{
		AnswerHead: results.NewAnswerHead("ab", "q", "s"), RunID: "1",
		Paired: &results.Paired{Metrics: []results.PairedMetric{{Tag: "request_latency", Verdict: "worse", Change: new(3.0), Low: new(1.5)}}},
	}
	const changed = `aiperfd_answer_estimate{kind="ab",metric="request_latency",run_id="1"} 0.03
aiperfd_answer_low{kind="ab",metric="request_latency",run_id="1"} 0.015
`
	if got := exposed(t, Run{Run: study(run.PairedExperiment), Answer: pairs, Aside: true},
		"aiperfd_answer_e", "aiperfd_answer_l", "aiperfd_answer_h"); got != changed {
		t.Errorf("pairs: got\n%s", got)
	}
}
