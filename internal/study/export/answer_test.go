package export

import (
	"testing"

	"aiperfd/internal/study/capacity"
)

// TestDecision_invalid: what a search needs that bounds no capacity depends on why it does not.
func TestDecision_invalid(t *testing.T) {
	failed := capacity.Evidence{Probe: capacity.Probe{Failure: "connection refused"}}
	for _, c := range []struct {
		name string
		a    capacity.Answer
		want string
	}{
		{"no probe", capacity.Answer{}, "let the first probe end"},
		{"failed probes", capacity.Answer{Evidence: []capacity.Evidence{failed, failed}}, "look at why the probes failed: connection refused"},
		{"too few probes", capacity.Answer{Evidence: []capacity.Evidence{failed, {}}}, "probe more loads: raise the budget, or let the search end"},
		{
			"a late client", capacity.Answer{Evidence: []capacity.Evidence{{}}, Distorted: "time_to_first_token"},
			"give the load generator a machine or cores of its own",
		},
	} {
		c.a.Verdict = capacity.Invalid
		if got := decision(&c.a); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
