package load

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// prefilling is a Sender of streams: an event with a role at once, the first text after
// 100 ms, and the end after 500 ms. Every third stream has no text.
type prefilling struct {
	clock bench.Clock

	mu            sync.Mutex
	requests      int
	filling, most int // requests without content
}

func (s *prefilling) add(n int) (requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling += n
	s.most = max(s.most, s.filling)
	s.requests += max(0, n)
	return s.requests
}

func (s *prefilling) Do(_ context.Context, r *transport.Request) (x transport.Exchange) {
	x.Stamps.Start = s.clock.Now()
	n := s.add(1)
	var log eventlog.Log
	look := func(data string) bool {
		log.Append(eventlog.Event{At: s.clock.Now(), Data: []byte(data)})
		return r.Watch(&bench.Response{Status: 200, Framing: bench.FramingSSE, Events: log})
	}
	if look(`{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`) {
		panic("an event without content ended the watch")
	}
	<-time.After(100 * time.Millisecond)
	if n%3 != 0 {
		s.add(-1)
		if !look(`{"choices":[{"index":0,"delta":{"content":"x"}}]}`) {
			panic("content did not end the watch")
		}
	}
	<-time.After(400 * time.Millisecond)
	if n%3 == 0 {
		s.add(-1)
	}
	x.Stamps.End = s.clock.Now()
	x.Response = &bench.Response{EndAt: x.Stamps.End}
	return x
}

func (*prefilling) EndSession(string) {}

// queued is a request as the record has it, since the start of the phase.
type queued struct{ due, queued, permit time.Duration }

// queuedSink keeps the records of a phase.
type queuedSink struct {
	phase *Phase
	mu    sync.Mutex
	all   []queued
	ramp  int
}

func (s *queuedSink) Finished(f Finished) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, start := &f.Record.Stamps, s.phase.Start()
	s.all = append(s.all, queued{st.Due - start, st.Queued - start, st.Permit - start})
	if f.Record.Ramp {
		s.ramp++
	}
}

// prefillPhase performs a phase against a server of streams.
func prefillPhase(ctx context.Context, p spec.Phase) (*queuedSink, *prefilling) {
	clock := bench.NewClock()
	server := &prefilling{clock: clock}
	o := loadOptions(clock, server, singleTurns())
	o.Encoder.(*chatEncoder).settings.Streaming = true
	work := NewWork(o)
	out := &queuedSink{}
	out.phase = NewPhase(work, &p, out)
	out.phase.Begin()
	out.phase.Run(ctx)
	slices.SortFunc(out.all, func(a, b queued) int { return int(a.permit - b.permit) })
	return out, server
}

func TestPrefill(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name  string
		phase spec.Phase
		want  []queued
		most  int // requests without content at a time
	}{
		{
			// The third stream has no content: its slot becomes free at its end.
			"a closed loop", spec.Phase{Concurrency: 4, Prefill: 1, Requests: 5},
			[]queued{{0, 0, 0}, {0, 0, 100 * ms}, {0, 0, 200 * ms}, {0, 0, 700 * ms}, {500 * ms, 500 * ms, 800 * ms}}, 1,
		},
		{
			"without a wait", spec.Phase{Concurrency: 2, Prefill: 2, Requests: 2},
			[]queued{{0, 0, 0}, {0, 0, 0}}, 2,
		},
		{
			"arrivals do not wait for each other's prefill", spec.Phase{Arrivals: every(40 * ms), Prefill: 1, Requests: 3},
			[]queued{{40 * ms, 40 * ms, 40 * ms}, {80 * ms, 80 * ms, 140 * ms}, {120 * ms, 120 * ms, 240 * ms}}, 1,
		},
		{
			"what waits at the end of the duration is not sent", spec.Phase{Concurrency: 4, Prefill: 1, Duration: 150 * ms, Grace: -1},
			[]queued{{0, 0, 0}, {0, 0, 100 * ms}}, 1,
		},
		{
			"a ramp", spec.Phase{Concurrency: 4, Prefill: 3, Requests: 4, Shape: spec.Shape{Prefill: arrival.Ramp{Duration: 100 * ms}}},
			[]queued{{0, 0, 0}, {0, 0, 50 * ms}, {0, 0, 100 * ms}, {0, 0, 100 * ms}}, 3,
		},
		{
			"a ramp that is longer than the phase does not hold its end", spec.Phase{
				Concurrency: 2, Prefill: 2, Requests: 2, Shape: spec.Shape{Prefill: arrival.Ramp{Duration: time.Hour}},
			},
			[]queued{{0, 0, 0}, {0, 0, 100 * ms}}, 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got, server := prefillPhase(t.Context(), tt.phase)
				if diff := cmp.Diff(tt.want, got.all, cmp.AllowUnexported(queued{})); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if server.most != tt.most {
					t.Errorf("%d requests without content at a time, want %d", server.most, tt.most)
				}
				st := got.phase.Stats(0)
				if int(st.Sent) != len(tt.want) || st.Sent != st.Completed || st.InFlight() != 0 {
					t.Errorf("stats %+v", st)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the phase took %v", took)
				}
				if f := &got.phase.env.scheduler; f.fill.now != 0 || f.fill.queued != 0 {
					t.Errorf("%d requests without content, %d wait, want none", f.fill.now, f.fill.queued)
				}
			})
		})
	}
}

// Requests that were sent before the end of the longest ramp say so.
func TestRampRecords(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		got, _ := prefillPhase(t.Context(), spec.Phase{
			Concurrency: 4, Prefill: 4, Requests: 8,
			Shape: spec.Shape{Concurrency: arrival.Ramp{Duration: 300 * ms}, Prefill: arrival.Ramp{Duration: 550 * ms}},
		})
		if got.ramp != 5 { // at 0, 100, 200, 300 and 500 ms
			t.Errorf("%d requests of the ramp, want 5", got.ramp)
		}
	})
}
