package feed

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// discard is a client that reads everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}

// newStreams returns streams of one run that are not served.
func newStreams(h *Hub, n int, w http.ResponseWriter) []*eventStream {
	kinds, rows := map[string]bool{}, map[string]eventRow{}
	for _, row := range eventsOfRun() {
		kinds[row.kind], rows[row.kind] = true, row
	}
	streams := make([]*eventStream, n)
	for i := range streams {
		sub := &subscription{hub: h, events: true, run: "a", wake: make(chan struct{}, 1), kinds: kinds}
		streams[i] = &eventStream{eventRequest: eventRequest{run: "a"}, sub: sub, rows: rows, w: w}
		h.mu.Lock()
		h.add(sub)
		h.mu.Unlock()
	}
	return streams
}

// All streams send the bytes of one encoding.
func TestEventsEncodedOnce(t *testing.T) {
	h := NewHub(0)
	streams := newStreams(h, 200, httptest.NewRecorder())
	h.Publish(ofRun("a", run.EventStateChanged, bench.StateRunning))
	var first *byte
	for i, e := range streams {
		batch, _ := e.sub.take()
		if len(batch) != 1 || len(batch[0].body) == 0 {
			t.Fatalf("stream %d has %d messages, want 1", i, len(batch))
		}
		if first == nil {
			first = &batch[0].body[0]
		}
		if &batch[0].body[0] != first {
			t.Fatalf("stream %d has an encoding of its own", i)
		}
	}
}

// The time of an event for all streams. What is added by each stream is a copy into its
// buffer, so that 200 streams take far less than 200 times the time of one.
func BenchmarkEventStreams(b *testing.B) {
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := NewHub(0)
			streams := newStreams(h, n, discard{http.Header{}})
			ev := ofRun("a", run.EventStateChanged, bench.StateRunning)
			b.ReportAllocs()
			for b.Loop() {
				h.Publish(ev)
				for _, e := range streams {
					batch, _ := e.sub.take()
					for i := range batch {
						e.message(&batch[i])
					}
					if err := e.flush(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
