package export

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
)

// withTargets returns a report of a run with two servers, one of which failed.
func withTargets(t *testing.T) *Report {
	r := busyReport(t)
	set := func(rs metric.Results, tag string, values map[metric.Stat]float64) metric.Results {
		def, ok := catalogue.Lookup(tag)
		if !ok {
			t.Fatal(tag)
		}
		m := metric.Result{Def: def}
		for s, v := range values {
			m.Set(s, v)
		}
		return append(rs, m)
	}
	var good, bad metric.Results
	good = set(good, "request_count", map[metric.Stat]float64{metric.Avg: 1234})
	good = set(good, "request_latency", map[metric.Stat]float64{metric.P50: 12.5, metric.P99: 20})
	bad = set(bad, "error_request_count", map[metric.Stat]float64{metric.Avg: 3})
	r.Targets, r.ByTarget = []string{"http://a", "http://b"}, []metric.Results{good, bad}
	return r
}

func TestResultsByURL(t *testing.T) {
	r := withTargets(t)
	want := `|URL|Requests|Errors|Req/s|Output tok/s|TTFT p50 ms|TTFT p99 ms|Latency p50 ms|Latency p99 ms|
|http://a|1,234|0|N/A|N/A|N/A|N/A|12.50|20.00|
|http://b|0|3|N/A|N/A|N/A|N/A|N/A|N/A|
`
	for _, tt := range []struct {
		detail Detail
		want   string
	}{{Brief, want}, {Full, want}, {AIPerf, ""}, {"", want}} {
		var out strings.Builder
		if err := Console(&out, r, ConsoleOptions{Detail: tt.detail, ASCII: true, Width: 160}); err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		if _, rest, ok := strings.Cut(out.String(), "Results by URL\n"); ok {
			for line := range strings.Lines(rest) {
				if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "+") {
					break
				}
				if line[0] == '|' {
					for cell := range strings.SplitSeq(strings.Trim(line, "|\n"), "|") {
						table.WriteString("|" + strings.TrimSpace(cell))
					}
					table.WriteString("|\n")
				}
			}
		}
		if diff := cmp.Diff(tt.want, table.String()); diff != "" {
			t.Errorf("%s: %s", tt.detail, diff)
		}
	}
	var out bytes.Buffer
	if err := writeJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var file struct {
		ByURL []struct {
			URL     string
			Metrics map[string]map[string]any
		} `json:"results_by_url"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.ByURL) != 2 || file.ByURL[0].URL != "http://a" || file.ByURL[0].Metrics["request_latency"]["p50"] != 12.5 ||
		file.ByURL[1].Metrics["error_request_count"]["avg"] != 3.0 {
		t.Errorf("results_by_url = %+v", file.ByURL)
	}
}

// A run with several models has a table of models, and results by model in its summary.
func TestResultsByModel(t *testing.T) {
	r := withTargets(t)
	r.ByModel = []measure.NamedResults{{Name: "base", Results: r.ByTarget[0]}, {Name: "sql-lora", Results: r.ByTarget[1]}}
	r.ByTarget = nil
	var screen strings.Builder
	if err := Console(&screen, r, ConsoleOptions{Detail: Brief, ASCII: true, Width: 160}); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(screen.String(), "Results by Model\n")
	var rows []string
	for line := range strings.Lines(table) {
		if line[0] == '|' {
			rows = append(rows, strings.Join(strings.Fields(line), ""))
		}
		if len(rows) == 3 {
			break
		}
	}
	want := []string{
		"|Model|Requests|Errors|Req/s|Outputtok/s|TTFTp50ms|TTFTp99ms|Latencyp50ms|Latencyp99ms|",
		"|base|1,234|0|N/A|N/A|N/A|N/A|12.50|20.00|", "|sql-lora|0|3|N/A|N/A|N/A|N/A|N/A|N/A|",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := writeJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var file struct {
		ByModel []struct {
			Model   string
			Metrics map[string]map[string]any
		} `json:"results_by_model"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.ByModel) != 2 || file.ByModel[1].Model != "sql-lora" || file.ByModel[0].Metrics["request_latency"]["p50"] != 12.5 {
		t.Errorf("results_by_model = %+v", file.ByModel)
	}
}

// A run with conversations of several turns has a table of turns, and results by turn in
// its summary.
func TestResultsByTurn(t *testing.T) {
	r := withTargets(t)
	r.ByTurn, r.ByTarget = r.ByTarget, nil
	var screen strings.Builder
	if err := Console(&screen, r, ConsoleOptions{Detail: Full, ASCII: true, Width: 160}); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(screen.String(), "Results by Turn\n")
	var rows []string
	for line := range strings.Lines(table) {
		if line[0] == '|' {
			rows = append(rows, strings.Join(strings.Fields(line), ""))
		}
		if len(rows) == 3 {
			break
		}
	}
	want := []string{
		"|Turn|Requests|Errors|Cachehits|TTFTp50ms|TTFTp99ms|Latencyp50ms|Latencyp99ms|",
		"|0|1,234|0|N/A|N/A|N/A|N/A|N/A|", "|1|0|3|N/A|N/A|N/A|N/A|N/A|",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := writeJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var file struct {
		ByTurn []struct {
			Turn    int
			Metrics map[string]map[string]any
		} `json:"results_by_turn"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.ByTurn) != 2 || file.ByTurn[1].Turn != 1 || file.ByTurn[0].Metrics["request_latency"]["p50"] != 12.5 {
		t.Errorf("results_by_turn = %+v", file.ByTurn)
	}
}
