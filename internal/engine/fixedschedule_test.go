package engine_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// stamped returns turns with these timestamps in seconds; <0 = without one.
func stamped(seconds ...float64) (out []bench.Turn) {
	for _, s := range seconds {
		t := bench.Turn{Texts: []string{"a b"}}
		if s >= 0 {
			t.At, t.Timed = time.Duration(s*float64(time.Second)), true
		}
		out = append(out, t)
	}
	return out
}

// TestFixedSchedule replays a dataset, after a warm-up that uses it too, against a server
// that takes a second for each request.
func TestFixedSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		doc := strings.Replace(document("type: fixed_schedule, concurrency: 2", fileData),
			"  phases:\n", "  phases:\n    - {name: warmup, requests: 2}\n", 1)
		r := b.submitTurns(doc, stamped(10, 10.25, 10.5, 13, 20)...)
		const want = `warmup s0.0 0s-1s 0
warmup s1.0 1s-2s 0
profiling s2.0 2s-3s 0
profiling s3.0 2.25s-3.25s 0
profiling s4.0 3s-4s 500
profiling s5.0 5s-6s 0
profiling s6.0 12s-13s 0
`
		if diff := cmp.Diff(want, b.transcript(r.ID, "schedule_lag")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		for tag, want := range map[string]float64{
			"request_count": 5, "replay_sched_lag_p50": 0, "replay_sched_lag_p90": 300, "replay_sched_lag_p99": 480, "replay_sched_degraded": 0,
			"late_request_count": 1,
		} {
			if got := b.value(r.ID, tag, "avg"); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s = %v, want %v", tag, got, want)
			}
		}
		b.stop()
	})
}

// TestFixedScheduleFails: a conversation without a timestamp ends the run, which keeps
// what it has measured.
func TestFixedScheduleFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.submitTurns(document("type: fixed_schedule", fileData), stamped(1, 2, -1, 4)...)
		const want = `read the dataset: conversation "turn2" has no timestamp: a phase of type fixed_schedule needs one for the first turn of every conversation`
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.DatasetFailed || r.Error.Message != want {
			t.Errorf("run %s with %+v", r.State, r.Error)
		}
		if got := b.value(r.ID, "request_count", "avg"); got != 2 {
			t.Errorf("%v requests, want 2", got)
		}
		b.stop()
	})
}

// TestReplayIsCut: the bound of a replay is a warning.
func TestReplayIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		r := b.submitTurns(document("type: fixed_schedule, requests: 2", fileData), stamped(1, 2, 3)...)
		var cut []string
		for _, w := range r.Warnings {
			if strings.HasPrefix(w.Code, "replay") {
				cut = append(cut, w.Code)
			}
		}
		if diff := cmp.Diff([]string{"replay-cut"}, cut); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		b.stop()
	})
}
