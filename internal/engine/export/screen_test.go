package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// percentiles are the statistics of a metric with values around v.
func percentiles(v float64) map[metric.Stat]float64 {
	return map[metric.Stat]float64{
		metric.Avg: v * 1.05, metric.Min: v / 2, metric.Max: v * 4, metric.P50: v, metric.P90: v * 1.5, metric.P99: v * 2.25, metric.Std: v / 10,
	}
}

func scalar(v float64) map[metric.Stat]float64 { return map[metric.Stat]float64{metric.Avg: v} }

// busyReport is a run with something to say in every line of the headline.
func busyReport(t *testing.T) *Report {
	t.Helper()
	return &Report{
		Identity: Identity{RunID: "01990f2c7d3e7a10b1c2d3e4f5a6b7c8", Version: "0.2.0", CLICommand: "aiperf profile --model 'meta-llama/Llama-3.1-8B-Instruct' --url 'http://10.0.0.7:8000' --streaming --request-rate 20 --benchmark-duration 60 --goodput 'time_to_first_token:500 inter_token_latency:50' --api-key '<redacted>'"},
		State:    bench.StateCompleted, Complete: true,
		Models: []string{"meta-llama/Llama-3.1-8B-Instruct"}, Groups: Groups{Targets: []string{"http://10.0.0.7:8000"}}, Endpoint: "chat", Streaming: true,
		Title: "LLM Metrics", Load: "poisson 20/s", Tokenizer: "server usage where sent, else builtin",

		Start: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), End: time.Date(2026, 3, 4, 5, 7, 37, 0, time.UTC), Duration: 90 * time.Second, Expected: 1400,
		SLOs: SLOs{Requests: map[string]float64{"time_to_first_token": 500, "inter_token_latency": 50}},
		Results: metric.Results{
			result(t, "time_to_first_token", 1221, percentiles(412.5)),
			result(t, "request_latency", 1221, percentiles(5210)),
			result(t, "inter_token_latency", 1221, percentiles(21.25)),
			result(t, "output_token_throughput", 0, scalar(3404.2)),
			result(t, "input_token_throughput", 0, scalar(7461)),
			result(t, "request_throughput", 0, scalar(13.56)),
			result(t, "goodput", 0, scalar(9.99)),
			result(t, "good_request_fraction", 0, scalar(0.7366)),
			result(t, "slo_attainment.time_to_first_token", 0, scalar(0.7421)),
			result(t, "slo_attainment.inter_token_latency", 0, scalar(0.99998)),
			result(t, "request_count", 0, scalar(1221)),
			result(t, "error_request_count", 0, scalar(21)),
			result(t, "cancelled_request_count", 0, scalar(4)),
			result(t, "request_error_rate", 0, scalar(1.7)),
			result(t, "benchmark_duration", 0, scalar(90)),
			result(t, "http_req_waiting", 1221, percentiles(12)),
			result(t, "overall_usage_prompt_cache_read_pct", 0, scalar(62.5)),
			result(t, "unique_prompt_ratio", 0, scalar(0.1)),
			result(t, "repeated_input_pct", 0, scalar(88.25)),
		},
		Errors: []metric.ErrorGroup{
			{Class: bench.RateLimited, Status: 429, Example: "rate limit reached for requests", Count: 20},
			{Class: bench.BadRequest, Status: 400, Example: `{"detail":"extra fields not permitted: max_completion_tokens"}`, Count: 1},
		},
		Warnings: []bench.Warning{
			{Code: "request-errors", Detail: "21 of 1242 requests failed; latencies cover successful requests only"},
			{Code: "output-length", Detail: "800 of 1221 responses were shorter than requested (-12 % on average); add --extra-inputs ignore_eos:true"},
			{Code: "saturated", Detail: "asked 20/s, served 13.6/s, the queue grew to 291: the server is saturated; percentiles are lower bounds"},
			{Code: "client-suspect", Detail: "machine-busy: told by the verdict"},
			{Code: "a", Detail: "a warning that is long enough to be cut on a narrow terminal, because it goes on and on until there is no room left"},
			{Code: "b", Detail: "another"}, {Code: "c", Detail: "the last"},
		},
		Client: &verdict.Report{Verdict: verdict.Suspect, Reasons: []verdict.Reason{{
			Code: "machine-busy", Level: verdict.Suspect, Message: "other processes used the processors", Metric: "other_processes_cores", Value: 1.5, Limit: 0.5, Unit: "cores",
		}}},
	}
}

// vectorsReport is a run without tokens in its responses.
func vectorsReport(t *testing.T) *Report {
	t.Helper()
	streams := 4
	return &Report{
		State: bench.StateCompleted, Complete: true, Models: []string{"bge"}, Groups: Groups{Targets: []string{"http://127.0.0.1:8000"}}, Endpoint: "embeddings", Load: "concurrency 4",
		Title: "Embeddings Metrics", Duration: 2 * time.Second, Expected: 100,
		Results: metric.Results{
			result(t, "request_latency", 100, percentiles(80)), result(t, "input_token_throughput", 0, scalar(27500)),
			result(t, "item_throughput", 0, scalar(400)), result(t, "request_throughput", 0, scalar(50)), result(t, "request_count", 0, scalar(100)),
		},
		Client: &verdict.Report{Verdict: verdict.OK, Certificate: &verdict.Certificate{
			Concurrency: &streams, TTFTAdded: 0.05, InterChunkAdded: 0.04, Requests: 900, Events: 12000,
		}},
	}
}

// What a terminal shows, at four widths: no line is wider than the terminal, and the last
// ones, which fit on a screen of 24 lines, have what a reader looks for.
func TestScreens(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		var all strings.Builder
		for _, c := range []struct {
			name   string
			report *Report
			o      ConsoleOptions
		}{
			{"brief", busyReport(t), ConsoleOptions{Detail: Brief, Folder: "artifacts/llama-openai-chat-request_rate20"}},
			{"embeddings", vectorsReport(t), ConsoleOptions{Detail: Brief, Folder: "out"}},
			{"failed", failedReport(t), ConsoleOptions{Detail: Brief, Folder: "out"}},
			{"cancelled, in ASCII", mixedReport(t), ConsoleOptions{Detail: Brief, ASCII: true}},
			{"aiperf", busyReport(t), ConsoleOptions{Detail: AIPerf, Errors: 1, Files: []File{{"CSV Export", "out/profile_export_aiperf.csv"}}}},
			{"full", busyReport(t), ConsoleOptions{Detail: Full, Folder: "out"}},
		} {
			var out bytes.Buffer
			c.o.Width = width
			if err := Console(&out, c.report, c.o); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "==== %s\n%s", c.name, out.String())
			for line := range strings.Lines(out.String()) {
				if w := view.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s at %d columns: a line has %d: %s", c.name, width, w, line)
				}
			}
			if c.report.Results.Find("time_to_first_token") != nil {
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				last := strings.Join(lines[max(0, len(lines)-20):], "\n")
				for _, want := range []string{"928", "13.6 req/s", "21 failed", "suspect", "saturated"} {
					if !strings.Contains(last, want) {
						t.Errorf("%s at %d columns: the last twenty lines lack %q:\n%s", c.name, width, want, last)
					}
				}
			}
		}
		compare(t, fmt.Sprintf("screen_%d.txt", width), []byte(all.String()))
	}
}

// headlineOf returns the brief report.
func headlineOf(t *testing.T, r *Report, o ConsoleOptions) string {
	t.Helper()
	var out bytes.Buffer
	o.Detail = Brief
	if err := Console(&out, r, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRemedies: a warning that is printed is printed whole, at any width, and what is not
// printed has a place.
func TestRemedies(t *testing.T) {
	for width := 60; width <= 220; width += 20 {
		text := headlineOf(t, busyReport(t), ConsoleOptions{Width: width, Folder: "out", ReportFile: "profile_export_console.txt"})
		flat := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"the server is saturated; percentiles are lower bounds", "more in profile_export_console.txt)", "for requests (1 more kind in profile_export_console.txt)"} {
			if !strings.Contains(flat, want) {
				t.Errorf("at %d columns there is no %q:\n%s", width, want, text)
			}
		}
		if strings.Contains(flat, "...") && width >= 80 {
			t.Errorf("at %d columns something is cut:\n%s", width, text)
		}
	}
}

// TestFromDueTime: what users waited for a slot is in the brief report.
func TestFromDueTime(t *testing.T) {
	r := busyReport(t)
	r.Results = append(r.Results, result(t, "corrected_time_to_first_token", 1221, percentiles(2300)), result(t, "corrected_request_latency", 1221, percentiles(7100)))
	const row = "from due time      2,300       3,450       5,175\n"
	if text := headlineOf(t, r, ConsoleOptions{}); strings.Contains(text, "from due time") {
		t.Errorf("nothing waited:\n%s", text)
	}
	r.Phases = []PhaseReport{{Stats: bench.PhaseStats{Kind: bench.Profiling, Arrivals: bench.Arrivals{Waited: 7}}}}
	if text := headlineOf(t, r, ConsoleOptions{}); !strings.Contains(text, row) || strings.Count(text, "from due time") != 2 {
		t.Errorf("there is no %q:\n%s", row, text)
	}
}

// TestFewIndependent: of many requests that are alike, the report says what they are worth.
func TestFewIndependent(t *testing.T) {
	r := vectorsReport(t)
	m := r.Results.Find("request_latency")
	m.Count = 20000
	m.Confidence = confidence(t, `{"effective_sample_size":43.4,"intervals":{},"unsupported":["p90","p99"]}`)
	text := headlineOf(t, r, ConsoleOptions{Width: 140})
	for _, want := range []string{"  (* too few independent requests)\n", "* consecutive requests are alike: for Latency p90, 20,000 are worth 43 independent ones; a longer run has more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q:\n%s", want, text)
		}
	}
	// A longer run makes a queue longer, and the sentence names the metric that has the star.
	r.Saturation = &verdict.Saturation{Saturated: true}
	r.Phases = []PhaseReport{{Stats: bench.PhaseStats{Kind: bench.Profiling, Arrivals: bench.Arrivals{Waited: 7}}}}
	r.Results = append(r.Results, result(t, "corrected_request_latency", 20000, percentiles(7100)))
	m = r.Results.Find("request_latency")
	due := r.Results.Find("corrected_request_latency")
	m.Confidence, due.Confidence = nil, m.Confidence
	want := "* consecutive requests are alike: for Latency from due time p90, 20,000 are worth 43 independent ones\n"
	if text = headlineOf(t, r, ConsoleOptions{Width: 140}); !strings.Contains(text, want) || !strings.Contains(text, "(* too few") {
		t.Errorf("there is no %q:\n%s", want, text)
	}
	r.Phases, m.Count = nil, 20000
	m.Confidence = confidence(t, `{"effective_sample_size":19000,"intervals":{},"unsupported":["p99"]}`)
	if text = headlineOf(t, r, ConsoleOptions{}); strings.Contains(text, "alike") {
		t.Errorf("they are not alike:\n%s", text)
	}
}

// TestColdCache: a cold cache, which is what a run without repeated prompts has, takes no line.
func TestColdCache(t *testing.T) {
	r := vectorsReport(t)
	r.Results = append(r.Results, result(t, "unique_prompt_ratio", 0, scalar(1)), result(t, "repeated_input_pct", 0, scalar(0)))
	if text := headlineOf(t, r, ConsoleOptions{}); strings.Contains(text, "Cache") {
		t.Errorf("a cold cache:\n%s", text)
	}
}

// TestClientWhole: the verdict is not cut before its remedy.
func TestClientWhole(t *testing.T) {
	r := vectorsReport(t)
	r.Client = &verdict.Report{Verdict: verdict.Invalid, Reasons: []verdict.Reason{
		{
			Code: "tick-lag", Level: verdict.Invalid, Value: 39, Limit: 1, Unit: "ms", Percentile: 99, Concerns: []string{"request_latency"}, Cause: "short of CPU",
			Source: "other processes used 1.89 of the 2 cores", Remedy: "stop the other processes, or give the client a machine or cores of its own (taskset)",
		},
		{Code: "concurrency-not-delivered", Level: verdict.Invalid, Value: 0.4, Limit: 0.01, Unit: "ratio", Concerns: []string{"throughput"}, Cause: "it fell behind", Source: "other processes used 1.89 of the 2 cores"},
	}}
	if text := headlineOf(t, r, ConsoleOptions{Width: 80}); !strings.Contains(strings.Join(strings.Fields(text), " "), "cores of its own (taskset)") {
		t.Errorf("the remedy is cut:\n%s", text)
	}
	r.Client = &verdict.Report{
		Verdict: verdict.OK, CPU: &verdict.Processor{UsedCores: 0.04, AvailableCores: 2},
		Bias: []verdict.Bias{{Metric: "request_latency", Judged: 0.59, Percentile: 99}},
	}
	if text := headlineOf(t, r, ConsoleOptions{Width: 60}); !strings.Contains(strings.Join(strings.Fields(text), " "), "CPU 0.04 of 2 cores") {
		t.Errorf("the line is cut:\n%s", text)
	}
}

// TestOnlyWithholds: a note on metrics that the headline lacks is in the full report alone.
func TestOnlyWithholds(t *testing.T) {
	const note = "1.15 events came in one read"
	for name, c := range map[string]struct {
		code, tag string
		slos      SLOs
		want      bool
	}{
		"not in the headline":     {"stream-coalesced", "inter_chunk_latency", SLOs{}, false},
		"batched":                 {"stream-batched", "inter_chunk_latency", SLOs{}, false},
		"it withholds a row":      {"stream-buffered", "inter_token_latency", SLOs{}, true},
		"objective of requests":   {"stream-coalesced", "inter_chunk_latency", SLOs{Requests: map[string]float64{"inter_chunk_latency": 5}}, true},
		"objective of the run":    {"stream-coalesced", "inter_chunk_latency", SLOs{Run: []metric.SLOResult{{Metric: "inter_chunk_latency"}}}, true},
		"another kind of warning": {"lengths", "inter_chunk_latency", SLOs{}, true},
	} {
		r := vectorsReport(t)
		r.SLOs, r.Warnings = c.slos, []bench.Warning{{Code: c.code, Detail: note}}
		r.Stream = &verdict.Stream{Withheld: map[string]verdict.Withheld{c.tag: {Reason: "x"}}}
		if got := strings.Contains(headlineOf(t, r, ConsoleOptions{}), note); got != c.want {
			t.Errorf("%s: in the headline = %v, want %v", name, got, c.want)
		}
	}
}
