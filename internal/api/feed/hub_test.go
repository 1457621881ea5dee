package feed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

var start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func ofRun(id string, kind run.EventType, state bench.State) run.Event {
	return run.Event{Type: kind, RunID: id, At: start, Run: &run.Run{ID: id, State: state}, Snapshot: &run.Snapshot{}}
}

// The current run is the active one that started last, else the one that ended
// last.
func TestCurrent(t *testing.T) {
	h := NewHub(0)
	steps := []struct {
		ev   run.Event
		want string
	}{
		{ofRun("a", run.EventQueued, bench.StateQueued), ""},
		{ofRun("a", run.EventStateChanged, bench.StateStarting), "a"},
		{ofRun("b", run.EventStateChanged, bench.StateStarting), "b"},
		{ofRun("a", run.EventMetrics, bench.StateRunning), "b"},
		{ofRun("b", run.EventStateChanged, bench.StateCompleted), "b"},
		{ofRun("b", run.EventComplete, bench.StateCompleted), "a"},
		{ofRun("a", run.EventComplete, bench.StateFailed), "a"},
		{ofRun("c", run.EventStateChanged, bench.StateCancelled), "c"}, // out of the queue
		{ofRun("c", run.EventDeleted, ""), "a"},
	}
	for i, step := range steps {
		if step.ev.Type == run.EventDeleted {
			step.ev.Run = nil
		}
		h.Publish(step.ev)
		if got := h.current(); got != step.want {
			t.Errorf("after step %d: current = %q, want %q", i, got, step.want)
		}
	}
	if got := h.Counts().Finished; got[bench.StateCompleted] != 1 || got[bench.StateFailed] != 1 || got[bench.StateCancelled] != 1 {
		t.Errorf("finished = %v", got)
	}
}

// Only the messages of a few ended runs are kept.
func TestEndedStreams(t *testing.T) {
	h := NewHub(0)
	for i := range 10 {
		id := fmt.Sprint(i)
		h.Publish(ofRun(id, run.EventStateChanged, bench.StateRunning))
		h.Publish(ofRun(id, run.EventComplete, bench.StateCompleted))
	}
	if len(h.streams) != endedStreams || h.streams["9"] == nil || len(h.active) != 0 {
		t.Errorf("%d streams, %d active", len(h.streams), len(h.active))
	}
}

func TestRingBounds(t *testing.T) {
	var s stream
	s.latest = map[string]message{}
	for i := range ringMessages + 10 {
		s.seq++
		s.keep(message{id: eventID{seq: s.seq}, data: []byte{byte(i)}})
	}
	if len(s.ring) != ringMessages || s.ring[0].id.seq != 11 || s.bytes != ringMessages {
		t.Errorf("ring: %d messages from %d, %d bytes", len(s.ring), s.ring[0].id.seq, s.bytes)
	}
	s.keep(message{id: eventID{seq: s.seq + 1}, data: make([]byte, ringBytes)})
	if len(s.ring) != 1 || s.bytes != ringBytes {
		t.Errorf("after a huge message: %d messages, %d bytes", len(s.ring), s.bytes)
	}
}

func TestRecent(t *testing.T) {
	h := NewHub(0)
	at := func(second int, completed, errors int64) {
		ev := ofRun("a", run.EventPhaseProgress, bench.StateRunning)
		ev.At = start.Add(time.Duration(second) * time.Second)
		ev.Snapshot = &run.Snapshot{Phases: []run.Phase{{Stats: bench.PhaseStats{Completed: completed, Errors: errors}}}}
		h.Publish(ev)
	}
	at(0, 10, 10)
	at(5, 100, 10)
	at(9, 190, 12)
	for _, tt := range []struct {
		second int
		want   wire.Recent
	}{
		{9, wire.Recent{Completed: 190, Errors: 12}},
		{12, wire.Recent{Completed: 180, Errors: 2}},
		{15, wire.Recent{Completed: 90, Errors: 2}},
		{60, wire.Recent{}},
	} {
		if got := h.Recent("a", start.Add(time.Duration(tt.second)*time.Second)); got != tt.want {
			t.Errorf("Recent after %d s = %+v, want %+v", tt.second, got, tt.want)
		}
	}
	if got := h.Recent("unknown", start); got != (wire.Recent{}) {
		t.Errorf("Recent of an unknown run = %+v", got)
	}
}

// The messages about workers keep AIPerf's cadences.
func TestCadence(t *testing.T) {
	h := NewHub(0)
	counts := map[string]int{}
	for i := range 40 { // ten seconds at four per second
		ev := ofRun("a", run.EventPhaseProgress, bench.StateRunning)
		ev.At = start.Add(time.Duration(i) * 250 * time.Millisecond)
		ev.Snapshot = &run.Snapshot{Wall: ev.At, Process: run.Process{PID: 1}}
		ev.Phase = &run.Phase{Stats: bench.PhaseStats{Name: "p"}}
		h.Publish(ev)
	}
	for _, m := range h.streams["a"].ring {
		counts[m.kind]++
	}
	want := map[string]int{kindPhaseProgress: 40, kindProcessing: 40, kindStatus: 20, kindHealth: 5, kindGroup: 5}
	for kind, n := range want {
		if counts[kind] != n {
			t.Errorf("%s was sent %d times, want %d", kind, counts[kind], n)
		}
	}
}

// Several load generators are one group with the state of each, at the cadences of one.
func TestWorkersOfCluster(t *testing.T) {
	h := NewHub(0)
	var last message
	counts := map[string]int{}
	for i := range 40 {
		ev := ofRun("a", run.EventPhaseProgress, bench.StateRunning)
		ev.At = start.Add(time.Duration(i) * 250 * time.Millisecond)
		ev.Snapshot = &run.Snapshot{Wall: ev.At, Workers: []run.WorkerState{
			{Name: "one", State: "running", Share: 0.5, Requests: 20, Failed: 1, InFlight: 2, Heard: ev.At, Rate: new(4.5), AskedRate: new(5.0)},
			{Name: "two", State: "lost", Reason: "no message for 10s", Share: 0.5, Heard: start},
		}}
		h.Publish(ev)
	}
	for _, m := range h.streams["a"].ring {
		counts[m.kind]++
		if m.kind == kindGroup {
			last = m
		}
	}
	if counts[kindStatus] != 20 || counts[kindGroup] != 5 || counts[kindHealth] != 0 {
		t.Errorf("messages: %v", counts)
	}
	for _, want := range []string{
		`"group_id":"cluster"`, `"declared_workers":2,"ready_workers":1`, `"sent_rate":4.5,"asked_rate":5`,
		`"worker_statuses":{"one":"healthy","two":"stale"}`, `"one":{"total":20,"failed":1,"completed":17}`,
		`"state":"lost","reason":"no message for 10s"`,
	} {
		if !strings.Contains(string(last.data), want) {
			t.Errorf("no %s in %s", want, last.data)
		}
	}
}

// A failed start has its reason in a message of AIPerf's type.
func TestServiceError(t *testing.T) {
	h := NewHub(0)
	ev := ofRun("a", run.EventStateChanged, bench.StateFailed)
	ev.Run.Error = &run.Error{Code: run.TokenizerFailed, Message: "no such file"}
	h.Publish(ev)
	ring := h.streams["a"].ring
	want := `{"message_type":"service_error","service_id":"system_controller","run_id":"a","seq":3,"ts_ns":1777888800000000000,"error":{"code":"tokenizer","message":"no such file"}}`
	if got := string(ring[len(ring)-1].data); got != want {
		t.Errorf("last message = %s, want %s", got, want)
	}
}

func TestPlaces(t *testing.T) {
	h := NewHub(2)
	first, second, third := h.Reserve(), h.Reserve(), h.Reserve()
	if !first || !second || third {
		t.Error("a hub for two takes exactly two")
	}
	h.Release()
	if !h.Reserve() {
		t.Error("a place that was released is not given again")
	}
}

// The verdict on the client is sent with the metrics, if there is one.
func TestClientVerdict(t *testing.T) {
	h := NewHub(0)
	ev := ofRun("a", run.EventMetrics, bench.StateRunning)
	h.Publish(ev)
	report := verdict.Overall(nil)
	ev.Snapshot = &run.Snapshot{Client: &report}
	h.Publish(ev)
	var bodies []string
	for _, m := range h.streams["a"].ring {
		if m.kind == kindClient {
			bodies = append(bodies, string(m.data))
		}
	}
	if len(bodies) != 1 || !strings.Contains(bodies[0], `"client":{"verdict":"unknown","reasons":[],"evidence":[],"bias":[],`) {
		t.Errorf("messages: %q", bodies)
	}
}
