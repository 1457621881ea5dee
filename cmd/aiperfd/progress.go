package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/metric"
)

// refresh is how often progress is looked at.
const refresh = 200 * time.Millisecond

// progress shows a run while it goes: a bar a phase on a terminal, log lines
// elsewhere.
type progress struct {
	bars  bool
	log   zerolog.Logger
	every time.Duration // between statistics lines; 0 = none
}

// newProgress chooses by the user's wish and by what standard error is. A
// dashboard is not drawn yet by this program: a bar stands for it.
func newProgress(ui string, log zerolog.Logger, every time.Duration) *progress {
	return &progress{bars: ui != "none" && isTerminal(os.Stderr), log: log, every: every}
}

// statsInterval is the period of the statistics lines: 30 s unless set.
func statsInterval(d *config.Document) time.Duration {
	if s := d.Benchmark.Runtime.StatsInterval; s != nil {
		return s.Duration()
	}
	return 30 * time.Second
}

// follow watches a run until stop is called.
func (p *progress) follow(ctx context.Context, e *engine.Engine, id string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		v := view{progress: p, seen: map[string]*mpb.Bar{}}
		if p.bars {
			v.pool = mpb.NewWithContext(ctx, mpb.WithOutput(os.Stderr), mpb.WithWidth(64), mpb.WithRefreshRate(refresh))
		}
		defer v.close()
		tick := time.NewTicker(refresh)
		defer tick.Stop()
		for {
			if snap, err := e.Snapshot(ctx, id); err == nil {
				v.update(snap)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// view is the state of what is on the screen.
type view struct {
	*progress
	pool    *mpb.Progress
	seen    map[string]*mpb.Bar
	named   int
	printed time.Time
}

func (v *view) update(s *engine.Snapshot) {
	for i := range s.Phases {
		st := &s.Phases[i].Stats
		if _, known := v.seen[st.Name]; !known {
			v.begin(st)
		}
		v.advance(st, s)
	}
	if v.every > 0 && len(s.Metrics) > 0 && time.Since(v.printed) >= v.every && s.Elapsed >= v.every {
		v.printed = time.Now()
		v.log.Info().Msg(statsLine(s))
	}
}

// begin announces a phase.
func (v *view) begin(st *bench.PhaseStats) {
	v.named++
	v.seen[st.Name] = nil
	if v.pool == nil {
		v.log.Info().Str("phase", st.Name).Msg("phase started")
		return
	}
	label := strings.ToUpper(st.Name[:1]) + st.Name[1:]
	total := st.ExpectedRequests
	counter := decor.Any(func(s decor.Statistics) string { return fmt.Sprintf(" %d/%d", s.Current, s.Total) })
	if total == 0 {
		total = int64(max(st.ExpectedDuration/time.Millisecond, 1))
		counter = decor.Any(func(decor.Statistics) string { return "" })
	}
	v.seen[st.Name] = v.pool.AddBar(total,
		mpb.PrependDecorators(decor.Name(label+":"), counter),
		mpb.AppendDecorators(decor.Percentage(), decor.Elapsed(decor.ET_STYLE_MMSS, decor.WC{W: 7})),
	)
}

// advance moves the bar of a phase.
func (v *view) advance(st *bench.PhaseStats, s *engine.Snapshot) {
	bar := v.seen[st.Name]
	if bar == nil {
		return
	}
	switch {
	case st.RequestsEnd != 0 || st.End != "":
		bar.SetTotal(-1, true)
	case st.ExpectedRequests > 0:
		bar.SetCurrent(min(st.Completed+st.Cancelled, st.ExpectedRequests))
	case st.ExpectedDuration > 0:
		bar.SetCurrent(int64(min(st.LastUpdate-st.Start, st.ExpectedDuration-time.Millisecond) / time.Millisecond))
	}
	_ = s
}

func (v *view) close() {
	if v.pool == nil {
		return
	}
	for _, bar := range v.seen {
		if bar != nil && !bar.Completed() {
			bar.Abort(false)
		}
	}
	v.pool.Wait()
}

// statsLine is one line of live numbers.
func statsLine(s *engine.Snapshot) string {
	at := s.Elapsed.Round(time.Second)
	line := fmt.Sprintf("[realtime %02d:%02d]", int(at.Minutes()), int(at.Seconds())%60)
	for _, m := range []struct {
		tag, label, unit string
		stats            []metric.Stat
	}{
		{"request_count", "ok", "", []metric.Stat{metric.Avg}},
		{"error_request_count", "err", "", []metric.Stat{metric.Avg}},
		{"request_throughput", "rps", "", []metric.Stat{metric.Avg}},
		{"output_token_throughput", "tok/s", "", []metric.Stat{metric.Avg}},
		{"time_to_first_token", "ttft p50/p99", "ms", []metric.Stat{metric.P50, metric.P99}},
		{"inter_token_latency", "itl p50/p99", "ms", []metric.Stat{metric.P50, metric.P99}},
		{"request_latency", "e2e p50/p99", "ms", []metric.Stat{metric.P50, metric.P99}},
	} {
		r := s.Metrics.Find(m.tag)
		if r == nil {
			continue
		}
		var values []string
		for _, stat := range m.stats {
			if v, ok := r.Get(stat); ok {
				values = append(values, fmt.Sprintf("%.4g", v))
			}
		}
		line += fmt.Sprintf("  %s %s%s", m.label, strings.Join(values, "/"), m.unit)
	}
	return line
}
