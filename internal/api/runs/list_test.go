package runs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

func TestListParameters(t *testing.T) {
	q, err := parseQuery(map[string][]string{
		"state": {"queued,running"}, "label": {"gpu=h100", "!nightly", "team", "!x=y=z"}, "model": {"m"}, "target": {"t"}, "q": {"text"},
		"created_after": {"2026-05-04T10:00:00Z"}, "created_before": {"2026-05-05T10:00:00.5+02:00"},
		"sort": {"-duration"}, "limit": {"500"}, "cursor": {"c"},
	})
	want := run.Query{
		States: []bench.State{bench.StateQueued, bench.StateRunning},
		Labels: []run.LabelFilter{
			{Name: "gpu", Value: "h100"}, {Name: "nightly", AnyValue: true, Not: true}, {Name: "team", AnyValue: true}, {Name: "x", Value: "y=z", Not: true},
		},
		Model: "m", Target: "t", Text: "text", CreatedAfter: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), CreatedBefore: time.Date(2026, 5, 5, 8, 0, 0, 5e8, time.UTC),
		Sort: run.SortDuration, Descending: true, Limit: 500, Cursor: "c", TopLevel: true,
	}
	if diff := cmp.Diff(want, q); err != nil || diff != "" {
		t.Errorf("parseQuery: %v (-want +got):\n%s", err, diff)
	}
}
