package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	studyexport "aiperfd/internal/study/export"
	"aiperfd/internal/view"
)

// cellTrial returns a run with the statistics of the table. client is the verdict on the load
// generator, then the metrics that it is about: "invalid request_throughput".
func cellTrial(n int, rate, first, latency float64, client string) cell.Trial {
	metrics := []cell.Metric{
		{Tag: "time_to_first_token", Unit: "ms", Stats: map[string]float64{"p50": first / 2, "p95": 0.9 * first, "p99": first}, Margins: map[string]float64{"p99": 0.1}},
		{Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"p50": latency / 2, "p99": latency}},
		{Tag: "inter_token_latency", Unit: "ms", Stats: map[string]float64{"avg": 7.25}},
		{Tag: "output_token_throughput", Unit: "tokens/sec", Stats: map[string]float64{"avg": 128 * rate}},
		{Tag: "request_throughput", Unit: "requests/sec", Stats: map[string]float64{"avg": rate}},
	}
	metrics = append(metrics, cell.Metric{Tag: "inter_chunk_latency", Unit: "ms", Stats: map[string]float64{"avg": 7.25}})
	level, about, _ := strings.Cut(client, " ")
	names := map[string]string{"time_to_first_token": "TTFT", "request_latency": "latency", "inter_chunk_latency": "inter_chunk_latency"}
	for i := range metrics {
		d := &cell.Doubt{
			Invalid: level == "invalid", Number: names[metrics[i].Tag], Off: fmt.Sprintf("off by at most %d ms for 95 %% of requests", 10*n), Times: float64(n),
			Cause: "short of CPU: other processes used 1.89 of the 2 cores", Remedy: "stop the other processes, or give the client a machine or cores of its own (taskset)",
		}
		if d.Number == "" {
			d.Number, d.Off, d.Cause = "throughput", "up to 40 % low", "client fell behind: other processes used 1.89 of the 2 cores"
		}
		if level == "suspect" {
			d.Off = strings.Replace("possibly "+d.Off, " off by", " off, by", 1)
		}
		if slices.Contains(strings.Fields(about), metrics[i].Tag) {
			metrics[i].Doubt = d
		}
	}
	if rate == 16.4 { // its requests are too few
		metrics[0].Unsupported, metrics[1].Unsupported = []string{"p99"}, []string{"p99"}
	}
	return cell.Trial{RunID: fmt.Sprint(n), Label: fmt.Sprintf("run_%04d", n), Client: level, Metrics: metrics}
}

func studyReport() *studyexport.Report {
	r := &studyexport.Report{Run: &run.Run{Study: &run.Study{Failed: 2}}, Study: &config.Study{
		Sweep: &sweep.Block{Type: sweep.Grid, SLAFilters: []sweep.Filter{
			{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 900}, {MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 900},
		}},
		MultiRun: sweep.MultiRun{NumRuns: 3, ConfidenceLevel: 0.95},
	}}
	for i, trials := range [][]cell.Trial{
		{cellTrial(1, 16, 17, 61, "ok"), cellTrial(2, 16.4, 17.9, 62, "ok"), cellTrial(3, 16.1, 17.2, 60.5, "suspect request_latency")},
		{cellTrial(1, 60, 25, 120, "ok"), cellTrial(2, 63, 24, 118, "invalid request_latency"), {Label: "run_0003", Failure: "not one request succeeded"}},
		{cellTrial(1, 180, 80, 300, "invalid request_throughput output_token_throughput request_latency"), cellTrial(2, 190, 82, 310, "invalid request_latency"), cellTrial(3, 185, 81, 302, "invalid time_to_first_token request_latency")},
		{cellTrial(1, 240, 400, 1200, "ok inter_chunk_latency"), cellTrial(2, 244, 410, 1210, "ok"), cellTrial(3, 239, 402, 1190, "ok")},
		{{Label: "run_0001", Failure: "not one request succeeded"}},
		{cellTrial(1, 70, 55, 130, "invalid request_throughput output_token_throughput")},
	} {
		v := vary.Variation{Index: i, Label: "l", Values: []vary.Assignment{
			{Path: "datasets.main.prompts.isl.mean", Value: 512}, {Path: "phases.profiling.concurrency", Value: 1 << (2 * i)},
		}}
		r.Outcomes = append(r.Outcomes, cell.Outcome{Variation: v, Trials: trials})
	}
	return r
}

// The table of a study fits its width; columns of little weight are left out of a narrow
// one.
func TestStudyTable(t *testing.T) {
	for _, width := range []int{80, 200} {
		var out strings.Builder
		for _, style := range []Style{{}, {ASCII: true}} {
			if err := StudyTable(&out, studyReport(), TableOptions{Width: width, Style: style, Folder: "artifacts/s/"}); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(out.String()) {
			if w := view.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("at %d columns a line has %d: %s", width, w, line)
			}
		}
		path := filepath.Join("testdata", fmt.Sprintf("study_%d.txt", width))
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

// Variations that were skipped are named with the reason, a bounded number of them.
func TestSkipNotes(t *testing.T) {
	var skipped []studyexport.Skipped
	for i := range 10 {
		skipped = append(skipped, studyexport.Skipped{
			Variation: vary.Variation{Label: "x", Values: []vary.Assignment{{Path: "concurrency", Value: 16 + i}}}, Why: "concurrency 8 failed",
		})
	}
	skipped = append(skipped, studyexport.Skipped{Variation: vary.Variation{Label: "big"}, Why: "concurrency 4, isl 99 failed"})
	want := []string{
		"Skipped: concurrency 16; concurrency 17; concurrency 18; concurrency 19; concurrency 20; concurrency 21; concurrency 22; concurrency 23; and 2 more, because concurrency 8 failed.",
		"Skipped: big, because concurrency 4, isl 99 failed.",
	}
	if diff := cmp.Diff(want, skipNotes(skipped)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// The line of a cell that has ended.
func TestCellLine(t *testing.T) {
	parent := &run.Run{Study: &run.Study{Done: 4, Total: 9}}
	child := &run.Run{Cell: &run.Cell{Trial: 1, Variation: vary.Variation{Label: "concurrency=4", Values: []vary.Assignment{{Path: "concurrency", Value: 4}}}}}
	good, failed := cellTrial(2, 63, 24, 118, "invalid time_to_first_token"), cell.Trial{Failure: "not one request succeeded"}
	// The statistic that a limit is about is in the line.
	limited := &config.Study{Sweep: &sweep.Block{SLAFilters: []sweep.Filter{
		{MetricTag: "time_to_first_token", Stat: "p50", Op: "lt", Threshold: 60}, {MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 900},
	}}}
	for _, c := range []struct {
		trial *cell.Trial
		want  string
	}{
		{&good, "[4/9] concurrency 4 (run 2)  63.0 req/s  8,064 tok/s  TTFT p99 24.0 ms  latency p99 118 ms  TTFT p50 12.0 ms  (TTFT off by at most 20 ms for 95 % of requests)"},
		{&failed, "[4/9] concurrency 4 (run 2)  FAILED: not one request succeeded"},
	} {
		if got := CellLine(limited, parent, child, c.trial); got != c.want {
			t.Errorf("line = %q, want %q", got, c.want)
		}
	}
	stopped := cell.Trial{Failure: "interrupted from the keyboard"}
	cancelled := &run.Run{State: bench.StateCancelled, Cell: child.Cell}
	if got, want := CellLine(&config.Study{}, parent, cancelled, &stopped), "[4/9] concurrency 4 (run 2)  cancelled: interrupted from the keyboard"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	search := &run.Run{Study: &run.Study{Type: "adaptive_search", Done: 4, Total: 60}}
	if got, want := CellLine(&config.Study{}, search, child, &failed), "[4] concurrency 4 (run 2)  FAILED: not one request succeeded"; got != want {
		t.Errorf("line of a search = %q, want %q", got, want)
	}
	child.Cell.Variation = vary.Variation{Label: "base"}
	if got, want := CellLine(&config.Study{}, parent, child, &failed), "[4/9] run 2  FAILED: not one request succeeded"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
}

// A list of variations reads as a sentence.
func TestEnumerate(t *testing.T) {
	for want, names := range map[string][]string{
		"concurrency 1":                                  {"concurrency 1"},
		"concurrency 1 and concurrency 2":                {"concurrency 1", "concurrency 2"},
		"concurrency 1, concurrency 2 and 3 more":        {"concurrency 1", "concurrency 2", "3 more"},
		"isl 8, concurrency 1; and isl 9, concurrency 1": {"isl 8, concurrency 1", "isl 9, concurrency 1"},
	} {
		if got := enumerate(names); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}

// A variation that is best although it breaks a limit is not shown as one that keeps it.
func TestWithin(t *testing.T) {
	r := studyReport()
	r.Study.Sweep.SLAFilters = []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 1}}
	var out strings.Builder
	if err := StudyTable(&out, r, TableOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "Best throughput, outside the limits: ") || strings.Contains(got, " within the limits: ") {
		t.Errorf("no variation keeps the limit:\n%s", got)
	}
}
