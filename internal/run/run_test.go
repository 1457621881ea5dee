package run

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// The verdict of a study is that of its runs, once it has ended.
func TestObjectivesVerdict(t *testing.T) {
	met, missed, open := StudyObjective{Runs: 2}, StudyObjective{Runs: 2, Missed: 1}, StudyObjective{Uncounted: 2}
	for _, c := range []struct {
		name string
		run  Run
		want string
	}{
		{"no objective", Run{Study: &Study{}, State: bench.StateCompleted}, ""},
		{"met", Run{Study: &Study{Objectives: []StudyObjective{met}}, State: bench.StateCompleted}, "pass"},
		{"missed", Run{Study: &Study{Objectives: []StudyObjective{met, missed, open}}, State: bench.StateCompleted}, "fail"},
		{"not judged", Run{Study: &Study{Objectives: []StudyObjective{met, open}}, State: bench.StateCompleted}, ""},
		{"not ended", Run{Study: &Study{Objectives: []StudyObjective{missed}}, State: bench.StateExporting}, ""},
		{"a run", Run{Summary: &Summary{SLOs: []metric.SLOResult{{Met: true}, {}}}, State: bench.StateCompleted}, "fail"},
	} {
		got := ""
		if v := c.run.ObjectivesVerdict(); v != nil {
			got = *v
		}
		if got != c.want {
			t.Errorf("%s: verdict %q, want %q", c.name, got, c.want)
		}
	}
}
