package engine_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// The figures of a public report about a benchmark with a cap on concurrency
// (vllm-project/vllm#54101): p99 of 508 ms as reported, 3,330 ms from the
// schedule. A server that takes 508 ms for each request, 17 at a time, serves
// 33.5 per second of the 40 that are due. Request i starts 508 ms after request
// i-17, which was due 425 ms before it, so it is 83·⌊i/17⌋ ms late. Of 600
// requests, p99 lies between the 594th and the 595th; both have ⌊i/17⌋ = 34 and
// took 508 + 83·34 = 3,330 ms for their users.
func TestReportedP99IsNotFromSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 508*time.Millisecond, 0), nil)
		r := b.run(document("type: constant, rate: 40, concurrency: 17, requests: 600", fileData))
		for _, want := range []struct {
			tag, stat string
			value     float64
		}{
			{"request_latency", "p99", 508}, {"request_latency", "max", 508},
			{"corrected_request_latency", "p99", 3330}, {"corrected_e2e_latency", "p99", 3330},
			{"schedule_lag", "p99", 2822}, {"schedule_lag", "p50", 83 * 17}, {"schedule_lag", "min", 0},
			{"late_request_count", "avg", 600 - 17}, {"dropped_arrival_count", "avg", 0},
		} {
			if got := b.value(r.ID, want.tag, want.stat); got != want.value {
				t.Errorf("%s %s = %v, want %v", want.tag, want.stat, got, want.value)
			}
		}
		b.stop()
	})
}

// Arrivals that still wait when the grace period ends are in no latency, so their number
// is stated.
func TestDroppedArrivalsAreStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		// Due at 0.1, 0.2 … 2.0 s; sent at 0.1, 1.1 and, to be cut, 2.1 s.
		r := b.run(document("type: constant, rate: 10, concurrency: 1, duration: 2.05, gracePeriod: 0.5", fileData))
		for tag, want := range map[string]float64{"request_count": 2, "late_request_count": 2, "dropped_arrival_count": 17} {
			if got := b.value(r.ID, tag, "avg"); got != want {
				t.Errorf("%s = %v, want %v", tag, got, want)
			}
		}
		b.stop()
	})
}
