package engine_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/metric"
)

// The last snapshot of a run has the distributions of its phases, also after a restart.
func TestHistogramsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 3, requests: 7", fileData), "model: m", "models: [m, n]", 1))
		before, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.stop()
		again, err := engine.New(engine.Options{Store: b.store, Log: zerolog.Nop(), Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		after, err := again.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		want, got := before.Phases[0].Counters.Histograms, after.Phases[0].Counters.Histograms
		if len(want) != 7 || len(got) != len(want) {
			t.Fatalf("%d histograms, after the restart %d, want 7", len(want), len(got))
		}
		for tag, h := range want {
			s := got[tag]
			if s.Count() != h.Count() || s.Sum() != h.Sum() || h.Count() > 0 && s.Quantile(0.9) != h.Quantile(0.9) {
				t.Errorf("%s: %d values with sum %v, want %d with %v", tag, s.Count(), s.Sum(), h.Count(), h.Sum())
			}
		}
		m, n := after.Phases[0].Counters.Models["m"], after.Phases[0].Counters.Models["n"]
		if all, m, n := got["request_latency"].Count(), m.Histograms["request_latency"].Count(), n.Histograms["request_latency"].Count(); all != 7 || m != 4 || n != 3 {
			t.Errorf("request_latency has %d values, %d of m and %d of n, want 7, 4 and 3", all, m, n)
		}
	})
}

// While the second of two phases goes on, the metrics and errors are those of both.
func TestSnapshotOfTwoPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int64
		b := newBed(t, timing(t, time.Second, 0), func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && seen.Add(1) <= 4 {
					http.Error(w, "no", http.StatusServiceUnavailable)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		id := b.submit(`
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: synthetic, isl: 5, osl: 2}
  tokenizer: {name: builtin}
  phases:
    - {name: first, kind: profiling, type: concurrency, concurrency: 2, requests: 10}
    - {name: second, kind: profiling, type: concurrency, concurrency: 2, duration: 20}
`)
		time.Sleep(8500 * time.Millisecond)
		snap, err := b.engine.Snapshot(t.Context(), id)
		if err != nil || len(snap.Phases) != 2 {
			t.Fatalf("%d phases, want 2; %v", len(snap.Phases), err)
		}
		avg := func(tag string) float64 {
			m := snap.Metrics.Find(tag)
			if m == nil {
				t.Fatalf("no %s", tag)
			}
			v, _ := m.Get(metric.Avg)
			return v
		}
		done, second := avg("request_count"), float64(snap.Phases[1].Stats.Completed)
		if failed := avg("error_request_count"); failed != 4 || second < 6 || done < 6+second-2 || done > 6+second {
			t.Errorf("%v succeeded and %v failed, want 6 and 4 of the first phase, and about %v of the second", done, failed, second)
		}
		if len(snap.Errors) != 1 || snap.Errors[0].Count != 4 {
			t.Errorf("errors %+v, want 4 of one kind", snap.Errors)
		}
		b.wait(id)
		b.stop()
	})
}
