package engine_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
)

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools have kept goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A run of an hour grows only on disk: it uses no more memory at its end than after
// half of it, except for the values of its exact percentiles, which have a budget.
func TestAnHour(t *testing.T) {
	if raceEnabled {
		t.Skip("the heap of the race detector is another one")
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Second), ITL: mock.ConstDelay(100 * time.Millisecond)}, nil)
		id := b.submit(`
randomSeed: 1
benchmark:
  model: m
  endpoint: {url: http://mock, type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 11}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 2, duration: 3600}
`)
		time.Sleep(30 * time.Minute)
		half := heap()
		time.Sleep(29 * time.Minute)
		whole := heap()
		r := b.wait(id)
		// Two seconds per request: 2 × 1800 of them.
		if got := r.Summary.Requests; r.State != bench.StateCompleted || got < 3598 || got > 3602 {
			t.Fatalf("run = %s with %d requests, want completed with 3600", r.State, got)
		}
		const (
			requests = 29 * 60 * 2 / 2 // in the second half
			values   = 150 * 8         // bytes for each, gaps between its events included
			slack    = 1 << 20         // buffers that doubled
			limit    = requests*values + slack
		)
		t.Logf("%.1f MB after half an hour, %.1f MB after 59 minutes", float64(half)/1e6, float64(whole)/1e6)
		if whole-half > limit {
			t.Errorf("the heap grew by %d bytes in the second half, want at most %d", whole-half, limit)
		}
	})
}
