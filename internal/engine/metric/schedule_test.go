package metric

import (
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

// TestEveryLatencyHasItsTwin checks by their definitions that every metric that counts
// from the start of a request also counts from when it was due, and differs by
// the schedule lag.
func TestEveryLatencyHasItsTwin(t *testing.T) {
	o := everything()
	all := recordValues(handRecord(), o)
	n := 0
	for _, r := range latencyRows() {
		r = r.completed()
		if r.unit != inMS || !strings.Contains(r.Doc, "minus the start of the request") {
			continue
		}
		n++
		twin, ok := Lookup("corrected_" + r.Tag)
		if !ok {
			t.Errorf("%s has no twin from the due time", r.Tag)
			continue
		}
		if strings.Contains(twin.Doc, "start of the request") || twin.Flags&OpenLoopOnly == 0 || twin.Flags&^OpenLoopOnly != r.Flags {
			t.Errorf("%s: %s, flags %v", twin.Tag, twin.Doc, twin.Flags)
		}
		if r.Flags&Experimental != 0 {
			continue // not in lines
		}
		if got, want := all[twin.Tag], all[r.Tag]+all["schedule_lag"]; !near(got, want, 1e-12) {
			t.Errorf("%s = %v, want %v", twin.Tag, got, want)
		}
	}
	if n < 6 {
		t.Errorf("found %d latencies since the start", n)
	}
}

// TestLateAndDropped checks what an open loop reports about its arrivals, and when
// it does not know.
func TestLateAndDropped(t *testing.T) {
	lags := []time.Duration{0, ms, ms + 1, 5 * ms, time.Second}
	closed := everything()
	closed.OpenLoop = false
	ended := bench.PhaseStats{Start: ms, RequestsEnd: time.Minute, Backlog: 3, End: bench.PhaseCompleted}
	running, restored := ended, ended
	running.RequestsEnd, running.End = 0, ""
	restored.End = bench.PhaseAborted
	for _, test := range []struct {
		name          string
		opts          Options
		phase         bench.PhaseStats
		late, dropped float64 // -1 = absent
	}{
		{"ended", everything(), ended, 3, 3},
		{"running", everything(), running, 3, -1},
		{"restored", everything(), restored, 3, -1},
		{"closed loop", closed, ended, -1, -1},
	} {
		set := newSet(t, test.opts)
		for _, lag := range lags {
			r := handRecord()
			r.Stamps.Due = r.Stamps.Start - lag
			set.Observe(r)
		}
		other := newSet(t, test.opts)
		if err := other.Merge(set); err != nil {
			t.Fatal(err)
		}
		results := other.Final(time.Minute, test.phase)
		for _, tag := range []string{"http_connection_count", "http_preconnected_count"} { // the record file has no connections that were opened ahead
			if known := results.Find(tag) != nil; known == (test.name == "restored") {
				t.Errorf("%s: %s is known: %v", test.name, tag, known)
			}
		}
		for tag, want := range map[string]float64{"late_request_count": test.late, "dropped_arrival_count": test.dropped} {
			r := results.Find(tag)
			if r == nil && want >= 0 || r != nil && statistic(t, results, tag, Avg) != want {
				t.Errorf("%s: %s = %+v, want %v", test.name, tag, r, want)
			}
		}
	}
}
