package report

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
)

// A report of recorded sessions says whether the result counts and why not, how long jobs took, and how latencies grow
// with prompts; that of another run has none of it.
func TestSessions(t *testing.T) {
	if got := sessions(new(results.Agents)); len(got) != 0 {
		t.Errorf("a run without recorded sessions has the tables %v", got)
	}
	a := &results.Agents{
		Jobs: &agents.Report{
			Trees: 2, Completed: 1, Running: 1, Dilation: &agents.Spread{Count: 2, Mean: 1.5},
			ByContext: []agents.Group{
				{To: 8192, Requests: 3, Errors: 1, Cached: new(0.5), Latency: &agents.Quantiles{P50: 250, P90: 300, P99: 400}},
				{From: 524288, Requests: 1},
			},
		},
		Validity: &verdict.Validity{
			Scenario: "a@1", Checks: []verdict.ValidityCheck{
				{ID: "errors", Required: new(0.01), Observed: new(0.66), Unit: "share", Detail: "2 of 3 requests failed"},
				{ID: "kept", OK: true, Detail: "no session was left out"},
			},
		},
	}
	text := &text{}
	text.add(sessions(a)...)
	got := text.markdown()
	for _, want := range []string{
		"| errors | failed | 2 of 3 requests failed; required: at most 1 % |", "| kept | passed | no session was left out |",
		"The result does not count for a@", "2 trees: 1 completed, 1 still running at the end; 1.50 × as long as recorded",
		"| 0 to 8k | 3 | 1 | 50 % |", "| 512k or more | 1 | 0 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
}
