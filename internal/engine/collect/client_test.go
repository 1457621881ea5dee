package collect

import (
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/verdict"
)

// idle is a host without any readings.
type idle struct{}

func (idle) Read() monitor.Totals { return monitor.Totals{} }

// The lag of receive stamps is judged by phase: earlier lag does not count.
func TestStampLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lag verdict.Histogram
		lag.AddN(time.Second, 1000)
		m := monitor.Start(monitor.Options{Host: idle{}, Ticker: monitor.NewTimer})
		defer m.Stop()
		o := ClientOptions{
			Phase: &spec.Phase{Kind: bench.Profiling, Name: "p"}, Monitor: m, InFlight: func() int64 { return 0 },
			StampLag: func() verdict.Histogram { return lag },
		}
		c := NewClient(o)
		c.begin(instant{})
		c.Tally.Observe(&bench.Record{
			Stamps: bench.Stamps{Due: 1, Permit: 1, Start: 1, Wrote: 2, End: 3}, Answer: bench.Answer{Chunks: []bench.Chunk{{At: 3}}},
		})
		lag.AddN(2*time.Millisecond, 100)
		time.Sleep(time.Second)
		c.look(&Look{Fresh: true})
		if got := c.Report.StampLag; got == nil || got.Count != 100 || got.P50 < 2 || got.Max > 2.2 {
			t.Errorf("stamp lag = %+v, want 100 of 2 ms", got)
		}
		if r := c.Report; r.Verdict != verdict.OK || len(r.Evidence) != 1 || r.Evidence[0].Code != "receive-stamp-lag" {
			t.Errorf("report = %+v", r)
		}
		o.Phase = &spec.Phase{Kind: bench.Warmup}
		warmup := NewClient(o)
		warmup.begin(instant{})
		warmup.look(&Look{Fresh: true})
		if warmup.Report != nil {
			t.Errorf("a warm-up was judged: %+v", warmup.Report)
		}
	})
}

// instant is a phase that begins at the epoch.
type instant struct{}

func (instant) Start() time.Duration                 { return 0 }
func (instant) Stats(time.Duration) bench.PhaseStats { return bench.PhaseStats{} }
func (instant) Stop(bench.PhaseEnd)                  {}
func (instant) Settled(bool)                         {}
