package runs

import (
	"fmt"
	"testing"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
)

// What a list shows of a run that has ended is kept for that run and that end only, in bounds.
func TestEndedRuns(t *testing.T) {
	ended := time.Unix(1, 0)
	r := &run.Run{ID: "a", EndedAt: &ended}
	var e endedRuns
	if _, found := e.find(r); found {
		t.Error("the first look finds something")
	}
	e.keep(r, &wire.Run{Progress: &wire.RunProgress{Sent: 3}})
	if last, found := e.find(r); !found || last.progress.Sent != 3 {
		t.Errorf("find = %+v, %v, want the progress that was kept", last, found)
	}
	later := ended.Add(time.Second)
	for _, other := range []*run.Run{{ID: "a"}, {ID: "a", EndedAt: &later}, {ID: "b", EndedAt: &ended}} {
		if _, found := e.find(other); found {
			t.Errorf("%s, ended at %v, is taken for another", other.ID, other.EndedAt)
		}
	}
	for i := range 2 * maxEnded {
		e.keep(&run.Run{ID: fmt.Sprint(i), EndedAt: &ended}, &wire.Run{})
	}
	if n := len(e.known); n > maxEnded {
		t.Errorf("%d runs are kept, want at most %d", n, maxEnded)
	}
}
