package report

import (
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/results"
	"aiperfd/internal/view"
)

// sessions returns what a run of recorded sessions says: whether the result of its scenario counts, how long jobs took,
// and the requests by the length of their prompts.
func sessions(a *results.Agents) []table {
	var all []table
	if v := a.Validity; v != nil {
		verdict := "The result counts for " + v.Scenario + "."
		if !v.Valid {
			verdict = "The result does not count for " + v.Scenario + "."
		}
		t := newTable("Scenario", []string{"Check", "", "What was found"})
		for i := range v.Checks {
			c := &v.Checks[i]
			passed := "passed"
			if !c.OK {
				passed = "failed"
			}
			t.Rows = append(t.Rows, []string{c.ID, passed, c.Text()})
		}
		t.More = verdict
		all = append(all, t)
	}
	if a.Jobs == nil {
		return all
	}
	jobs := newTable("Jobs", []string{"Plays of recorded sessions"})
	for _, line := range []string{a.Jobs.Line(), a.Jobs.HitLine()} {
		if line != "" {
			jobs.Rows = append(jobs.Rows, []string{line})
		}
	}
	return append(all, jobs, byContext(a.Jobs.ByContext))
}

// byContext returns the requests by the length of their prompts.
func byContext(groups []agents.Group) table {
	t := newTable("By prompt length", []string{"Tokens"},
		"Requests", "Errors", "Cached", "TTFT p50 (ms)", "TTFT p90 (ms)", "ITL p50 (ms)", "Latency p50 (ms)")
	quantile := func(q *agents.Quantiles, of func(*agents.Quantiles) float64) string {
		if q == nil {
			return view.Absent
		}
		return view.Figure(of(q))
	}
	p50 := func(q *agents.Quantiles) float64 { return q.P50 }
	for i := range groups {
		g := &groups[i]
		cached := view.Absent
		if g.Cached != nil {
			cached = view.Percent(*g.Cached)
		}
		t.Rows = append(t.Rows, []string{
			g.Name(), view.Whole(int64(g.Requests)), view.Whole(int64(g.Errors)), cached, quantile(g.TTFT, p50),
			quantile(g.TTFT, func(q *agents.Quantiles) float64 { return q.P90 }), quantile(g.ITL, p50), quantile(g.Latency, p50),
		})
	}
	return t
}
