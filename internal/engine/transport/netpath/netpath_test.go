package netpath

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
)

// TestWindows replays readings of two connections as the kernel gives them.
func TestWindows(t *testing.T) {
	const ms = time.Millisecond
	log := &Log{}
	first := log.Open()
	a, b := NewConn(log, "one:80"), NewConn(log, "one:80")
	end := func(c *Conn, at time.Duration, info sockstamp.Info) bench.PathCount {
		return c.ResponseEnded(at, func() (sockstamp.Info, bool) { return info, true })
	}
	got := []bench.PathCount{
		end(&a, 0, sockstamp.Info{MinRTT: 3 * ms, RTT: 4 * ms, Segments: 4, Received: 2}),
		end(&a, ms, sockstamp.Info{MinRTT: 2 * ms, RTT: 4 * ms, Segments: 9, Retransmitted: 1, BytesRetransmitted: 1448, Timeouts: 1, Received: 4}),
	}
	first.Close()
	second := log.Open()
	got = append(got, end(&b, 2*ms, sockstamp.Info{MinRTT: 5 * ms, RTT: 6 * ms, Segments: 5, Received: 30, OutOfOrder: 3, Busy: 10 * ms, RwndLimited: 4 * ms}))
	want := []bench.PathCount{{Known: true}, {Known: true, Retransmitted: 1}, {Known: true, OutOfOrder: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of single responses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Stat{{
		Target: "one:80", MinRTT: 2 * ms, RTTs: 8 * ms, Connections: 1, Readings: 2, Segments: 9, Retransmitted: 1,
		BytesRetransmitted: 1448, Timeouts: 1, Received: 4, Responses: 2, Affected: 1,
	}}, first.Stats()); diff != "" {
		t.Errorf("the first window (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Stat{{
		Target: "one:80", MinRTT: 5 * ms, RTTs: 6 * ms, Connections: 1, Readings: 1, Segments: 5, Received: 30,
		OutOfOrder: 3, Busy: 10 * ms, RwndLimited: 4 * ms, Responses: 1, Affected: 1,
	}}, second.Stats()); diff != "" {
		t.Errorf("the second window (-want +got):\n%s", diff)
	}
}

// TestBudget: of many responses, the kernel is asked for the first of each second; a later reading has what the
// others did, without saying which of them.
func TestBudget(t *testing.T) {
	log := &Log{}
	w := log.Open()
	c := NewConn(log, "one:80")
	readings, known := 0, 0
	info := sockstamp.Info{}
	for i := range 1000 {
		info.Segments += 2
		if i == 600 {
			info.Retransmitted = 2
		}
		p := c.ResponseEnded(time.Duration(i)*time.Millisecond/2, func() (sockstamp.Info, bool) { readings++; return info, true })
		if p.Known {
			known++
		}
	}
	if p := c.ResponseEnded(time.Second, func() (sockstamp.Info, bool) { readings++; return info, true }); p.Known {
		t.Error("745 responses count as one")
	}
	s := w.Stats()[0]
	if readings != perSecond+1 || known != perSecond {
		t.Errorf("%d readings, %d known; want 257 and 256", readings, known)
	}
	if s.Responses != 1001 || s.Affected != 1 || s.Segments != 2000 || s.Retransmitted != 2 {
		t.Errorf("%+v; want 1001 responses, 1 affected, 2000 segments, 2 retransmitted", s)
	}
}

// TestShared: which of the requests on a shared connection a loss concerns is not known.
func TestShared(t *testing.T) {
	log := &Log{}
	w := log.Open()
	c := NewConn(log, "one:443")
	c.Share()
	c.Update(sockstamp.Info{Segments: 7, Retransmitted: 1})
	if s := w.Stats()[0]; s.Responses != 0 || s.Affected != 0 || s.Retransmitted != 1 {
		t.Errorf("%+v; want no responses and 1 retransmission", s)
	}
}
