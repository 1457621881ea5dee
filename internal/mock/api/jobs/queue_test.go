package jobs

import (
	"testing"
	"time"
)

// The number of stored jobs is bounded.
func TestJobsAreForgotten(t *testing.T) {
	q := NewQueue(1, nil, func() time.Duration { return 0 })
	for i := range maxJobs {
		if !q.Submit(&Job{ID: string(rune(i)), Submitted: 1, Needs: Never, End: Done}) {
			t.Fatalf("job %d is refused", i)
		}
	}
	if q.Submit(&Job{ID: "more", Submitted: 1, End: Done}) {
		t.Error("one more job than can be remembered is taken")
	}
	q.Cancel(string(rune(0)), 2)
	if !q.Submit(&Job{ID: "more", Submitted: 3, End: Done}) || len(q.order) != maxJobs || len(q.byID) != maxJobs {
		t.Errorf("a job that is over does not make room: %d, %d", len(q.order), len(q.byID))
	}
}
