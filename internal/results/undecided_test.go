package results_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/results"
)

// The sides of a boundary that its runs leave open.
func TestUndecided(t *testing.T) {
	limit := results.Condition{Metric: "time_to_first_token", Statistic: "p95", Operator: "<", Threshold: 120, Unit: "ms"}
	other := results.Condition{Metric: "request_latency", Statistic: "p99", Operator: "<", Threshold: 500, Unit: "ms"}
	row := func(low, high float64, runs int) results.SweepRow {
		e := results.Estimate{Mean: (low + high) / 2, Low: low, High: high, Runs: runs}
		return results.SweepRow{Metrics: map[string]results.SweepMetric{limit.Metric: {Statistics: map[string]results.Estimate{"p95": e}}}}
	}
	const contains = "the interval of time_to_first_token p95 over the runs contains the limit."
	for name, tt := range map[string]struct {
		pass, fail []results.Reading
		rows       []results.SweepRow
		want       []string
	}{
		"both sides are clear": {
			[]results.Reading{{Condition: limit, Met: true}}, []results.Reading{{Condition: limit}},
			[]results.SweepRow{row(90, 110, 2), row(150, 170, 2)}, nil,
		},
		"an interval of runs contains the limit": {
			[]results.Reading{{Condition: limit, Met: true}}, []results.Reading{{Condition: limit}},
			[]results.SweepRow{row(94, 138, 2), row(162, 162, 1)}, []string{"Not decided at 64: " + contains},
		},
		"one run has no interval": {
			[]results.Reading{{Condition: limit, Met: true}}, []results.Reading{{Condition: limit}},
			[]results.SweepRow{row(120, 120, 1), row(162, 162, 1)}, nil,
		},
		"another limit is certainly broken": {
			[]results.Reading{{Condition: limit, Met: true}, {Condition: other, Met: true}},
			[]results.Reading{{Condition: limit}, {Condition: other}},
			[]results.SweepRow{row(90, 110, 2), row(110, 140, 2)}, nil,
		},
		"too few requests": {
			[]results.Reading{{Condition: limit, Met: true, Doubt: "too few requests for this percentile"}}, nil,
			[]results.SweepRow{row(90, 90, 1)}, []string{"Not decided at 64: time_to_first_token p95 has too few requests for this percentile."},
		},
	} {
		b := results.Boundary{Pass: &results.SweepEdge{Value: 64, Readings: tt.pass}}
		if tt.fail != nil {
			b.Fail = &results.SweepEdge{Value: 80, Row: 1, Readings: tt.fail}
		}
		s := results.Sweep{Rows: tt.rows, Search: &results.SweepSearch{Boundaries: []results.Boundary{b}}}
		if diff := cmp.Diff(tt.want, s.Undecided()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
