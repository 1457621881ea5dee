package load

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// slow is a Sender whose exchanges all take the same time.
type slow struct {
	clock bench.Clock
	takes time.Duration
}

func (s slow) Do(context.Context, *transport.Request) (x transport.Exchange) {
	x.Stamps.Start = s.clock.Now()
	<-time.After(s.takes) // in virtual time
	x.Stamps.End = s.clock.Now()
	x.Response = &bench.Response{EndAt: x.Stamps.End}
	return x
}

func (slow) EndSession(string) {}

// never is a Stop that is never requested.
type never struct{}

func (never) Requested() <-chan struct{}              { return nil }
func (never) Grace(*spec.Phase) (time.Duration, bool) { return 0, false }
func (never) Patience() time.Duration                 { return 0 }

// sends is a Sink that keeps when requests were due and sent, since the start of their
// phase.
type sends struct {
	phase *Phase
	mu    sync.Mutex
	times [][2]time.Duration // guarded by mu
}

func (s *sends) Finished(f Finished) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := s.phase.Start()
	s.times = append(s.times, [2]time.Duration{f.Record.Stamps.Due - start, f.Record.Stamps.Start - start})
}

// run performs a phase of requests that take 350 ms, and returns its sends.
func run(ctx context.Context, p spec.Phase) [][2]time.Duration {
	clock := bench.NewClock()
	work := NewWork(loadOptions(clock, slow{clock, 350 * time.Millisecond}, singleTurns()))
	out := &sends{}
	out.phase = NewPhase(work, &p, out)
	out.phase.Begin()
	out.phase.Run(ctx)
	return out.times
}

// every yields an arrival every d.
func every(d time.Duration) func(yield func(time.Duration) bool) {
	return func(yield func(time.Duration) bool) {
		for at := d; yield(at); at += d {
			continue
		}
	}
}

func TestConcurrencyRamp(t *testing.T) {
	const ms = time.Millisecond
	shape := func(d time.Duration, strategy arrival.RampStrategy) spec.Shape {
		return spec.Shape{Concurrency: arrival.Ramp{Duration: d, Strategy: strategy}}
	}
	linear := shape(300*ms, arrival.LinearRamp)
	tests := []struct {
		name  string
		phase spec.Phase
		want  []time.Duration // when requests are due, and sent; in an open loop one after the other
		ends  time.Duration
	}{
		{"without a ramp all slots open at once", spec.Phase{Concurrency: 4, Requests: 5}, []time.Duration{0, 0, 0, 0, 350 * ms}, 700 * ms},
		{
			"slots open evenly", spec.Phase{Concurrency: 4, Shape: linear, Requests: 6},
			[]time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 350 * ms, 450 * ms}, 800 * ms,
		},
		{
			"slots grow by the same factor", spec.Phase{Concurrency: 4, Shape: shape(200*ms, arrival.ExponentialRamp), Requests: 4},
			[]time.Duration{0, 100 * ms, 158_496_250, 200 * ms}, 550 * ms,
		},
		{
			"the bound of requests ends the ramp", spec.Phase{Concurrency: 4, Shape: linear, Requests: 2},
			[]time.Duration{0, 100 * ms}, 450 * ms,
		},
		{
			"the duration ends the ramp", spec.Phase{Concurrency: 4, Shape: linear, Duration: 250 * ms, Grace: -1},
			[]time.Duration{0, 100 * ms, 200 * ms}, 550 * ms,
		},
		{
			"a ramp that is longer than the phase does not hold its end", spec.Phase{Concurrency: 2, Shape: shape(time.Hour, arrival.LinearRamp), Requests: 3},
			[]time.Duration{0, 350 * ms, 700 * ms}, 1050 * ms,
		},
		{
			"arrivals wait for slots that open", spec.Phase{Arrivals: every(20 * ms), Concurrency: 4, Shape: linear, Requests: 6},
			[]time.Duration{20 * ms, 20 * ms, 40 * ms, 100 * ms, 60 * ms, 200 * ms, 80 * ms, 300 * ms, 100 * ms, 370 * ms, 120 * ms, 450 * ms}, 800 * ms,
		},
		{
			"an open loop ends before its ramp", spec.Phase{Arrivals: every(20 * ms), Concurrency: 4, Shape: shape(time.Hour, arrival.LinearRamp), Requests: 2},
			[]time.Duration{20 * ms, 20 * ms, 40 * ms, 370 * ms}, 720 * ms,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want [][2]time.Duration
				for i, at := range tt.want {
					switch {
					case tt.phase.Arrivals == nil:
						want = append(want, [2]time.Duration{at, at})
					case i%2 == 0:
						want = append(want, [2]time.Duration{at, tt.want[i+1]})
					}
				}
				began := time.Now()
				if diff := cmp.Diff(want, run(t.Context(), tt.phase)); diff != "" {
					t.Errorf("due and sent (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != tt.ends {
					t.Errorf("the phase took %v, want %v", took, tt.ends)
				}
			})
		})
	}
}
