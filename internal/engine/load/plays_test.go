package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// forest makes random recorded sessions.
type forest struct{ rand *rand.Rand }

// stream returns a stream that begins at a time of the recording, with agents beside it: some that a later turn waits
// for, and others in the background.
func (f *forest) stream(id string, at time.Duration, depth int) *bench.Conversation {
	c := talk(id)
	c.Mode = bench.MessageArrayWithResponses
	for i := range 1 + f.rand.IntN(4) {
		pause, api := time.Duration(f.rand.IntN(4))*900*ms, time.Duration(100+f.rand.IntN(2000))*ms
		at += pause
		c.Turns = append(c.Turns, recorded(fmt.Sprint(id, " ", i), at, api, pause))
		at += api
	}
	for i := range c.Turns {
		if depth == 2 || f.rand.IntN(3) > 0 {
			continue
		}
		spawn := bench.Spawn{JoinAt: f.rand.IntN(len(c.Turns))}
		if spawn.JoinAt <= i {
			spawn.JoinAt = 0 // nothing waits
		}
		for k := range 1 + f.rand.IntN(2) {
			spawn.Children = append(spawn.Children, f.stream(fmt.Sprint(id, ":", i, k), c.Turns[i].Recorded.End, depth+1))
		}
		c.Turns[i].Spawns = []bench.Spawn{spawn}
	}
	return c
}

// moody is a Sender whose responses take any time, and fail in any way.
type moody struct {
	clock bench.Clock
	count atomic.Uint64
}

func (m *moody) Do(ctx context.Context, r *transport.Request) (x transport.Exchange) {
	roll := bench.Mix(m.count.Add(1))
	x.Stamps.Start = m.clock.Now()
	x.Response = &bench.Response{Status: 200, Framing: bench.FramingJSON, Body: []byte(
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)}
	switch kind := roll % 100; {
	case kind < 8:
		x.Response.Status, x.Response.Body = 500, []byte(`{"error":{"message":"no"}}`)
	case kind < 14:
		x.Response.Status, x.Response.Body = 400, []byte(`{"error":{"message":"This model's maximum context length is 10 tokens."}}`)
	case kind == 14:
		x.Response = &bench.Response{Failure: &bench.Failure{Class: bench.ConnectError, Message: "refused"}}
	}
	leaves := make(<-chan time.Time)
	if r.Cancel.On {
		leaves = time.After(r.Cancel.After)
	}
	select {
	case <-time.After(time.Duration(roll>>8%3000) * ms):
	case <-leaves:
		x.Response = &bench.Response{Failure: r.Cancel.Failure(bench.StepHeaders)}
	case <-ctx.Done():
		x.Response = &bench.Response{Failure: &bench.Failure{Class: bench.Cancelled, Message: context.Cause(ctx).Error()}}
	}
	x.Stamps.End = m.clock.Now()
	x.Response.EndAt, x.Response.BodyAt = x.Stamps.End, x.Stamps.End
	return x
}

func (m *moody) EndSession(string) {}

// playTime is the time of a play from its first request to the end of its last one.
type playTime struct{ from, until time.Duration }

// playTimes is a Sink that keeps when the plays of each lane were played.
type playTimes struct {
	mu    sync.Mutex
	lanes map[int]map[int64]*playTime // guarded by mu; by session
}

func (p *playTimes) Finished(f Finished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := f.Record
	lane := p.lanes[r.Lane]
	if lane == nil {
		lane = map[int64]*playTime{}
		p.lanes[r.Lane] = lane
	}
	one := lane[r.SessionNum]
	if one == nil {
		one = &playTime{r.Stamps.Start, r.Stamps.End}
		lane[r.SessionNum] = one
	}
	one.from, one.until = min(one.from, r.Stamps.Start), max(one.until, r.Stamps.End)
}

// check checks that there are no other lanes than those of the phase, and that each plays one session at a time, with all
// streams of it.
func (p *playTimes) check(t *testing.T, lanes int) {
	t.Helper()
	if len(p.lanes) != lanes {
		t.Errorf("%d lanes sent requests, want %d", len(p.lanes), lanes)
	}
	for n, plays := range p.lanes {
		if n < 1 || n > lanes {
			t.Errorf("lane %d: there are %d", n, lanes)
		}
		var all []*playTime
		for _, one := range plays {
			all = append(all, one)
		}
		slices.SortFunc(all, func(a, b *playTime) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until)) })
		for i := 1; i < len(all); i++ {
			if all[i].from < all[i-1].until {
				t.Fatalf("lane %d: a session begins at %v, before the one that began at %v has ended at %v",
					n, all[i].from, all[i-1].from, all[i-1].until)
			}
		}
	}
}

// plays returns how many plays a test needs in all: with AIPERFD_SIMULATE=full as many as the specification asks for.
func plays() int64 {
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		return 100_000
	}
	return 4_000
}

// Whatever happens to requests, a lane plays one session at a time, which keeps it until its last stream has ended, and
// no lane is lost.
func TestPropertiesOfLanes(t *testing.T) {
	f := &forest{rand.New(rand.NewPCG(3, 4))}
	var data []*bench.Conversation
	for i := range 150 {
		data = append(data, f.stream(fmt.Sprint("t", i), 0, 0))
	}
	const lanes = 12
	for _, tt := range []struct {
		name     string
		sessions spec.Sessions
		change   func(p *spec.Phase)
	}{
		{"an error ends a stream", spec.Sessions{}, func(*spec.Phase) {}},
		{"AIPerf's rules, with limited idle time", spec.Sessions{OnTurnError: spec.Continue, JoinAtOnce: true},
			func(p *spec.Phase) { p.Lanes.Idle = 2 * time.Second }},
		{"again after an error, children decide, sessions with limited idle time", spec.Sessions{OnTurnError: spec.RetryTurn, FailFast: true},
			func(p *spec.Phase) { p.Lanes.TreeIdle = time.Second }},
		{"until the time is over", spec.Sessions{OnTurnError: spec.Continue},
			func(p *spec.Phase) {
				p.Duration, p.Grace, p.Sessions = time.Duration(plays()/lanes)*4*time.Second, 500*ms, 0
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				phase := lanePhase(lanes, 0, 1)
				phase.Sessions, phase.Grace = plays()/4, -1
				phase.Cancellation = &spec.Cancellation{Seed: 5, Share: 0.05, After: 300 * ms}
				tt.change(&phase)
				clock, next := bench.NewClock(), 0
				o := loadOptions(clock, &moody{clock: clock}, &scriptedSource{draw: func() (*bench.Conversation, error) {
					if phase.Sessions > 0 && int64(next) == phase.Sessions {
						return nil, io.EOF
					}
					next++
					return data[next%len(data)], nil
				}})
				o.Sessions = tt.sessions
				sink := &playTimes{lanes: map[int]map[int64]*playTime{}}
				loaded := NewPhase(NewWork(o), &phase, sink)
				loaded.Begin()
				loaded.Run(t.Context())
				sink.check(t, lanes)
				st := loaded.Stats(0)
				again := tt.sessions.OnTurnError == spec.RetryTurn // turns are sent more than once
				if st.InFlight() != 0 || !again && st.Sent != st.SessionTurns-st.SkippedTurns || st.CompletedSessions+st.CancelledSessions != st.SentSessions ||
					phase.Sessions > 0 && st.SentSessions != phase.Sessions || st.SentSessions < plays()/8 {
					t.Errorf("%+v", st)
				}
				if idle := loaded.env.idle; idle != nil && (idle.working != 0 || len(idle.waits) != 0) {
					t.Errorf("%d at work, %d wait after the end", idle.working, len(idle.waits))
				}
				if s := &loaded.env.scheduler; s.live != 0 {
					t.Errorf("%d sessions have a lane after the end", s.live)
				}
			})
		})
	}
}
