package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/verdict"
	finished "aiperfd/internal/results"
)

// writeRun writes the files of a run in which request i takes latency + i milliseconds.
func writeRun(t *testing.T, dir string, concurrency int, verdict string, requests int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	latency := float64(100 * concurrency)
	summary := fmt.Sprintf(`{"schema_version":"1.4","client":{"verdict":%q},
		"request_latency":{"unit":"ms","avg":%g,"p50":%g,"p95":%g,"p99":%g},
		"output_token_throughput":{"unit":"tokens/sec","avg":%d},
		"output_token_throughput_per_user":{"unit":"tokens/sec/user","avg":%g},
		"request_throughput":{"unit":"requests/sec","avg":%d},
		"input_config":{"models":{"items":[{"name":"m1"}]},"phases":[
			{"kind":"warmup","type":"concurrency","concurrency":1},{"kind":"profiling","type":"concurrency","concurrency":%d}]}}`,
		verdict, latency, latency, latency*2, latency*3, 50*concurrency, 100/float64(concurrency), concurrency, concurrency)
	var records bytes.Buffer
	fmt.Fprintln(&records, `{"metadata":{"request_start_ns":1,"request_end_ns":2,"benchmark_phase":"warmup"},"metrics":{}}`)
	fmt.Fprintln(&records, `{"metadata":{"request_start_ns":1,"request_end_ns":2,"benchmark_phase":"profiling"},"error":{"code":500}}`)
	for i := range requests {
		start := int64(1e18) + int64(i)*1e9
		fmt.Fprintf(&records, `{"metadata":{"request_start_ns":%d,"request_end_ns":%d,"benchmark_phase":"profiling"},"metrics":{`+
			`"request_latency":{"value":%g,"unit":"ms"},"time_to_first_token":{"value":20,"unit":"ms"},"output_sequence_length":{"value":10,"unit":"tokens"},`+
			`"inter_chunk_latency":{"value":[1,2],"unit":"ms"}},"error":null}`+"\n", start, start+5e8, latency+float64(i))
	}
	for name, data := range map[string][]byte{summaryFile(): []byte(summary), recordsFile: records.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The files of a run without a prefix, besides its summary.
const (
	recordsFile = "profile_export.jsonl"
	slicesFile  = "profile_export_aiperf_timeslices.json"
)

func both() []Format { return []Format{PNG, SVG} }

func TestOneRun(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, 8, "ok", 50)
	writeRun(t, filepath.Join(dir, "phases", "profiling"), 8, "ok", 1) // is no run
	if err := os.WriteFile(filepath.Join(dir, slicesFile), []byte(`{"timeslices":[
		{"start_ns":1000,"end_ns":2000001000,"request_latency":{"unit":"ms","avg":5}},
		{"start_ns":2000001000,"end_ns":4000001000,"request_latency":{"unit":"ms","avg":7}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := Make(Options{Paths: []string{dir}, Theme: Light, Formats: both()})
	if err != nil {
		t.Fatal(err)
	}
	want := "itl_over_time schedule_lag_over_time timeslices_ttft timeslices_itl timeslices_throughput"
	if got := strings.Join(out.Skipped, " "); got != want {
		t.Errorf("left out: %s, want %s", got, want)
	}
	for _, file := range out.Files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".png") {
			image, err := png.Decode(bytes.NewReader(data))
			if err != nil || image.Bounds().Dx() != 1600 || image.Bounds().Dy() != 800 {
				t.Errorf("%s: %v, %v, want 1600 by 800 pixels", file, image.Bounds(), err)
			}
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "plots", "latency_over_time.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Request latency · m1 · concurrency 8 · 50 requests", "start of the request (s)", "p95 of 20"} {
		if !bytes.Contains(svg, []byte(text)) {
			t.Errorf("latency_over_time.svg does not say %q", text)
		}
	}
}

func TestRequests(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, 1, "ok", 3)
	d := &results{runs: []*result{{files: finished.Open(dir, "")}}}
	got, err := d.load()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[2].start != 2 || got[2].end != 2.5 || got[2].latency != 102 || got[2].ttft != 20 {
		t.Errorf("requests = %+v", got)
	}
}

// TestParquet: records as Parquet are the same requests as records in lines.
func TestParquet(t *testing.T) {
	options := export.RecordOptions{
		Clock: bench.ClockAt(time.Unix(1e9, 0)), Secrets: redact.NewSet(),
		Phases: []export.PhaseName{{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "profiling", Kind: bench.Profiling}},
	}
	var lines, table bytes.Buffer
	asLines := export.NewRecordWriter(&lines, options)
	asTable, err := export.NewTableWriter(&table, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		r := &bench.Record{Phase: min(i, 1), SessionNum: int64(i), Turns: 1, Status: 200}
		r.Stamps.Start = time.Duration(i) * time.Millisecond
		r.Stamps.Due, r.Stamps.Permit, r.Stamps.End = r.Stamps.Start, r.Stamps.Start, r.Stamps.Start+time.Duration(i+1)*time.Microsecond
		if i == 500 {
			r.Answer.Failure = &bench.Failure{Class: bench.ServerError, Status: 500, Message: "x"}
		}
		if err := errors.Join(asLines.Write(r), asTable.Write(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(asLines.Flush(), asTable.Close()); err != nil {
		t.Fatal(err)
	}
	var all [2][]request
	for i, data := range [][]byte{lines.Bytes(), table.Bytes()} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, []string{recordsFile, "profile_export.parquet"}[i]), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if all[i], err = (&results{runs: []*result{{files: finished.Open(dir, "")}}}).load(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(all[0]); n != 998 || all[0][997].start != 0.998 {
		t.Errorf("%d requests, want 998; the last %+v", n, all[0][n-1])
	}
	if diff := cmp.Diff(all[0], all[1], cmp.AllowUnexported(request{}), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// The files of runs with a prefix are found, too: summary, records and time slices.
func TestPrefix(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	writeRun(t, from, 8, "ok", 50)
	for name, as := range map[string]string{summaryFile(): "nightly.json", recordsFile: "nightly.jsonl"} {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(dir, as)); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]string{
		"nightly_timeslices.json": `{"timeslices":[{"start_ns":1000,"end_ns":2000001000,"request_latency":{"unit":"ms","avg":5}},
			{"start_ns":2000001000,"end_ns":4000001000,"request_latency":{"unit":"ms","avg":7}}]}`,
		"inputs.json": `{}`, "nightly_result.json": `{`, "run_config.json": `{"cfg":{}}`, "other.json": `[]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Make(Options{Paths: []string{dir}, Theme: Light, Formats: []Format{SVG}})
	if err != nil {
		t.Fatal(err)
	}
	want := "itl_over_time schedule_lag_over_time timeslices_ttft timeslices_itl timeslices_throughput"
	if got := strings.Join(out.Skipped, " "); got != want {
		t.Errorf("left out: %s, want %s", got, want)
	}
}

// TestBrokenRecords: the error says in which line it is.
func TestBrokenRecords(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, recordsFile), []byte("{}\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&results{runs: []*result{{files: finished.Open(dir, "")}}}).load()
	if err == nil || !strings.HasSuffix(err.Error(), "line 2: unexpected end of JSON input") {
		t.Errorf("error %v", err)
	}
}

// The points of a sweep: two trials of each cell. The client was invalid in both of one
// cell, and in one of another.
func TestSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []int{2, 16, 4} {
		for trial := range 2 {
			verdict := "ok"
			if c == 4 || c == 16 && trial == 1 { // one sound run of 16 counts
				verdict = "invalid"
			}
			writeRun(t, filepath.Join(dir, fmt.Sprintf("trial_%d", trial), fmt.Sprintf("concurrency_%d", c)), c, verdict, 1)
		}
	}
	runs, err := find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	d := &results{runs: runs}
	f, err := pareto("", axis{"request_latency", "avg", "", true})(d)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, s := range f.panels[0].series {
		got[s.name] = fmt.Sprint(s.points, s.labels)
	}
	want := map[string]any{
		"Pareto front": "[{200 100} {1600 800}] []",
		"run":          "[{200 100} {1600 800}] [concurrency 2 concurrency 16]",
		notKept:        "[{400 200}] [concurrency 4]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	out, err := Make(Options{Paths: []string{dir}, Theme: Dark, Formats: both()})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(out.Skipped, " "); got != "ttft_vs_throughput" {
		t.Errorf("left out: %q, want ttft_vs_throughput", got)
	}
}

// A run counts for what the load generator did not distort in it.
// The runs of the sweep of a daemon have folders beside that of the sweep.
func TestSweepOfDaemon(t *testing.T) {
	root := t.TempDir()
	for i, concurrency := range []int{2, 4, 8} {
		sweep := "aaaa"
		if concurrency == 8 {
			sweep = "bbbb" // another one
		}
		dir := filepath.Join(root, fmt.Sprint("run", i))
		writeRun(t, dir, concurrency, "ok", 5)
		config := fmt.Sprintf(`{"sweep_id":%q,"variation":{"label":"phases.profiling.concurrency=%d"}}`, sweep, concurrency)
		if err := os.WriteFile(filepath.Join(dir, childFile), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"aaaa", "empty"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := find([]string{filepath.Join(root, "aaaa")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.cell)
	}
	if want := []string{"concurrency 2", "concurrency 4"}; !cmp.Equal(got, want) {
		t.Errorf("runs of the sweep: %q, want %q", got, want)
	}
	if _, err := Make(Options{Paths: []string{filepath.Join(root, "aaaa")}, Theme: Light, Formats: []Format{SVG}}); err != nil {
		t.Error(err)
	}
	if _, err := find([]string{filepath.Join(root, "empty")}); err == nil || !strings.Contains(err.Error(), "no folder beside it has a run of this sweep") {
		t.Errorf("the folder of no sweep: %v", err)
	}
}

func TestDistortedNumbers(t *testing.T) {
	r := &result{}
	r.Client.Verdict = verdict.OK
	r.Client.Reasons = []verdict.Reason{
		{Level: verdict.Invalid, Concerns: []string{"inter_chunk_latency"}}, {Level: verdict.Suspect, Concerns: []string{"time_to_first_token"}},
	}
	if r.distorted("request_latency", tokens, "time_to_first_token") || !r.distorted(tokens, "inter_chunk_latency") {
		t.Error("the verdict is not that of the number")
	}
	if got := r.warning(); got != "INVALID: inter_chunk_latency" {
		t.Errorf("warning %q", got)
	}
	sound := &result{}
	d := &results{runs: []*result{r, sound}}
	if c := d.cells("inter_chunk_latency")[0]; len(c.runs) != 1 || c.invalid {
		t.Errorf("%d runs of the distorted number, invalid %v", len(c.runs), c.invalid)
	}
	if c := d.cells(tokens)[0]; len(c.runs) != 2 || c.invalid {
		t.Errorf("%d runs of another, invalid %v", len(c.runs), c.invalid)
	}
}

func TestFrontier(t *testing.T) {
	all := []point{{X: 3, Y: 5}, {X: 1, Y: 2}, {X: 2, Y: 1}, {X: 2, Y: 4}, {X: 4, Y: 4}}
	if got := fmt.Sprint(frontier(all, true)); got != "[{1 2} {2 4} {3 5}]" {
		t.Errorf("less is better: %s", got)
	}
	if got := fmt.Sprint(frontier(all, false)); got != "[{4 4} {3 5}]" {
		t.Errorf("more is better: %s", got)
	}
}

func TestErrors(t *testing.T) {
	empty, run := t.TempDir(), t.TempDir()
	writeRun(t, run, 1, "ok", 1)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, summaryFile()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"no results", Options{Paths: []string{empty}}, "no results: there is no " + summaryFile()},
		{"no folder", Options{Paths: []string{filepath.Join(empty, "x")}}, "no such file"},
		{"broken summary", Options{Paths: []string{broken}}, "unexpected end of JSON input"},
		{"unknown plot", Options{Paths: []string{run}, Names: []string{"ttft_timelin"}}, `"ttft_timelin" is not a plot of one run; did you mean "ttft_timeline"?`},
		{"no data", Options{Paths: []string{run}, Names: []string{"timeslices_ttft"}, Formats: both()}, "it is written with --slice-duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Make(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestTicks(t *testing.T) {
	labels := func(low, high float64) (all []string) {
		for _, tick := range roundTicks(low, high, 10) {
			all = append(all, tick.label)
		}
		return all
	}
	if got := strings.Join(labels(0, 1.2), " "); got != "0 0.2 0.4 0.6 0.8 1 1.2" {
		t.Errorf("ticks from 0 to 1.2: %s", got)
	}
	if got := strings.Join(labels(-3, 70), " "); got != "0 10 20 30 40 50 60 70" {
		t.Errorf("ticks from -3 to 70: %s", got)
	}
	if got := labels(1, 1); got != nil {
		t.Errorf("ticks of an empty range: %v", got)
	}
}

func TestNames(t *testing.T) {
	if compareNames("a/concurrency_8", "a/concurrency_16") >= 0 || compareNames("b", "a") <= 0 || compareNames("a1", "a1") != 0 {
		t.Error("names are not in the order of their numbers")
	}
}
