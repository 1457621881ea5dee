package load

import (
	"context"
	"fmt"
	"io"
	"strings"
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

// hosts is a Sender to servers whose requests take as many seconds as their host says,
// and a Sink.
type hosts struct {
	clock bench.Clock
	mu    sync.Mutex
	sent  map[string][]string // guarded by mu; conversation → seconds since the start and host of its requests
	phase *Phase
}

func (h *hosts) Do(_ context.Context, r *transport.Request) (x transport.Exchange) {
	x.Stamps.Start = h.clock.Now()
	var takes time.Duration
	_, _ = fmt.Sscanf(r.URL.Host, "%d", &takes) // one of the test's
	<-time.After(takes * time.Second)           // in virtual time
	x.Stamps.End = h.clock.Now()
	x.Response = &bench.Response{Status: 200, Framing: bench.FramingJSON, EndAt: x.Stamps.End, BodyAt: x.Stamps.End,
		Body: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)}
	return x
}

func (*hosts) EndSession(string) {}

func (h *hosts) Finished(f Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := f.Record
	at := (r.Stamps.Start - h.phase.Start()) / time.Second
	h.sent[r.ConversationID] = append(h.sent[r.ConversationID], fmt.Sprintf("%d→%d %s", at, r.Target, f.Header.Get("Authorization")))
}

// The target with the fewest requests in flight gets the next session, or the next
// request. A session keeps its target unless each request chooses, and no server gets the
// credentials of another.
func TestLeastInFlight(t *testing.T) {
	one, two := []bench.Turn{said("a")}, []bench.Turn{said("a"), said("b")}
	for _, tt := range []struct {
		name    string
		request bool
		slots   int
		turns   []bench.Turn
		want    map[string]string
	}{
		{"the slow server gets fewer sessions", false, 3, one, map[string]string{
			"c0": "0→0 Basic 0", "c1": "0→1 Basic 1", "c2": "0→0 Basic 0", "c3": "1→1 Basic 1", "c4": "2→1 Basic 1",
		}},
		{"turns stay", false, 1, two, map[string]string{
			"c0": "0→0 Basic 0, 3→0 Basic 0", "c1": "6→1 Basic 1, 7→1 Basic 1", "c2": "8→0 Basic 0, 11→0 Basic 0",
			"c3": "14→1 Basic 1, 15→1 Basic 1", "c4": "16→0 Basic 0, 19→0 Basic 0",
		}},
		{"requests take turns among equals", true, 1, two, map[string]string{
			"c0": "0→0 Basic 0, 3→1 Basic 1", "c1": "4→0 Basic 0, 7→1 Basic 1", "c2": "8→0 Basic 0, 11→1 Basic 1",
			"c3": "12→0 Basic 0, 15→1 Basic 1", "c4": "16→0 Basic 0, 19→1 Basic 1",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := bench.NewClock()
				out := &hosts{clock: clock, sent: map[string][]string{}}
				next := 0
				o := loadOptions(clock, out, &scriptedSource{draw: func() (*bench.Conversation, error) {
					if next == 5 {
						return nil, io.EOF
					}
					next++
					return talk(fmt.Sprintf("c%d", next-1), tt.turns...), nil
				}})
				o.Targets, o.Spread = 2, spec.Spread{Least: true, Request: tt.request}
				o.Encoder.(*chatEncoder).hosts = []string{"3", "1"}
				work := NewWork(o)
				out.phase = NewPhase(work, &spec.Phase{Concurrency: tt.slots, Shape: spec.Shape{Concurrency: arrival.Ramp{Duration: 300 * time.Millisecond}}, Grace: -1}, out)
				out.phase.Begin()
				out.phase.Run(t.Context())
				got := map[string]string{}
				for id, list := range out.sent {
					got[id] = strings.Join(list, ", ")
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				for target, n := range work.requests.flights.count {
					if n != 0 {
						t.Errorf("%d requests in flight to target %d", n, target)
					}
				}
			})
		})
	}
}
