package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// subscribeTo returns a subscription to types of messages of every run.
func subscribeTo(h *Hub, kinds ...string) *subscription {
	s := newSubscription(h)
	s.run = everyRun
	for _, k := range kinds {
		s.kinds[k] = true
	}
	return s
}

// Replaceable messages replace each other, and the order by number is kept.
func TestCoalescing(t *testing.T) {
	h := NewHub(0)
	c := subscribeTo(h, kindMetrics, kindPhaseComplete)
	phase := &run.Phase{Stats: bench.PhaseStats{Name: "p"}}
	for range 3 {
		h.Publish(ofRun("a", run.EventMetrics, bench.StateRunning))
		ev := ofRun("a", run.EventPhaseComplete, bench.StateRunning)
		ev.Phase = phase
		h.Publish(ev)
	}
	var got []string
	for _, m := range c.queue {
		got = append(got, fmt.Sprint(m.kind, " ", m.id.seq))
	}
	want := []string{"credit_phase_complete 2", "credit_phase_complete 4", "realtime_metrics 5", "credit_phase_complete 6"}
	if !slices.Equal(got, want) {
		t.Errorf("queue = %v, want %v", got, want)
	}
	size := 0
	for _, m := range c.queue {
		size += len(m.data)
	}
	if c.bytes != size {
		t.Errorf("bytes = %d, want %d", c.bytes, size)
	}
}

func TestFullQueue(t *testing.T) {
	h := NewHub(0)
	c := subscribeTo(h)
	big := make([]byte, queueBytes/2)
	if lost := c.enqueue(message{data: big}) + c.enqueue(message{data: big}); lost != 0 {
		t.Fatalf("lost %d", lost)
	}
	if lost := c.enqueue(message{key: "k", data: []byte("x")}); lost != 1 || c.closing != nil {
		t.Errorf("a replaceable message that does not fit: lost %d, closing %v", lost, c.closing)
	}
	if lost := c.enqueue(message{data: []byte("x")}); lost != 3 || c.closing == nil || c.closing.code != 1013 {
		t.Errorf("a message that must not be lost: lost %d, closing %+v", lost, c.closing)
	}
	if len(c.queue) != 1 || !strings.Contains(string(c.queue[0].data), "slow_consumer") {
		t.Errorf("queue = %v", c.queue)
	}
	if lost := c.enqueue(message{data: []byte("x")}); lost != 0 || len(c.queue) != 1 {
		t.Errorf("after giving up: lost %d, %d queued", lost, len(c.queue))
	}
}

// A replay that falls behind its ring is a slow consumer.
func TestReplayOverrun(t *testing.T) {
	h := NewHub(0)
	c := subscribeTo(h, kindMetrics)
	h.Publish(ofRun("a", run.EventMetrics, bench.StateRunning))
	c.queue, c.bytes = nil, 0
	c.replay = &replay{run: "a", next: 1}
	s := h.streams["a"]
	s.ring = []message{{id: eventID{seq: 5}}}
	s.seq = 5
	batch, _ := c.take()
	if len(batch) != 1 || !strings.Contains(string(batch[0].data), "slow_consumer") || c.closing == nil {
		t.Errorf("batch = %v, closing = %v", batch, c.closing)
	}
}

// A subscription filters by type and by run, replays what its ring still has, and
// reports a gap and sends the latest messages if the ring has not.
func TestSubscribe(t *testing.T) {
	since := func(n uint64) *uint64 { return &n }
	for _, tt := range []struct {
		name string
		d    demand
		want []string
	}{
		{"no replay", demand{known: []string{kindMetrics}, follow: "a", id: "a"}, []string{`{"type":"subscribed"`, "a 4"}},
		{"of another run", demand{known: []string{everyRun}, follow: "b", id: "b"}, []string{`{"type":"subscribed"`}},
		{"replay", demand{known: []string{kindMetrics}, follow: "a", id: "a", since: since(2)}, []string{`{"type":"subscribed"`, "a 3", "a 4"}},
		{"gap", demand{known: []string{kindMetrics}, follow: "a", id: "a", since: since(0)}, []string{`{"type":"subscribed"`, `{"type":"error"`, "a 3", "a 4"}},
		{"latest", demand{known: []string{kindMetrics}, follow: everyRun, snapshot: true}, []string{`{"type":"subscribed"`, "a 3", "a 4"}},
		{"other types", demand{known: []string{kindDeleted}, follow: everyRun, snapshot: true}, []string{`{"type":"subscribed"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHub(0)
			for range 3 {
				h.Publish(ofRun("a", run.EventMetrics, bench.StateRunning))
			}
			h.streams["a"].ring = h.streams["a"].ring[1:] // the oldest message was removed
			s := newSubscription(h)
			s.subscribe(tt.d)
			batch, _ := s.take()
			h.Publish(ofRun("a", run.EventMetrics, bench.StateRunning))
			more, end := s.take()
			var got []string
			for _, m := range append(batch, more...) {
				if m.run == "" {
					text, _, _ := strings.Cut(string(m.data), ",")
					got = append(got, text)
				} else {
					got = append(got, fmt.Sprint(m.run, " ", m.id.seq))
				}
			}
			if !slices.Equal(got, tt.want) || end != nil {
				t.Errorf("messages %q, end %v, want %q", got, end, tt.want)
			}
		})
	}
}
