package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/verdict"
)

// idle is a host that tells nothing.
type idle struct{}

func (idle) Read() monitor.Totals { return monitor.Totals{} }

// What the transport says about receive stamps is judged by phase: what came
// before the phase does not count.
func TestStampLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lag verdict.Histogram
		lag.AddN(time.Second, 1000)
		x := newExecution(&plan.Plan{}, nil)
		x.clock = bench.NewClock()
		x.stampLag = func() verdict.Histogram { return lag }
		x.watched(monitor.Options{Host: idle{}, Ticker: monitor.NewTimer}, func() {
			p := newPhase(x, &plan.Phase{Kind: bench.Profiling, Name: "p"})
			w := &watch{}
			w.begin(p)
			w.tally.Observe(&bench.Record{
				Stamps: bench.Stamps{Due: 1, Permit: 1, Start: 1, Wrote: 2, End: 3}, Answer: bench.Answer{Chunks: []bench.Chunk{{At: 3}}},
			})
			lag.AddN(2*time.Millisecond, 100)
			time.Sleep(time.Second)
			w.look(p, &bench.PhaseStats{}, nil)
			if got := w.report.StampLag; got == nil || got.Count != 100 || got.P50 < 2 || got.Max > 2.2 {
				t.Errorf("stamp lag = %+v, want 100 of 2 ms", got)
			}
			if r := w.report; r.Verdict != verdict.OK || len(r.Evidence) != 1 || r.Evidence[0].Code != "receive-stamp-lag" {
				t.Errorf("report = %+v", r)
			}
			warmup := &watch{}
			warmup.begin(newPhase(x, &plan.Phase{Kind: bench.Warmup}))
			warmup.look(p, &bench.PhaseStats{}, nil)
			if warmup.report != nil {
				t.Errorf("a warm-up was judged: %+v", warmup.report)
			}
		})
	})
}
