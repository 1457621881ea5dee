package prom

import (
	"cmp"

	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// study emits how far a study is, and what it says so far; a = nil if it has no answer, or none yet.
func (e *emitter) study(r *run.Run, a *results.Answer) {
	kind := string(cmp.Or(r.Study.Experiment, run.SweepExperiment))
	began := r.CreatedAt
	if r.StartedAt != nil {
		began = *r.StartedAt
	}
	e.counter(family("aiperfd_experiment_children_total", "Runs of the experiment that have ended, failed ones included.",
		"run_id", "kind"), began, int64(r.Study.Done), r.ID, kind)
	used := 0.0
	if a != nil {
		used = a.Stop.Budget
	} else if r.Study.Total > 0 {
		used = float64(r.Study.Done) / float64(r.Study.Total)
	}
	e.gauge(family("aiperfd_experiment_budget_used_ratio",
		"Share of the budget of the experiment that is spent: of the part of it that is spent most.",
		"run_id", "kind"), used, r.ID, kind)
	if a != nil {
		e.answer(a)
	}
}

// answer emits estimates with their intervals, and verdicts.
func (e *emitter) answer(a *results.Answer) {
	e.verdict(a, "", string(a.Verdict))
	if c := a.Estimate; c != nil {
		e.estimate(a, cmp.Or(a.Control(), c.Tag+"_"+c.Statistic), &c.Value, &c.Low, &c.High, 1)
	}
	if a.Paired == nil {
		return
	}
	const percent = 100
	for i := range a.Paired.Metrics {
		m := &a.Paired.Metrics[i]
		e.verdict(a, m.Tag, m.Verdict)
		e.estimate(a, m.Tag, m.Change, m.Low, m.High, percent)
	}
}

// estimate emits a number and its interval, each unless it is nil, divided by unit.
func (e *emitter) estimate(a *results.Answer, metric string, value, low, high *float64, unit float64) {
	for _, part := range []struct {
		name, help string
		value      *float64
	}{
		{"estimate", "What the experiment measured: the capacity as a level of load, " +
			"the change from server A to B as a share, the value of repeats in the unit of the metric.", value},
		{"low", "Lower end of the interval of aiperfd_answer_estimate.", low},
		{"high", "Upper end of the interval of aiperfd_answer_estimate.", high},
	} {
		if part.value != nil {
			d := family("aiperfd_answer_"+part.name, part.help, "run_id", "kind", "metric")
			e.gauge(d, *part.value/unit, a.RunID, a.Kind, metric)
		}
	}
}

// verdict emits the verdict on a metric; empty = of the whole answer.
func (e *emitter) verdict(a *results.Answer, metric, current string) {
	all := []string{"estimated", "lower_bound", "upper_bound", "not_found", "non_monotone", "invalid"}
	switch {
	case a.Paired != nil:
		all = []string{"better", "worse", "equivalent", "inconclusive", "invalid"}
	case a.Kind == string(run.RepeatsExperiment):
		all = []string{"estimated", "inconclusive", "invalid"}
	}
	d := family("aiperfd_answer_verdict",
		"1 for the current verdict of the experiment, 0 for the others. Without a metric, that of the whole answer.",
		"run_id", "kind", "metric", "verdict")
	for _, v := range all {
		value := 0.0
		if v == current {
			value = 1
		}
		e.gauge(d, value, a.RunID, a.Kind, metric, v)
	}
}
