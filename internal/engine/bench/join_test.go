package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The states of a phase at several load generators add up; what is expected of it stays, and it ends with the last.
func TestJoin(t *testing.T) {
	const second = time.Second
	a := PhaseStats{
		Start: 2 * second, SentEnd: 8 * second, RequestsEnd: 9 * second, LastUpdate: 9 * second, ExpectedRequests: 100, Sent: 30,
		Completed: 28, Errors: 3, Records: RecordCounts{Success: 25, Errors: 3, From: 3 * second}, BacklogMax: 4,
		Arrivals: Arrivals{Used: 30, First: 2 * second, Last: 8 * second, WaitMax: second}, End: PhaseCompleted,
	}
	b := PhaseStats{
		Start: second, SentEnd: 7 * second, LastUpdate: 10 * second, ExpectedRequests: 100, Sent: 20, Completed: 15, Cancelled: 1,
		Records: RecordCounts{Success: 15, From: 2 * second}, BacklogMax: 2,
		Arrivals: Arrivals{Used: 20, First: 3 * second, Last: 9 * second, WaitMax: 3 * second}, DurationReached: true,
	}
	want := PhaseStats{
		Start: second, SentEnd: 8 * second, LastUpdate: 10 * second, ExpectedRequests: 100, Sent: 50, Completed: 43, Cancelled: 1,
		Errors: 3, Records: RecordCounts{Success: 40, Errors: 3, From: 2 * second}, BacklogMax: 6,
		Arrivals: Arrivals{Used: 50, First: 2 * second, Last: 9 * second, WaitMax: 3 * second}, DurationReached: true,
	}
	for _, order := range [][2]PhaseStats{{a, b}, {b, a}} {
		got := order[0]
		got.Join(&order[1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	b.End = PhaseCancelled
	if a.Join(&b); a.End != PhaseCancelled {
		t.Errorf("end %q", a.End)
	}
}
