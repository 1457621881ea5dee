package wire

import (
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Several load generators of a run are the members of a group; one that is not heard of is stale.
func TestWorkersOfCluster(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &run.Run{State: bench.StateRunning}
	s := &run.Snapshot{Wall: now, Workers: []run.WorkerState{
		{Name: "a", State: "running", Requests: 10, Failed: 1, InFlight: 2, Heard: now},
		{Name: "b", State: "running", Requests: 7, Heard: now},
		{Name: "c", State: "lost", Requests: 3, InFlight: 3, Heard: now.Add(-time.Minute)},
	}}
	got := NewWorkers(r, s, Recent{}, now)
	group := got.Groups["cluster"]
	if group.Declared != 3 || group.Ready != 2 || group.Status != Healthy || group.Tasks != (TaskStats{Total: 20, Failed: 1, Completed: 14}) {
		t.Errorf("group: %+v", group)
	}
	for name, want := range map[string]WorkerStatus{"a": Healthy, "b": Idle, "c": Stale} {
		if w := got.Workers[name]; w.Status != want || w.ID != name || group.Workers[name].Status != want {
			t.Errorf("worker %s: %+v, want %s", name, w, want)
		}
	}
	if len(got.Groups) != 1 || len(got.Workers) != 3 {
		t.Errorf("%d groups, %d workers", len(got.Groups), len(got.Workers))
	}
}
