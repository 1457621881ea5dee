package export

import (
	"bytes"
	"strings"
	"testing"
)

// A run of which more than 1 % of the requests were cut is marked, and its headline prints
// lower bounds; with fewer it does not.
func TestTruncated(t *testing.T) {
	for cut, want := range map[float64]bool{12: false, 13: true} { // of 1246 that were sent
		r := busyReport(t)
		r.Results = append(r.Results, result(t, "unfinished_at_end", 0, scalar(cut)), result(t, "lower_bound_request_latency", 1234, percentiles(6000)))
		var summary bytes.Buffer
		if err := writeJSON(&summary, r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(summary.String(), `"truncated": true`); got != want {
			t.Errorf("%v cut: the summary is marked: %v, want %v", cut, got, want)
		}
		var screen bytes.Buffer
		if err := Console(&screen, r, ConsoleOptions{Detail: Brief, Width: 120}); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"(truncated: 13 still running at the end)", ">=Latency ms       6,000       9,000      13,500"} {
			if got := strings.Contains(screen.String(), text); got != want {
				t.Errorf("%v cut: the headline has %q: %v, want %v\n%s", cut, text, got, want, &screen)
			}
		}
	}
}
