package terminal

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// phase returns a phase that has run for some time.
func phase(name string, elapsed time.Duration, change func(*bench.PhaseStats)) run.Phase {
	const start = time.Second
	st := bench.PhaseStats{Name: name, Kind: bench.Profiling, Start: start, LastUpdate: start + elapsed}
	change(&st)
	return run.Phase{Stats: st}
}

// liveMetric returns a metric of a snapshot.
func liveMetric(t *testing.T, tag string, avg, p50, p99 float64) metric.Result {
	t.Helper()
	def, ok := catalogue.Lookup(tag)
	if !ok {
		t.Fatalf("no metric %s", tag)
	}
	r := metric.Result{Def: def}
	r.Set(metric.Avg, avg)
	if p99 > 0 {
		r.Set(metric.P50, p50)
		r.Set(metric.P99, p99)
	}
	return r
}

// The lines of a running phase at four widths: for each kind of bound, at its
// beginning, in the middle and at its end.
func TestProgressLines(t *testing.T) {
	metrics := metric.Results{
		liveMetric(t, "time_to_first_token", 65, 61.2, 120.4), liveMetric(t, "request_latency", 650, 628, 1701),
		liveMetric(t, "inter_token_latency", 12, 12, 13.1), liveMetric(t, "output_token_throughput", 1196, 0, 0), liveMetric(t, "request_throughput", 24.9, 0, 0),
	}
	phases := []run.Phase{
		phase("profiling", 0, func(s *bench.PhaseStats) { s.ExpectedRequests = 15 }),
		phase("profiling", 10*time.Second, func(s *bench.PhaseStats) { s.ExpectedRequests, s.Sent, s.Completed, s.Errors = 15, 12, 8, 1 }),
		phase("profiling", 20*time.Second, func(s *bench.PhaseStats) {
			s.ExpectedRequests, s.Sent, s.Completed, s.End = 15, 15, 15, bench.PhaseCompleted
		}),
		phase("profiling", 5*time.Second, func(s *bench.PhaseStats) {
			s.ExpectedRequests, s.Sent, s.Completed, s.Cancelled, s.End = 1000000, 123460, 123456, 4, bench.PhaseCancelled
		}),
		phase("warmup", 90*time.Second, func(s *bench.PhaseStats) { s.ExpectedDuration, s.Sent = 2*time.Minute, 7 }),
		phase("profiling", 62*time.Second, func(s *bench.PhaseStats) {
			s.ExpectedDuration, s.DurationReached, s.Sent, s.Completed = time.Minute, true, 300, 290
		}),
		phase("profiling", 65*time.Second, func(s *bench.PhaseStats) { s.ExpectedDuration, s.End = time.Minute, bench.PhaseGraceTimeout }),
		phase("profiling", 2*time.Hour, func(s *bench.PhaseStats) { s.ExpectedSessions, s.CompletedSessions, s.Sent, s.Completed = 10, 3, 11, 9 }),
		phase("profiling", 10*time.Second, func(s *bench.PhaseStats) { // two bounds: the nearer one counts
			s.ExpectedRequests, s.Sent, s.Completed, s.ExpectedDuration = 1000, 14, 10, 20*time.Second
		}),
	}
	for _, width := range []int{60, 80, 120, 200} {
		var out strings.Builder
		for _, l := range []Style{{}, {ASCII: true, Color: true}} {
			for i := range phases {
				s := &run.Snapshot{Phases: phases[i : i+1]}
				if phases[i].Stats.Completed > 0 {
					s.Metrics = metrics
				}
				for _, line := range []string{l.bar(&phases[i].Stats, width-1), l.fit(liveFields(s), width-1)} {
					if w := view.Width(line); w >= width {
						t.Errorf("at %d columns a line has %d: %s", width, w, line)
					}
					fmt.Fprintf(&out, "%s\n", strings.ReplaceAll(line, "\x1b", "^"))
				}
			}
		}
		path := filepath.Join("testdata", fmt.Sprintf("progress_%d.txt", width))
		if *update {
			if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// A run with a warm-up, drawn and logged: the status does not overwrite log lines, a
// bar ends at 100 %, and statistics are logged periodically.
func TestProgressOfARun(t *testing.T) {
	began := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at := func(elapsed time.Duration, phases ...run.Phase) *run.Snapshot {
		return &run.Snapshot{Wall: began.Add(elapsed), Elapsed: elapsed, State: bench.StateRunning, Phases: phases}
	}
	warmup := phase("warmup", time.Second, func(s *bench.PhaseStats) { s.ExpectedRequests, s.Sent, s.Completed = 8, 8, 6 })
	warmed := phase("warmup", time.Second, func(s *bench.PhaseStats) {
		s.ExpectedRequests, s.Sent, s.Completed, s.RequestsEnd, s.End = 8, 8, 8, 2*time.Second, bench.PhaseCompleted
	})
	half := phase("profiling", 4*time.Second, func(s *bench.PhaseStats) { s.Index, s.ExpectedRequests, s.Sent, s.Completed = 1, 20, 12, 10 })
	done := phase("profiling", 8*time.Second, func(s *bench.PhaseStats) {
		s.Index, s.ExpectedRequests, s.Sent, s.Completed, s.RequestsEnd, s.End = 1, 20, 20, 20, 9*time.Second, bench.PhaseCompleted
	})
	running := at(5*time.Second, warmed, half)
	running.Metrics = metric.Results{liveMetric(t, "request_throughput", 2.5, 0, 0)}
	final := at(9*time.Second, warmed, done)
	final.State, final.Final = bench.StateCompleted, true

	p := &paper{width: 60}
	s := &Screen{out: p, width: func() int { return p.width }}
	v := follower{Progress: &Progress{Screen: s, Draw: true, Style: Style{ASCII: true}}}
	v.update(at(0))
	v.update(at(time.Second, warmup))
	fmt.Fprintln(s, "WRN a warning in between")
	v.update(running)
	want := `WRN a warning in between
Warmup: 8/8 |################################| 100% [00:01]
Profiling: 10/20 |##########...........|  50% [00:04<00:04]
2.50 req/s  2 in flight  0 errors`
	if got := strings.Join(p.rows, "\n"); got != want {
		t.Errorf("in the middle the terminal shows\n%s\nwant\n%s", got, want)
	}
	v.update(final)
	v.close()
	if got := strings.Join(p.rows, "\n"); !strings.HasSuffix(got, "| 100% [00:08]") || strings.Contains(got, "in flight") {
		t.Errorf("at the end the terminal shows\n%s", got)
	}

	var log bytes.Buffer
	v = follower{Progress: &Progress{Log: zerolog.New(&log), Every: 5 * time.Second}}
	silent := at(10*time.Second, warmed, half) // no request has ended
	for _, snap := range []*run.Snapshot{at(0), at(time.Second, warmup), running, running, silent, final} {
		v.update(snap)
	}
	wantLog := `{"level":"info","message":"phase warmup started"}
{"level":"info","message":"phase warmup ended: 8 ok, 0 failed, 0 cancelled"}
{"level":"info","message":"phase profiling started"}
{"level":"info","message":"[realtime 00:05] 2.50 req/s  2 in flight  0 errors"}
{"level":"info","message":"[realtime 00:10] 2 in flight  0 errors"}
{"level":"info","message":"phase profiling ended: 20 ok, 0 failed, 0 cancelled"}
`
	if diff := cmp.Diff(wantLog, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
