package engine_test

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/random"
)

// TestDistributionsOfResults: the distributions of a run are those of its final results,
// although requests of the warm-up end in the same seconds; its slowest requests are those of
// the record file.
func TestDistributionsOfResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault, err := mock.ParseFault("status:503,rate=0.1")
		if err != nil {
			t.Fatal(err)
		}
		ttft, ttftErr := random.ParseDelay("lognormal:200ms:0.8")
		itl, itlErr := random.ParseDelay("exp:30ms")
		if ttftErr != nil || itlErr != nil {
			t.Fatal(ttftErr, itlErr)
		}
		b := newBed(t, mock.Options{TTFT: ttft, ITL: itl, Faults: []mock.Fault{fault}}, nil)
		history := engine.NewHistory(b.engine)
		id := b.submit(`
benchmark:
  model: m
  endpoint: {url: http://mock, streaming: true}
  dataset: {type: synthetic, isl: 8, osl: {mean: 20, stddev: 10}}
  tokenizer: {name: builtin}
  phases:
    - {name: warmup, type: concurrency, concurrency: 30, requests: 60, excludeFromResults: true}
    - {name: profiling, type: poisson, rate: 40, duration: 30, concurrency: 100}
`)
		metrics, err := series.DistributionMetrics(nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(18 * time.Second)
		synctest.Wait()
		live, err := history.Samples(id)
		if err != nil || len(live.Latency) != samples.MaxSlowest || len(live.Points) < 300 {
			t.Fatalf("samples of the active run: %d slowest, %d points, %v", len(live.Latency), len(live.Points), err)
		}
		sofar, err := history.Distributions(t.Context(), id, series.DistributionQuery{Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		// Both say until when they count.
		ended := uint64(0)
		for i := range live.Points {
			if live.Points[i].End > live.Elapsed {
				t.Errorf("a request ended %v after the start, the samples are of %v", live.Points[i].End, live.Elapsed)
			}
			if live.Points[i].End < time.Duration(sofar.Elapsed)*time.Second {
				ended++
			}
		}
		at := slices.IndexFunc(metrics, func(m series.Metric) bool { return m.Name == "request_latency" })
		if live.Elapsed > 18*time.Second || sofar.Elapsed < 15 || sofar.Of[at].Count != ended || int(live.Seen) != len(live.Points) {
			t.Errorf("samples of %v: %d; distribution of %d s: %d requests, of which the samples have %d",
				live.Elapsed, live.Seen, sofar.Elapsed, sofar.Of[at].Count, ended)
		}
		stored, err := samples.Read(b.store.Dir(id))
		if err != nil || len(stored.Points) == 0 || len(stored.Points) >= len(live.Points) {
			t.Errorf("after 18 s the file has %d points, the run %d, %v", len(stored.Points), len(live.Points), err)
		}
		b.wait(id)
		d, err := history.Distributions(t.Context(), id, series.DistributionQuery{Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		quantiles := series.Quantiles()
		for i, m := range metrics {
			s := &d.Of[i]
			if n := b.value(id, m.Name, "count"); float64(s.Count) != n {
				t.Errorf("%s has %d values, the results %v", m.Name, s.Count, n)
			}
			for stat, q := range map[string]float64{"min": 0, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1} {
				got, want := s.Values[slices.Index(quantiles, q)], b.value(id, m.Name, stat)
				if math.Abs(got-want) > 1.01*sketch.RelativeError*want {
					t.Errorf("%s of %s is %v, the results say %v", stat, m.Name, got, want)
				}
			}
		}
		checkSamples(t, b, id)
	})
}

// checkSamples compares the samples of a run with its records.
func checkSamples(t *testing.T, b *bed, id string) {
	t.Helper()
	s, err := engine.NewHistory(b.engine).Samples(id)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(b.store.Dir(id), samples.File)); err != nil || info.Size() > 1<<20 {
		t.Errorf("file of the samples: %v, %v", info, err)
	}
	var latencies []float64
	known := map[float64]bool{} // latencies of the requests that succeeded
	for _, l := range b.records(id) {
		if l.Metadata.Phase == "warmup" {
			continue
		}
		latency := float64(l.Metadata.EndNs-l.Metadata.StartNs) / 1e6
		if l.Error == nil {
			if latency, err = strconv.ParseFloat(l.metric("request_latency"), 64); err != nil {
				t.Fatal(err)
			}
			known[math.Round(latency*1e3)] = true
		}
		latencies = append(latencies, latency)
	}
	slices.SortFunc(latencies, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, q := range s.Latency {
		if math.Abs(q.Latency-latencies[i]) > 1e-3 {
			t.Errorf("slowest request %d took %v ms, records say %v", i, q.Latency, latencies[i])
		}
		if at := q.Timeline; q.Class == "" && (at.ChunkCount == 0 || at.FirstByte < at.Wrote || at.Chunks[0] < at.FirstByte || at.End < at.Chunks[len(at.Chunks)-1]) {
			t.Errorf("timeline of request %d: %+v", i, q)
		}
	}
	if s.Seen < int64(len(known)) || len(s.Points) != int(min(s.Seen, samples.MaxPoints)) {
		t.Errorf("%d points of %d requests, records have %d", len(s.Points), s.Seen, len(known))
	}
	for _, p := range s.Points {
		if !known[math.Round(p.Latency*1e3)] {
			t.Errorf("no record has the latency %v of a point", p.Latency)
		}
	}
}
