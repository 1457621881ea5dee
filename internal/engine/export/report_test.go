package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result makes a metric; stats are pairs of a statistic and its value.
func result(t *testing.T, tag string, count int64, stats map[metric.Stat]float64) metric.Result {
	t.Helper()
	def, ok := catalogue.Lookup(tag)
	if !ok {
		t.Fatalf("no metric %s", tag)
	}
	r := metric.Result{Def: def, Count: count}
	for s, v := range stats {
		r.Set(s, v)
	}
	return r
}

// mixedReport is a cancelled run with everything that is awkward: infinities,
// NaN, internal metrics, ours between AIPerf's, tiny and huge numbers, texts
// with control characters.
func mixedReport(t *testing.T) *Report {
	t.Helper()
	inf := math.Inf(1)
	return &Report{
		Identity:    Identity{RunID: "01990f2c7d3e7a10b1c2d3e4f5a6b7c8", Version: "0.2.0", Seed: 42, Name: "nightly <1>", CLICommand: "aiperfd profile --model 'm' --api-key '<redacted>'"},
		InputConfig: map[string]any{"slos": map[string]any{}, "note": "a < b"},
		State:       bench.StateCancelled, Reason: "enough", Cancelled: true, Models: []string{"org/model-a", "model-b"}, Endpoint: "chat",
		Title: "LLM Metrics", Load: "poisson 12/s, at most 64 at a time", Tokenizer: "builtin", Expected: 0,
		Start: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), End: time.Date(2026, 3, 4, 5, 6, 17, 500000, time.FixedZone("", 3600)), Duration: 10 * time.Second,
		Results: metric.Results{
			result(t, "request_latency", 3, map[metric.Stat]float64{
				metric.Avg: 1234.5, metric.Min: 1, metric.Max: 1e7, metric.P50: 0.00012345, metric.P99: math.NaN(),
				metric.P999: 99.9, metric.P9999: 99.99, metric.Std: 0, metric.Sum: 1e16, metric.P1: 1e-5,
			}),
			result(t, "adj_request_latency", 5, map[metric.Stat]float64{
				metric.Avg: inf, metric.Min: 1, metric.Max: inf, metric.P50: 2, metric.P90: inf, metric.Sum: inf,
			}),
			result(t, "schedule_lag", 3, map[metric.Stat]float64{metric.Avg: 0.5, metric.P50: 0.25, metric.P99: 12345678.9}),
			result(t, "corrected_request_latency", 3, map[metric.Stat]float64{metric.Avg: inf}),
			result(t, "requested_osl", 3, map[metric.Stat]float64{metric.Avg: 77, metric.P50: 77}),
			result(t, "request_throughput", 0, map[metric.Stat]float64{metric.Avg: 0.014318316859543}),
			result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 3}),
			result(t, "error_request_count", 0, map[metric.Stat]float64{metric.Avg: 2}),
			result(t, "cancelled_request_count", 0, map[metric.Stat]float64{metric.Avg: 1}),
			result(t, "benchmark_duration", 0, map[metric.Stat]float64{metric.Avg: 9.876}),
			result(t, "slo_attainment.request_latency", 0, map[metric.Stat]float64{metric.Avg: 0.4}),
		},
		Errors: []metric.ErrorGroup{
			{Class: bench.ConnectError, Code: "refused", Pattern: "dial <n>", Example: "dial\x1b[31m 127.0.0.1:1\r\nrefused\u202e", Count: 1},
			{Class: bench.RateLimited, Status: 429, Pattern: "p", Example: strings.Repeat("slow down ", 30), Count: 1234},
		},
		Warnings: []bench.Warning{{Code: "x", Detail: strings.Repeat("a doubt that is long, ", 12) + "and ends"}},
	}
}

// compare compares with a golden file.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestFormatsGolden(t *testing.T) {
	for name, format := range map[string]Format{"mixed.json": Formats()[0], "mixed.csv": Formats()[1], "mixed.txt": Formats()[2]} {
		var out bytes.Buffer
		if err := format.Write(&out, mixedReport(t)); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.Bytes())
	}
	var out bytes.Buffer
	if err := Console(&out, mixedReport(t), ConsoleOptions{Width: 72, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	compare(t, "narrow.txt", out.Bytes())
	for line := range strings.Lines(out.String()) {
		if w := view.Width(strings.TrimSuffix(line, "\n")); w > 72 {
			t.Errorf("a line is %d columns wide: %s", w, line)
		}
	}
}

// failedReport is a run in which nothing succeeded.
func failedReport(t *testing.T) *Report {
	t.Helper()
	return &Report{
		Identity: Identity{RunID: "01990f2c7d3e7a10b1c2d3e4f5a6b7c8", Version: "0.2.0"},
		State:    bench.StateFailed, Models: []string{"m"}, Endpoint: "chat",
		Reason: "no request succeeded: connect_error, 5 times: connection refused", Title: "LLM Metrics", Load: "concurrency 1",
		Results: metric.Results{
			result(t, "error_request_count", 0, map[metric.Stat]float64{metric.Avg: 5}),
			result(t, "request_error_rate", 0, map[metric.Stat]float64{metric.Avg: 100}),
		},
		Dataset: Dataset{Hash: "e3b0c442"},
		Errors:  []metric.ErrorGroup{{Class: bench.ConnectError, Example: "connection refused", Count: 5}},
	}
}

func TestFailedRun(t *testing.T) {
	var out bytes.Buffer
	if err := Console(&out, failedReport(t), ConsoleOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	compare(t, "failed.txt", out.Bytes())
	out.Reset()
	if err := writeJSON(&out, failedReport(t)); err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"is_complete": "false", "was_cancelled": "false", "notes": "[]", "input_config": "null",
		"error_summary": `[{"error_details":{"type":"connect_error","message":"connection refused","class":"connect_error"},"count":5}]`,
		"run_info":      `{"benchmark_id":"01990f2c7d3e7a10b1c2d3e4f5a6b7c8","random_seed":0,"trial":0}`,
	} {
		if got := compact(t, file[name]); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"start_time", "end_time", "warmup_metrics", "request_latency"} {
		if _, ok := file[name]; ok {
			t.Errorf("file of a run without requests has %s", name)
		}
	}
	out.Reset()
	empty := &Report{State: bench.StateFailed}
	for _, f := range formatsOf(empty) {
		if err := f.Write(&out, empty); err != nil {
			t.Errorf("%s of an empty report: %v", f.Name, err)
		}
	}
	if !strings.Contains(out.String(), "No request returned a response") {
		t.Errorf("an empty report does not say so:\n%s", out.String())
	}
}

func TestConsoleColor(t *testing.T) {
	var plain, color bytes.Buffer
	for out, o := range map[*bytes.Buffer]ConsoleOptions{&plain: {Width: 120}, &color: {Width: 120, Color: true}} {
		if err := Console(out, mixedReport(t), o); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("there are escapes without colour")
	}
	if !strings.Contains(color.String(), "\x1b[1mModel:     \x1b[0morg/model-a, model-b\n") {
		t.Errorf("the label is not bold:\n%q", color.String()[:200])
	}
	stripped := view.Unstyled(color.String())
	if diff := cmp.Diff(plain.String(), stripped); diff != "" {
		t.Errorf("colour changes more than colour (-plain +colour):\n%s", diff)
	}
}

func TestConsoleIncomplete(t *testing.T) {
	r := mixedReport(t)
	r.Cancelled, r.Reason = false, "the process ended"
	var out bytes.Buffer
	if err := Console(&out, r, ConsoleOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "\nINCOMPLETE RESULTS: the process ended; not comparable"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("report begins %.100q, want %q", out.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64][3]string{
		0:                     {"0.0", "0.00", "0.00"},
		54:                    {"54.0", "54.00", "54.00"},
		-1234567.891:          {"-1234567.891", "-1234567.89", "-1,234,567.89"},
		0.014318316859543:     {"0.014318316859543", "0.01432", "0.01"},
		0.5:                   {"0.5", "0.50", "0.50"},
		0.99999:               {"0.99999", "1.00", "1.00"},
		0.1234:                {"0.1234", "0.1234", "0.12"},
		-0.001:                {"-0.001", "-0.001", "0.00"},
		0.00001:               {"1e-05", "0.00001", "0.00"},
		1e16:                  {"1e+16", "10000000000000000.00", "10,000,000,000,000,000.00"},
		123456789012345:       {"123456789012345.0", "123456789012345.00", "123,456,789,012,345.00"},
		3e-12:                 {"3e-12", "3.000e-12", "0.00"},
		100.00000000000000001: {"100.0", "100.00", "100.00"},
		999.999:               {"999.999", "1000.00", "1,000.00"},
	} {
		if got := [3]string{string(appendFloat(nil, v)), decimal(v, nil), view.Grouped(v)}; got != want {
			t.Errorf("%v = %q, want %q", v, got, want)
		}
	}
}
