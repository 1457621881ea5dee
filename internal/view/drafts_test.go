package view

import "testing"

func TestAcceptedDrafts(t *testing.T) {
	const label = "Accepted drafts per step (% of steps):  "
	for want, steps := range map[string]map[int]int64{
		"":                                 nil,
		label + "0: 10%   1: 30%   2: 60%": {0: 1, 1: 3, 2: 6},
		label + "0: 0%   1: 0%   2: 100%":  {2: 5},
		label + "0: 50%   1: 0%   2: 0%   3: 0%   4: 0%   5: 0%   6: 0%   7: 0%   >=8: 50%": {0: 2, 8: 1, 12: 1},
	} {
		if got := AcceptedDrafts(steps); got != want {
			t.Errorf("AcceptedDrafts(%v) = %q, want %q", steps, got, want)
		}
	}
}
