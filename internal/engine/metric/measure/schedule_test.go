package measure

import (
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// TestEveryLatencyHasItsTwin checks by their definitions that every metric that counts
// from the start of a request also counts from when it was due, and differs by
// the schedule lag.
func TestEveryLatencyHasItsTwin(t *testing.T) {
	o := everything()
	all := recordValues(handRecord(), o)
	n := 0
	for _, r := range catalogue.Rows() {
		if r.Each == nil || r.Unit != "ms" || r.Flags&catalogue.ProducesImagesOnly != 0 || !strings.Contains(r.Doc, "minus the start of the request") {
			continue
		}
		n++
		twin, ok := catalogue.Lookup("corrected_" + r.Tag)
		if !ok {
			t.Errorf("%s has no twin from the due time", r.Tag)
			continue
		}
		if strings.Contains(twin.Doc, "start of the request") || twin.Flags&catalogue.OpenLoopOnly == 0 || twin.Flags&^catalogue.OpenLoopOnly != r.Flags {
			t.Errorf("%s: %s, flags %v", twin.Tag, twin.Doc, twin.Flags)
		}
		if r.Flags&catalogue.Experimental != 0 {
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
			if r == nil && want >= 0 || r != nil && statistic(t, results, tag, metric.Avg) != want {
				t.Errorf("%s: %s = %+v, want %v", test.name, tag, r, want)
			}
		}
	}
}

// TestReplayLag computes the lags of a replay by hand.
func TestReplayLag(t *testing.T) {
	replay := everything()
	replay.Replay = true
	sketched := replay
	sketched.Budget = -1
	even := func(n int, step time.Duration) (out []time.Duration) {
		for i := range n {
			out = append(out, 3*ms+time.Duration(i)*step)
		}
		return out
	}
	for _, test := range []struct {
		name      string
		opts      Options
		offsets   []time.Duration // < 0 = the turn has no timestamp
		want      [4]float64      // p50, p90, p99, degraded; -1 = absent
		tolerance float64
	}{
		{"the least late request is the base", replay, even(101, ms), [4]float64{50, 90, 99, 0}, 1e-9},
		{"turns without a timestamp do not count", replay, append(even(101, ms), -1, -1), [4]float64{50, 90, 99, 0}, 1e-9},
		{"degraded", replay, even(101, 10*ms), [4]float64{500, 900, 990, 1}, 1e-9},
		{"exactly 500 ms are not", replay, []time.Duration{0, 500 * ms, 500 * ms, 500 * ms}, [4]float64{500, 500, 500, 0}, 1e-9},
		{"from a sketch", sketched, even(101, 10*ms), [4]float64{500, 900, 990, 1}, 0.01},
		{"no timestamps", replay, []time.Duration{-1, -1}, [4]float64{-1, -1, -1, -1}, 0},
		{"no replay", everything(), even(101, ms), [4]float64{-1, -1, -1, -1}, 0},
	} {
		set := newSet(t, test.opts)
		for _, offset := range test.offsets {
			r := handRecord()
			if offset >= 0 {
				r.Stamps.Scheduled = r.Stamps.Start - offset
			}
			set.Observe(r)
		}
		failed := failedRecord(bench.StreamTruncated)
		failed.Stamps.Scheduled = 1
		set.Observe(failed)
		results := set.Final(time.Minute, bench.PhaseStats{})
		for i, tag := range []string{"replay_sched_lag_p50", "replay_sched_lag_p90", "replay_sched_lag_p99", "replay_sched_degraded"} {
			got := -1.0
			if res := results.Find(tag); res != nil {
				got, _ = res.Get(metric.Avg)
			}
			if !near(got, test.want[i], test.tolerance) {
				t.Errorf("%s: %s = %v, want %v", test.name, tag, got, test.want[i])
			}
		}
	}
}

// TestClosedLoopEfficiency: the slots lose what lies between the due time and the start of
// a request, except for the wait for its prefill.
func TestClosedLoopEfficiency(t *testing.T) {
	o := everything()
	o.OpenLoop, o.Prefill = false, true
	s, err := NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	at := func(due, queued, permit, start, end time.Duration) {
		s.Observe(&bench.Record{
			Stamps: bench.Stamps{Due: due * ms, Queued: queued * ms, Permit: permit * ms, Start: start * ms, End: end * ms},
			Answer: bench.Answer{Chunks: []bench.Chunk{{At: end * ms}}},
		})
	}
	at(10, 0, 10, 10, 110)    // 100 of 100 ms
	at(110, 0, 130, 130, 210) // 80 of 100 ms
	at(210, 210, 260, 260, 310)
	at(310, 320, 370, 370, 410) // 40 of 50 ms
	results := s.Final(time.Second, bench.PhaseStats{Start: ms, RequestsEnd: time.Second})
	for tag, want := range map[string]float64{"closed_loop_efficiency": (100 + 80 + 50 + 40) / (100 + 100 + 50 + 50.0), "prefill_wait": 50} {
		m := results.Find(tag)
		if m == nil {
			t.Fatalf("no %s", tag)
		}
		if got, _ := m.Get(metric.Avg); !near(got, want, 1e-12) {
			t.Errorf("%s = %v, want %v", tag, got, want)
		}
	}
	open, err := NewSet(everything())
	if err != nil {
		t.Fatal(err)
	}
	if m := open.Final(time.Second, bench.PhaseStats{Start: ms}).Find("closed_loop_efficiency"); m != nil {
		t.Errorf("an open loop has %+v", m)
	}
}
