package dashboard

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// stats returns statistics whose percentiles are multiples of their average.
func stats(unit string, avg float64) wire.Stats {
	return wire.Stats{Unit: unit, Avg: &avg, P50: new(avg * 0.9), P90: new(avg * 2), P95: new(avg * 2.5), P99: new(avg * 4), Max: new(avg * 6)}
}

// timeseries returns time series of some points.
func timeseries(points int) *wire.Timeseries {
	out := &wire.Timeseries{Series: map[string]wire.Series{}}
	for i, name := range terminal.Series() {
		s := wire.Series{Values: map[string]wire.Column{}}
		for _, statistic := range []string{"rate", "avg", "p50", "p90", "p99"} {
			for k := range points {
				s.Values[statistic] = append(s.Values[statistic], float64(10*(i+1))+5*math.Round(math.Sin(float64(k))))
			}
		}
		out.Series[name] = s
	}
	out.Series["in_flight"].Values["avg"][points/2] = math.NaN()
	return out
}

// running is a run in its profiling phase.
func running() terminal.Snapshot {
	r := &wire.Run{
		ID: "01a2", Name: "nightly", RunState: wire.RunState{State: bench.StateRunning}, Models: []string{"llama\x1b[2J"},
		Targets: []string{"https://host:8000"}, Endpoint: "chat", Streaming: true, RequestRate: new(25.0),
	}
	return terminal.Snapshot{
		Run: r, Elapsed: 75 * time.Second,
		Phases: []wire.Phase{
			{
				PhaseName: "warmup", PhaseKind: bench.Warmup, Completed: 10, ExpectedRequests: new(int64(10)),
				StartNS: new(int64(1e9)), LastUpdateNS: new(int64(9e9)), RequestsEndNS: new(int64(6e9)),
				Additional: wire.Additional{Percent: new(100.0), State: "complete"},
			},
			{
				PhaseName: "profiling", PhaseKind: bench.Profiling, Completed: 1500, ExpectedDuration: new(120.0), RequestsETA: new(50.0),
				StartNS: new(int64(6e9)), LastUpdateNS: new(int64(76e9)),
				Additional: wire.Additional{Percent: new(58.3), State: "running", InFlight: 17, Arrivals: &wire.Arrivals{Waiting: 3}},
			},
		},
		Metrics: map[string]wire.Stats{
			"request_throughput": stats("requests/sec", 24.8), "output_token_throughput": stats("tokens/sec", 1190),
			"time_to_first_token": stats("ms", 40), "inter_token_latency": stats("ms", 7.5), "request_latency": stats("ms", 600),
			"goodput": {Avg: new(23.1)}, "slo_attainment.time_to_first_token": {Avg: new(0.931)},
		},
		Load:    &verdict.Saturation{OfferedRate: new(25.2)},
		Seconds: timeseries(70), Tens: timeseries(2),
	}
}

// troubled is a run with everything that can be wrong.
func troubled() terminal.Snapshot {
	s := running()
	late := verdict.Reason{
		Code: "tick-lag", Level: verdict.Invalid, Value: 39, Limit: 1, Unit: "ms", Percentile: 83, Concerns: []string{"time_to_first_token"},
		Cause: "the load generator was short of CPU: its timers fired late, and responses are timestamped when they are read", Source: "other processes used 1.89 of the 2 cores",
	}
	gap := late
	gap.Concerns, gap.Value, gap.Unreported = []string{"inter_chunk_latency"}, 9, true
	s.Run.Client = &run.ClientVerdict{Verdict: verdict.Invalid, Reasons: []verdict.Reason{late, gap}}
	s.Run.Warnings = []bench.Warning{{Detail: "the tokenizer is not that of the model"}}
	s.Load.Saturated, s.Load.LimitedBy = true, "server"
	s.Errors = wire.Errors{Total: 12, Items: []wire.ErrorGroup{
		{Class: "overloaded", Status: new(503), Message: "worker <n> is busy", Sample: "worker 17 is busy", Count: 10},
		{Class: "timeout", Message: "no answer", Count: 2},
	}}
	return s
}

// draining is a run without a name whose last responses take longer than its phase.
func draining() terminal.Snapshot {
	s := running()
	s.Run.Name = ""
	p := &s.Phases[1]
	p.ExpectedDuration, p.State, p.RequestsETA = new(60.0), "draining", nil
	return s
}

// behind is a run whose duration is over and whose arrivals still wait for slots.
func behind() terminal.Snapshot {
	s := running()
	p := &s.Phases[1]
	p.ExpectedDuration, p.Percent, p.RequestsETA, p.Arrivals.Waiting = new(60.0), new(100.0), nil, 1331
	return s
}

// exporting is a run that has ended and writes its files.
func exporting() terminal.Snapshot {
	s := running()
	s.Run.State = bench.StateExporting
	return s
}

// sweep is a study with two cells that have ended.
func sweep() terminal.Snapshot {
	s := running()
	s.Study = &wire.Run{Name: "sweep", Progress: &wire.RunProgress{CellsTotal: new(8), CellsDone: new(2), CellsFailed: new(1), CurrentCell: "concurrency=4"}}
	s.Cells = []*wire.Run{
		{RunState: wire.RunState{State: bench.StateFailed}, Cell: &wire.Cell{Label: "concurrency=2"}},
		{
			RunState: wire.RunState{State: bench.StateCompleted}, Cell: &wire.Cell{Label: "concurrency=1"},
			Summary: &run.Summary{RequestThroughput: new(3.5), OutputTokenThroughput: new(170.0), TTFTP99: new(22.0), LatencyP99: new(300.0)},
		},
	}
	return s
}

func logOf(lines ...string) *tail {
	out := &tail{}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return out
}

// The screens, without colours.
func TestScreens(t *testing.T) {
	for _, tt := range []struct {
		name    string
		display display
	}{
		{"preparing", display{width: 80, height: 24}},
		{"running", display{width: 80, height: 24, snapshot: running()}},
		{"running_whole", display{width: 80, height: 24, whole: true, leaves: true, snapshot: running()}},
		{"running_60x15", display{width: 60, height: 15, snapshot: running()}},
		{"running_20x5", display{width: 20, height: 5, snapshot: running()}},
		{"running_ascii", display{width: 100, height: 20, ascii: true, snapshot: running()}},
		{"troubled", display{width: 80, height: 30, snapshot: troubled(), log: logOf("12:00:00 WRN one", "12:00:01 WRN two")}},
		{"troubled_wide", display{width: 160, height: 45, snapshot: troubled(), log: logOf("12:00:00 WRN one")}},
		{"lost", display{width: 80, height: 12, leaves: true, note: "connection lost", snapshot: running()}},
		{"stopping", display{width: 80, height: 12, interrupted: 1, snapshot: running()}},
		{"draining", display{width: 80, height: 24, snapshot: draining()}},
		{"behind", display{width: 80, height: 24, snapshot: behind()}},
		{"running_120x40", display{width: 120, height: 40, snapshot: running()}},
		{"exporting", display{width: 80, height: 12, snapshot: exporting()}},
		{"log_empty", display{width: 80, height: 6, page: logLines, snapshot: running()}},
		{"errors", display{width: 80, height: 8, page: errorList, snapshot: troubled()}},
		{"log", display{width: 80, height: 6, page: logLines, snapshot: running(), log: logOf("a", "b", "c", "d", "e")}},
		{"help", display{width: 80, height: 24, page: help, snapshot: running()}},
		{"sweep", display{width: 80, height: 24, snapshot: sweep()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.display.log == nil {
				tt.display.log = &tail{}
			}
			var got strings.Builder
			for line := range strings.SplitSeq(ansi.Strip(tt.display.draw()), "\n") {
				got.WriteString(strings.TrimRight(line, " ") + "\n")
			}
			golden := filepath.Join("testdata", tt.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("screen (-want +got):\n%s", diff)
			}
		})
	}
}

// Only a wrong number that the run reports is an alarm.
func TestAlarms(t *testing.T) {
	v := display{width: 80, height: 24, snapshot: troubled(), log: &tail{}}
	got := v.alerts()
	want := []string{
		alarm(" ! client: TTFT off by at most 39 ms (short of CPU) "),
		alarm(" ! SATURATED: requests arrive faster than they are served, limited by the server "),
	}
	for i := range want {
		want[i] = ansi.Truncate(want[i], v.width, v.ellipsis())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
}

// Each objective has a line of its own, so that its number is seen at every size.
func TestObjectives(t *testing.T) {
	s := running()
	for tag, met := range map[string]float64{"time_to_first_token": 0.931, "inter_token_latency": 0.5, "request_latency": 0.042} {
		s.Metrics["slo_attainment."+tag] = wire.Stats{Avg: &met}
	}
	want := []string{
		"     23.1/s  goodput: requests that met all of them", "     50.0 %  met inter_token_latency",
		"     4.20 %  met request_latency", "     93.1 %  met time_to_first_token",
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		v := display{width: size[0], height: size[1], snapshot: s, log: &tail{}}
		screen := ansi.Strip(v.draw())
		for _, line := range want {
			if !strings.Contains(screen, line) {
				t.Errorf("%d×%d: there is no %q:\n%s", v.width, v.height, line, screen)
			}
		}
	}
}

// Every screen has the size of the terminal, and passes no control characters on.
func TestSizes(t *testing.T) {
	for _, s := range []terminal.Snapshot{{}, running(), troubled(), sweep()} {
		for width := 1; width <= 210; width += 11 {
			for height := 1; height <= 60; height += 7 {
				for _, p := range []page{overview, help, errorList, logLines} {
					v := display{width: width, height: height, page: p, snapshot: s, log: logOf("a line", strings.Repeat("long ", 60))}
					text := v.draw()
					lines := strings.Split(text, "\n")
					if len(lines) != height {
						t.Fatalf("%d×%d page %d: %d lines", width, height, p, len(lines))
					}
					for _, line := range lines {
						if got := lipgloss.Width(line); got > width {
							t.Fatalf("%d×%d page %d: a line of %d columns: %q", width, height, p, got, line)
						}
					}
					if strings.Contains(text, "\x1b[2J") {
						t.Fatalf("%d×%d page %d: control characters of the model name", width, height, p)
					}
				}
			}
		}
	}
}

// Keys change the page, and ask for the end of the run.
func TestKeys(t *testing.T) {
	interrupts := 0
	m := model{display: display{log: &tail{}}, newest: func() message { return message{note: "lost"} }, interrupt: func() { interrupts++ }}
	var next tea.Model = m
	press := func(r rune) {
		key := tea.KeyPressMsg{Code: r}
		if r != tea.KeyEscape {
			key.Text = string(r)
		}
		next, _ = next.Update(key)
	}
	for _, step := range []struct {
		key  rune
		page page
	}{{'e', errorList}, {'l', logLines}, {'l', overview}, {'?', help}, {tea.KeyEscape, overview}} {
		press(step.key)
		if got := next.(model).page; got != step.page {
			t.Errorf("after %q: page %d, want %d", step.key, got, step.page)
		}
	}
	press('w')
	press('q')
	next, _ = next.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	next, _ = next.Update(tick{})
	if got := next.(model); !got.whole || got.interrupted != 2 || interrupts != 2 || got.note != "lost" {
		t.Errorf("whole %v, interrupted %d, %d calls, note %q", got.whole, got.interrupted, interrupts, got.note)
	}
	if !next.View().AltScreen {
		t.Error("not on the alternate screen")
	}
}

// The log keeps its last lines.
func TestTail(t *testing.T) {
	var log tail
	for i := range maxLog + 5 {
		fmt.Fprintf(&log, "%d\n", i)
	}
	lines, dropped := log.all()
	if len(lines) != maxLog || dropped != 5 || lines[0] != "5" {
		t.Errorf("%d lines from %q, %d dropped", len(lines), lines[0], dropped)
	}
}
