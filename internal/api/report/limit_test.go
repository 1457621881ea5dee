package report

import (
	"testing"

	"aiperfd/internal/results"
)

// A limit has the name and the unit of its metric; the share of good requests has one statistic alone.
func TestLimitText(t *testing.T) {
	for _, tt := range []struct {
		in   results.Condition
		want string
	}{
		{results.Condition{Metric: "time_to_first_token", Statistic: "p95", Operator: "<", Threshold: 45, Unit: "ms"}, "Time to First Token p95 < 45 ms"},
		{results.Condition{Metric: "attainment", Statistic: "avg", Operator: ">=", Threshold: 95, Unit: "%"}, "Good Requests >= 95 %"},
	} {
		if got := limitText(&tt.in); got != tt.want {
			t.Errorf("limitText(%v) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
