package members

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/cluster/wire"
)

const run, other = "0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff"

// history is a table of workers, and what has become of them.
type history struct {
	t     *testing.T
	table *Table
	now   time.Duration
	lines []string
	last  map[string]uint64 // numbers of snapshots, by instance
}

func newHistory(t *testing.T, o Options) *history {
	return &history{t: t, table: New(o), last: map[string]uint64{}}
}

// note notes changes.
func (h *history) note(changes []Change) {
	for _, c := range changes {
		line := fmt.Sprintf("%v %s %v to %v", h.now, c.Member.Name, c.From, c.Member.State)
		if c.Late {
			line = fmt.Sprintf("%v %s late: %v", h.now, c.Member.Name, c.Member.Late)
		}
		if c.Member.Reason != "" {
			line += ": " + c.Member.Reason
		}
		h.lines = append(h.lines, strings.Replace(line, "state 0", "unknown", 1))
	}
}

// did notes the changes of an event that must be possible.
func (h *history) did(changes []Change, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Error(err)
	}
	h.note(changes)
}

// want compares what has become of the workers since the last call.
func (h *history) want(lines ...string) {
	h.t.Helper()
	if diff := cmp.Diff(lines, h.lines); diff != "" {
		h.t.Errorf("changes (-want +got):\n%s", diff)
	}
	h.lines = nil
}

func (h *history) join(name, instance string) wire.Welcome {
	j := wire.Join{Name: name, Instance: instance, Build: wire.Build{Version: "v1"}, Labels: map[string]string{"name": name, "region": "eu"}}
	w, changes := h.table.Join(h.now, j)
	h.note(changes)
	return w
}

// snapshot sends the next snapshot of a worker, and returns whether the table knows it.
func (h *history) snapshot(instance, run string, a wire.Activity) bool {
	h.last[instance]++
	known, changes := h.table.Snapshot(h.now, instance, &wire.Snapshot{Run: run, Sequence: h.last[instance], Activity: a})
	h.note(changes)
	return known
}

// pass lets time pass; Tick is called when it is due, and at the end.
func (h *history) pass(d time.Duration) {
	end := h.now + d
	for {
		at, ok := h.table.Next()
		if !ok || at > end {
			break
		}
		if at <= h.now {
			h.t.Fatalf("the next tick is due at %v, and it is %v", at, h.now)
		}
		h.now = at
		changes := h.table.Tick(h.now)
		if len(changes) == 0 {
			h.t.Errorf("%v: the tick has found nothing", h.now)
		}
		h.note(changes)
	}
	h.now = end
	h.note(h.table.Tick(h.now))
}

var agreed = Expected{Plan: wire.DigestOf([]byte("plan")), Schedule: wire.DigestOf([]byte("schedule")), Build: wire.Build{Version: "v1"}}

func ready() *wire.Ready {
	return &wire.Ready{Run: run, Plan: agreed.Plan, Schedule: agreed.Schedule}
}

func (h *history) ready(instance string, r *wire.Ready) string {
	h.t.Helper()
	reason, changes, err := h.table.Ready(instance, r, agreed)
	h.did(changes, err)
	return reason
}

// running brings workers into a run.
func (h *history) running(instances ...string) {
	for _, instance := range instances {
		h.join(instance, instance)
		h.did(h.table.Prepare(instance, run))
		h.ready(instance, ready())
		h.did(h.table.Confirm(instance, run))
		h.snapshot(instance, run, wire.Running)
	}
	h.lines = nil
}

// A run of two phases, between which there is a barrier.
func TestRun(t *testing.T) {
	h := newHistory(t, Options{Epoch: 7})
	if got, want := h.join("a", "a"), (wire.Welcome{Heartbeat: time.Second, LostAfter: 10 * time.Second, Epoch: 7}); got != want {
		t.Errorf("welcome %+v, want %+v", got, want)
	}
	h.snapshot("a", "", wire.Idle)
	h.did(h.table.Prepare("a", run))
	h.snapshot("a", "", wire.Idle) // it was under way
	h.snapshot("a", run, wire.Preparing)
	if reason := h.ready("a", ready()); reason != "" {
		t.Error(reason)
	}
	h.snapshot("a", run, wire.Waiting)
	h.did(h.table.Confirm("a", run))
	h.snapshot("a", run, wire.Waiting)
	h.snapshot("a", run, wire.Running)
	h.snapshot("a", run, wire.Running)
	h.snapshot("a", run, wire.Draining)
	h.snapshot("a", run, wire.Waiting)
	h.did(h.table.Confirm("a", run))
	h.snapshot("a", run, wire.Draining) // one that ran for less than a second
	h.snapshot("a", run, wire.Reporting)
	h.did(h.table.Report("a", run))
	h.snapshot("a", "", wire.Idle)
	h.note(h.table.Release(run))
	h.want("0s a unknown to idle",
		"0s a idle to preparing", "0s a preparing to ready", "0s a ready to armed", "0s a armed to running",
		"0s a running to draining", "0s a draining to ready", "0s a ready to armed", "0s a armed to draining",
		"0s a draining to reporting", "0s a reporting to idle")
}

// A worker is late after 3 s and lost after 10 s without a new snapshot. A lost one has to join again, and has no part
// of the run any more.
func TestSilence(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("a", "b")
	for range 12 {
		h.pass(time.Second)
		h.snapshot("b", run, wire.Running)
	}
	h.want("3s a late: true", "10s a running to lost: the worker has sent nothing for 10s")
	if got := h.table.Of(run); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("the run has %v", got)
	}
	if h.snapshot("a", run, wire.Running) {
		t.Error("a lost worker is known")
	}
	h.join("a", "a")
	h.want("12s a lost to idle")
	if m, _ := h.table.Member("a"); m.Run != "" || m.Reason != "" || m.Sequence != 0 {
		t.Errorf("after it has joined again: %+v", m)
	}
}

// A late worker that is heard of again goes on.
func TestLate(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("a")
	h.pass(9 * time.Second)
	if got := h.table.Eligible(nil); len(got) != 0 {
		t.Errorf("eligible: %v", got)
	}
	h.snapshot("a", run, wire.Running)
	h.pass(5 * time.Second)
	h.want("3s a late: true", "9s a late: false", "12s a late: true")
}

// Snapshots that are doubled or out of order change nothing, and are no sign of life.
func TestOldSnapshots(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("a")
	h.snapshot("a", run, wire.Draining)
	h.lines = nil
	for range 12 {
		h.pass(time.Second)
		known, changes := h.table.Snapshot(h.now, "a", &wire.Snapshot{Run: run, Sequence: 1, Activity: wire.Running})
		if want := h.now < 10*time.Second; known != want {
			t.Errorf("%v: known %v, want %v", h.now, known, want)
		}
		h.note(changes)
	}
	h.want("3s a late: true", "10s a draining to lost: the worker has sent nothing for 10s")
}

// One name belongs to one worker. Who is started again gets it when the other one is lost, or at once if that has said
// goodbye or is known to be gone.
func TestNames(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("a")
	h.pass(4 * time.Second)
	w := h.join("a", "a2")
	if w.Refusal != wire.RefusedName || !strings.Contains(w.Detail, "4s ago; it is lost after 10s") {
		t.Errorf("a second worker of the name: %+v", w)
	}
	if w := h.join("a", "a"); w.Refusal != "" {
		t.Errorf("the same worker again: %+v", w)
	}
	h.pass(6 * time.Second)
	h.join("a", "a2")
	h.note(h.table.Goodbye("a2", "drained"))
	h.note(h.table.Goodbye("a2", "drained"))
	h.join("a", "a3")
	h.note(h.table.Gone("a3", "its process has ended"))
	h.join("a", "a4")
	h.want("3s a late: true", "10s a running to lost: the worker has sent nothing for 10s", "10s a unknown to idle",
		"10s a idle to left: drained", "10s a unknown to idle", "10s a idle to lost: its process has ended", "10s a unknown to idle")
	if got := h.table.Members(); len(got) != 1 || got[0].Instance != "a4" {
		t.Errorf("members: %v", got)
	}
	if h.table.Goodbye("nobody", "x") != nil {
		t.Error("somebody unknown has left")
	}
}

func TestFull(t *testing.T) {
	h := newHistory(t, Options{Most: 2})
	h.join("a", "a")
	h.join("b", "b")
	if w := h.join("c", "c"); w.Refusal != wire.RefusedFull {
		t.Errorf("a third worker: %+v", w)
	}
	if w := h.join("b", "b"); w.Refusal != "" {
		t.Errorf("a member again: %+v", w)
	}
	h.table.Goodbye("b", "")
	if w := h.join("c", "c"); w.Refusal != "" {
		t.Errorf("in place of one that has left: %+v", w)
	}
	h.pass(2 * time.Hour)
	h.join("d", "d")
	if got := h.table.Members(); len(got) != 1 {
		t.Errorf("two hours later: %v, want only the new one", got)
	}
}

// A worker whose load would be another one is refused; one that cannot perform its part may get another one.
func TestReady(t *testing.T) {
	tests := []struct {
		name   string
		change func(*wire.Ready)
		build  wire.Build
		reason string
		state  State
	}{
		{"agreed", func(*wire.Ready) {}, wire.Build{Version: "v1"}, "", Ready},
		{"another build with the same schedule", func(*wire.Ready) {}, wire.Build{Version: "v2"}, "", Ready},
		{
			"another schedule", func(r *wire.Ready) { r.Schedule = wire.Digest{} }, wire.Build{Version: "v1"},
			"the schedule of the worker a is another than that of the controller", Refused,
		},
		{
			"another schedule by another build", func(r *wire.Ready) { r.Schedule = wire.Digest{} }, wire.Build{Version: "v2", Revision: "abc"},
			"the schedule of the worker a is another than that of the controller; their builds differ, too: v2 (abc) and v1 ()", Refused,
		},
		{
			"another dataset", func(r *wire.Ready) { r.Dataset, r.Schedule = wire.DigestOf(nil), wire.Digest{} }, wire.Build{Version: "v1"},
			"the dataset of the worker a is another than that of the controller", Refused,
		},
		{
			"another document", func(r *wire.Ready) { r.Plan = wire.Digest{} }, wire.Build{Version: "v1"},
			"the document of the worker a is another than that of the controller", Refused,
		},
		{"no room", func(r *wire.Ready) { r.Problem = "the disk is full" }, wire.Build{Version: "v1"}, "the disk is full", Idle},
	}
	for _, tt := range tests {
		h := newHistory(t, Options{})
		h.table.Join(0, wire.Join{Name: "a", Instance: "a", Build: tt.build})
		h.did(h.table.Prepare("a", run))
		r := ready()
		tt.change(r)
		reason := h.ready("a", r)
		m, _ := h.table.Member("a")
		if reason != tt.reason || m.State != tt.state || (m.State == Ready) != (m.Run == run) {
			t.Errorf("%s: %q and %s in %q, want %q and %s", tt.name, reason, m.State, m.Run, tt.reason, tt.state)
		}
		if m.State == Refused {
			if w := h.join("a", "a"); w.Refusal != "" {
				t.Errorf("%s: joins again: %+v", tt.name, w)
			}
			if m, _ := h.table.Member("a"); m.State != Refused {
				t.Errorf("%s: %s after it has joined again", tt.name, m.State)
			}
		}
	}
}

// A worker that has given up its part, for it had no controller for a while, is lost for the run.
func TestGivenUp(t *testing.T) {
	for _, activity := range []wire.Activity{wire.Running, wire.Draining} {
		h := newHistory(t, Options{})
		h.running("a")
		h.snapshot("a", run, activity)
		h.lines = nil
		if !h.snapshot("a", "", wire.Idle) {
			t.Error("the worker was unknown when it said so")
		}
		h.want(fmt.Sprintf("0s a %s to lost: the worker no longer performs its part", activity))
		if h.snapshot("a", "", wire.Idle) {
			t.Error("a lost worker is known")
		}
	}
}

// Events that do not fit are errors, and change nothing.
func TestMisfits(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("a")
	h.join("b", "b")
	for name, event := range map[string]func() ([]Change, error){
		"prepare who is running":       func() ([]Change, error) { return h.table.Prepare("a", other) },
		"prepare somebody unknown":     func() ([]Change, error) { return h.table.Prepare("c", run) },
		"arm who is running":           func() ([]Change, error) { return h.table.Confirm("a", run) },
		"arm who is idle":              func() ([]Change, error) { return h.table.Confirm("b", run) },
		"report of another run":        func() ([]Change, error) { return h.table.Report("a", other) },
		"report of somebody idle":      func() ([]Change, error) { return h.table.Report("b", "") },
		"ready when nobody asked":      func() ([]Change, error) { _, c, err := h.table.Ready("b", ready(), agreed); return c, err },
		"ready of somebody unknown":    func() ([]Change, error) { _, c, err := h.table.Ready("c", ready(), agreed); return c, err },
		"ready of a run long finished": func() ([]Change, error) { _, c, err := h.table.Ready("a", ready(), agreed); return c, err },
	} {
		before := h.table.Members()
		var misfit *StateError
		if changes, err := event(); !errors.As(err, &misfit) || changes != nil {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
		if diff := cmp.Diff(before, h.table.Members()); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

func TestEligible(t *testing.T) {
	h := newHistory(t, Options{})
	h.running("c")
	h.join("b", "b")
	h.join("a", "a")
	names := func(labels map[string]string) string {
		var out []string
		for _, m := range h.table.Eligible(labels) {
			out = append(out, m.Name)
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		labels map[string]string
		want   string
	}{
		{nil, "a b"},
		{map[string]string{"region": "eu"}, "a b"},
		{map[string]string{"region": "eu", "name": "b"}, "b"},
		{map[string]string{"region": "us"}, ""},
		{map[string]string{"zone": ""}, ""},
	} {
		if got := names(tt.labels); got != tt.want {
			t.Errorf("with %v: %q, want %q", tt.labels, got, tt.want)
		}
	}
	h.note(h.table.Release(run))
	if got := names(nil); got != "a b c" {
		t.Errorf("after the run: %q", got)
	}
}

// The grace of an orphan ends before its controller takes it for lost, whenever messages arrive: it counts from the
// sending of what was acknowledged, the controller from its arrival.
func TestOrphan(t *testing.T) {
	const lost = 10 * time.Second
	o := NewOrphan(time.Second, lost)
	want := func(at time.Duration) {
		t.Helper()
		if got := o.Deadline(); got != at {
			t.Errorf("deadline %v, want %v", got, at)
		}
	}
	want(10 * time.Second)
	for n := range uint64(5) {
		o.Sent(n+1, time.Duration(n+2)*time.Second)
	}
	want(10 * time.Second) // sending alone is no sign of a controller
	o.Acknowledged(2)
	want(12 * time.Second)
	o.Acknowledged(4)
	o.Acknowledged(3) // late
	o.Acknowledged(4) // double
	o.Acknowledged(9) // never sent: everything sent was before it
	want(14 * time.Second)
	for n := range uint64(1000) {
		o.Sent(n+6, time.Duration(n+7)*time.Second)
	}
	if len(o.sent) > unanswered {
		t.Errorf("%d snapshots are remembered", len(o.sent))
	}
	o.Acknowledged(6) // long forgotten
	want(14 * time.Second)
	o.Acknowledged(1005)
	want(1006*time.Second + 9*time.Second)
}

// Whatever the delay of messages up to a moment at which the network breaks: the worker has stopped when the
// controller gives its part away.
func TestFence(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Millisecond, time.Second, 5 * time.Second} {
		h := newHistory(t, Options{})
		o := NewOrphan(0, DefaultLost)
		h.running("a")
		const broken = 20 * time.Second
		for sent := time.Second; sent+2*delay < broken; sent += time.Second {
			o.Sent(uint64(sent/time.Second), sent)
			h.pass(sent + delay - h.now)
			h.snapshot("a", run, wire.Running)
			o.Acknowledged(uint64(sent / time.Second))
		}
		h.lines = nil
		for m, _ := h.table.Member("a"); m.State != Lost; m, _ = h.table.Member("a") {
			at, _ := h.table.Next()
			h.pass(at - h.now)
		}
		if h.now < o.Deadline()+margin {
			t.Errorf("delay %v: lost at %v, and the worker stops at %v", delay, h.now, o.Deadline())
		}
	}
}
