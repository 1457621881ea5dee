package prom

import (
	"testing"

	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// TestAgents compares the families about recorded sessions with literal text. What is not known is left out.
func TestAgents(t *testing.T) {
	a := &results.Agents{
		Jobs: &agents.Report{
			Trees: 9, Completed: 6, Running: 2, Cut: 1, IdleSkipped: 1500,
			Dilation: &agents.Spread{Count: 7, Mean: 1.25, P50: 1, P90: 2, Max: 3}, Hits: agents.Hits{Expected: new(0.75)},
		},
		Validity: &verdict.Validity{Scenario: "s@1", Checks: []verdict.ValidityCheck{{ID: "errors", OK: true}, {ID: "kept"}}},
	}
	const want = `aiperf_agent_idle_skipped_seconds{run_id="1"} 1.5
aiperf_agent_job_dilation_ratio{run_id="1",stat="avg"} 1.25
aiperf_agent_job_dilation_ratio{run_id="1",stat="max"} 3
aiperf_agent_job_dilation_ratio{run_id="1",stat="p50"} 1
aiperf_agent_job_dilation_ratio{run_id="1",stat="p90"} 2
aiperf_agent_prefix_cache_hit_ratio{kind="expected",run_id="1"} 0.75
aiperf_agent_trees{outcome="completed",run_id="1"} 6
aiperf_agent_trees{outcome="cut",run_id="1"} 1
aiperf_agent_trees{outcome="running",run_id="1"} 2
aiperf_agent_validity{check="errors",run_id="1",scenario="s@1"} 1
aiperf_agent_validity{check="kept",run_id="1",scenario="s@1"} 0
`
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}, Agents: a}, "aiperf_agent_"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := exposed(t, Run{Run: &run.Run{ID: "1"}, Agents: new(results.Agents)}, "aiperf_agent_"); got != "" {
		t.Errorf("without recorded sessions: got\n%s", got)
	}
}
