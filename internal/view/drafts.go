package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostDrafts is the number of draft tokens from which on steps are counted together.
const mostDrafts = 8

// AcceptedDrafts describes how many steps of speculative decoding have accepted each number of
// draft tokens, in AIPerf's words; empty if there are no steps.
func AcceptedDrafts(steps map[int]int64) string {
	var all int64
	for _, n := range steps {
		all += n
	}
	if all <= 0 {
		return ""
	}
	share := func(n int64) string { return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(all)) }
	most := slices.Max(slices.Collect(maps.Keys(steps)))
	var parts []string
	for accepted := range min(most+1, mostDrafts) {
		parts = append(parts, fmt.Sprintf("%d: %s", accepted, share(steps[accepted])))
	}
	if most >= mostDrafts {
		var beyond int64
		for accepted, n := range steps {
			if accepted >= mostDrafts {
				beyond += n
			}
		}
		parts = append(parts, fmt.Sprintf(">=%d: %s", mostDrafts, share(beyond)))
	}
	return "Accepted drafts per step (% of steps):  " + strings.Join(parts, "   ")
}
