package prom

import (
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// agents emits what a run of recorded sessions says at its end.
func (e *emitter) agents(r *run.Run, a *results.Agents) {
	if jobs := a.Jobs; jobs != nil {
		trees := family("aiperf_agent_trees",
			"Plays of recorded sessions in the profiling phases, by how they ended.", "run_id", "outcome")
		for outcome, n := range map[agents.Outcome]int{
			agents.Completed: jobs.Completed, agents.Running: jobs.Running, agents.Cut: jobs.Cut,
		} {
			e.gauge(trees, float64(n), r.ID, string(outcome))
		}
		const ms = 1e-3
		idle := family("aiperf_agent_idle_skipped_seconds", "Idle time that limits left out of all plays.", "run_id")
		e.gauge(idle, jobs.IdleSkipped*ms, r.ID)
		if d := jobs.Dilation; d != nil {
			dilation := family("aiperf_agent_job_dilation_ratio",
				"How many times as long as in their recordings plays took.", "run_id", "stat")
			for stat, v := range map[string]float64{"avg": d.Mean, "p50": d.P50, "p90": d.P90, "max": d.Max} {
				e.gauge(dilation, v, r.ID, stat)
			}
		}
		hits := family("aiperf_agent_prefix_cache_hit_ratio",
			"Share of the prompts that prefix caches had: reported by the servers (tokens), "+
				"expected of a cache of unlimited size (tokens), and theoretical, in the recordings (blocks).", "run_id", "kind")
		for kind, v := range map[string]*float64{
			"reported": jobs.Hits.Reported, "expected": jobs.Hits.Expected, "theoretical": jobs.Hits.Theoretical,
		} {
			if v != nil {
				e.gauge(hits, *v, r.ID, kind)
			}
		}
	}
	if v := a.Validity; v != nil {
		valid := family("aiperf_agent_validity",
			"Whether a check passed by which the result of a scenario counts: 1 or 0.", "run_id", "scenario", "check")
		for _, c := range v.Checks {
			ok := 0.0
			if c.OK {
				ok = 1
			}
			e.gauge(valid, ok, r.ID, v.Scenario, c.ID)
		}
	}
}
