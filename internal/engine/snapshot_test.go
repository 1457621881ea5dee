package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
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
