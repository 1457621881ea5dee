package app

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// BenchmarkScrape is a scrape of a daemon that has 1,000 runs, of which the last one sent
// 10,000 streams of 100 events at the same time. Its snapshot is read from the disk, as
// after a restart. A scrape waits for no lock that a measurement holds: it reads an
// immutable snapshot, and the index of runs over connections of its own.
func BenchmarkScrape(b *testing.B) {
	dir := b.TempDir()
	db, err := store.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	for n := range 1000 {
		at := time.Now().Add(time.Duration(n-1000) * time.Second)
		r := &run.Run{ID: runID(n), State: bench.StateCompleted, CreatedAt: at, StartedAt: &at, EndedAt: &at, Models: []string{"m"}}
		if err := db.Put(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	data, err := json.Marshal(streamed(10_000, 100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(db.Dir(runID(999)), ".snapshot.json"), data, 0o600); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	d, err := OpenDaemon(b.Context(), DaemonOptions{Host: "127.0.0.1", DataDir: dir, Log: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	defer d.db.Close()
	defer d.listener.Close()
	for name, accept := range map[string]string{
		"text": "", "openmetrics": "application/openmetrics-text;version=1.0.0",
		"protobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics?names=native", nil)
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				d.server.Handler().ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.Len() < 10_000 {
					b.Fatalf("GET /metrics = %d %s", w.Code, w.Body)
				}
				b.ReportMetric(float64(w.Body.Len()), "B/scrape")
			}
		})
	}
}

// streamed returns the last snapshot of a run of streams with a number of events each.
func streamed(streams, events int) *run.Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	histograms := map[string]*sketch.Sketch{}
	for tag, h := range map[string]struct {
		median float64
		each   int
	}{
		"request_latency": {5, 1}, "time_to_first_token": {0.3, 1}, "inter_token_latency": {0.05, 1}, "inter_chunk_latency": {0.05, events},
		"schedule_lag": {1e-4, 1}, "input_sequence_length": {500, 1}, "output_sequence_length": {100, 1},
	} {
		s := sketch.New()
		for range streams * h.each {
			s.Add(h.median * math.Exp(r.NormFloat64()/2))
		}
		histograms[tag] = s
	}
	return &run.Snapshot{State: bench.StateCompleted, Final: true, Phases: []run.Phase{{
		Stats:    bench.PhaseStats{Name: "profiling", Kind: bench.Profiling, Sent: int64(streams), Completed: int64(streams)},
		Counters: run.Counters{Sent: int64(streams), Success: int64(streams), Histograms: histograms},
	}}}
}
