package engine_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
)

// newLoopbackBed is newBed with a server on a TCP port, as in real runs, and
// without logs. The server answers at url.
func newLoopbackBed(t testing.TB, o mock.Options) (b *bed, url string) {
	t.Helper()
	server, err := mock.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store := &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}
	e, err := engine.New(engine.Options{Store: store, Log: zerolog.Nop(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := mock.Serve(ctx, ln, server, mock.ServeOptions{}); err != nil {
			t.Errorf("mock: %v", err)
		}
	})
	group.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	b = &bed{t: t, engine: e, store: store, server: server}
	b.stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
		server.Close()
	})
	t.Cleanup(b.stop)
	return b, "http://" + ln.Addr().String()
}

// load is a closed loop over loopback with a number of requests and tokens.
func load(url string, streaming bool, concurrency, requests, tokens int) string {
	return fmt.Sprintf(`
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: %q, type: chat, streaming: %v, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: %d}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: %d, requests: %d}
`, url, streaming, tokens, concurrency, requests)
}

// complete performs a run and fails unless every request was answered.
func (b *bed) complete(document string, requests int64) *run.Run {
	b.t.Helper()
	r := b.run(document)
	if r.State != bench.StateCompleted || r.Summary.Requests != requests {
		b.t.Fatalf("run = %s with %d requests, want completed with %d: %v", r.State, r.Summary.Requests, requests, r.Error)
	}
	return r
}

// TestRunAllocations: the allocations of a run do not grow with every event.
// It counts everything in the process, the server included, and subtracts a run
// with few events from one with many.
// Under the race detector sync.Pool drops some of what it is given, so the count is not exact.
func TestRunAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes the number of allocations")
	}
	const requests, few, many = 20, 10, 1010
	// An answer comes in one write: how many reads it takes, each of which may
	// allocate, must not depend on how busy the machine is.
	b, url := newLoopbackBed(t, mock.Options{Fast: true, RoleChunk: options.RoleNone, Coalesce: many + 10})
	count := func(tokens int) float64 {
		return testing.AllocsPerRun(3, func() { b.complete(load(url, true, 1, requests, tokens), requests) })
	}
	low := count(few)
	perEvent := (count(many) - low) / (requests * (many - few))
	t.Logf("%.3f allocations an event", perEvent)
	// The remaining allocations are buffers that grow with an answer.
	if perEvent > 0.2 {
		t.Errorf("%.3f allocations an event, want at most 0.2", perEvent)
	}
}

// TestRequestAllocations: a request that is not streamed stays within its budget (see
// docs/accuracy.md), the server included. It subtracts a run with few requests from one with
// many.
func TestRequestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes the number of allocations")
	}
	const few, many, budget = 100, 1100, 66
	b, url := newLoopbackBed(t, mock.Options{Fast: true})
	count := func(requests int) float64 {
		return testing.AllocsPerRun(3, func() { b.complete(load(url, false, 16, requests, 1), int64(requests)) })
	}
	low := count(few)
	perRequest := (count(many) - low) / (many - few)
	t.Logf("%.1f allocations per request", perRequest)
	if perRequest > budget {
		t.Errorf("%.1f allocations per request, want at most %d", perRequest, budget)
	}
}

// BenchmarkDispatch is the cost of a request that is answered at once, from the
// draw of its conversation to its record, server included.
func BenchmarkDispatch(b *testing.B) {
	const requests = 2000
	bed, url := newLoopbackBed(b, mock.Options{Fast: true})
	b.ReportAllocs()
	for b.Loop() {
		bed.complete(load(url, false, 16, requests, 1), requests)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/request")
}

// BenchmarkEndToEnd is the cost of a streamed event, server included: one event
// per write, and a whole answer in one write.
func BenchmarkEndToEnd(b *testing.B) {
	const requests, tokens = 200, 200
	for _, bc := range []struct {
		name     string
		coalesce int
	}{{"segments", 1}, {"bursts", tokens + 10}} {
		b.Run(bc.name, func(b *testing.B) {
			bed, url := newLoopbackBed(b, mock.Options{Fast: true, Coalesce: bc.coalesce})
			b.ReportAllocs()
			for b.Loop() {
				bed.complete(load(url, true, 16, requests, tokens), requests)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests*tokens), "ns/event")
		})
	}
}

// BenchmarkSnapshot is the cost of a snapshot of a run with all its metrics.
func BenchmarkSnapshot(b *testing.B) {
	bed, url := newLoopbackBed(b, mock.Options{Fast: true})
	r := bed.complete(load(url, true, 4, 100, 10), 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bed.engine.Snapshot(b.Context(), r.ID); err != nil {
			b.Fatal(err)
		}
	}
}
