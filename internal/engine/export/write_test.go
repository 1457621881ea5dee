package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/redact"
)

// files lists a folder, with the content of the markers.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() && info.Mode()&0o600 != 0o600 {
			t.Errorf("mode of %s = %v, want one that its owner can use", e.Name(), info.Mode())
		}
		out[e.Name()] = ""
		if strings.HasPrefix(e.Name(), ".") {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[e.Name()] = string(data)
		}
	}
	return out
}

// everyFormat returns the names of the files of a report without time slices, as
// [files] does.
func everyFormat(n Names) map[string]string {
	out := map[string]string{}
	for _, f := range formatsOf(&Report{}) {
		out[f.File(n)] = ""
	}
	return out
}

// named returns a report whose files have names with a prefix.
func named(r *Report, prefix string) *Report {
	r.Layout.Prefix = prefix
	return r
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".profile_export_aiperf.csv.123.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the files of the first
		failed, err := Write(dir, mixedReport(t), redact.NewSet())
		if err != nil || len(failed) > 0 {
			t.Fatalf("Write = %q, %v", failed, err)
		}
		want := everyFormat(NamesFor(""))
		want[ReadyMarker] = `{"ready":true,"was_cancelled":true,"partial":false,"failed_exporters":[]}` + "\n"
		if diff := cmp.Diff(want, files(t, dir)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	for name, golden := range map[string]string{"profile_export_aiperf.json": "mixed.json", "profile_export_console.txt": "mixed.txt"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, golden, got)
	}
}

func TestWriteOneFails(t *testing.T) {
	dir := t.TempDir()
	n := NamesFor("p")
	if err := os.Mkdir(filepath.Join(dir, n.CSV), 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	failed, err := Write(dir, named(failedReport(t), "p"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), "csv: rename: ") || strings.Contains(failed[0].Error(), dir) {
		t.Errorf("failed = %q, want the cause of csv without a path", failed)
	}
	want := everyFormat(n)
	want[ReadyMarker] = `{"ready":true,"was_cancelled":false,"partial":true,"failed_exporters":["csv"]}` + "\n"
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteNothing(t *testing.T) {
	dir := t.TempDir()
	n := NamesFor("p")
	for _, f := range Formats() {
		if err := os.Mkdir(filepath.Join(dir, f.File(n)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	failed, err := Write(dir, named(failedReport(t), "p"), nil)
	if err == nil || len(failed) != len(formatsOf(&Report{})) {
		t.Errorf("Write = %q, %v; want an error", failed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ReadyMarker)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ready marker: %v, want none", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ProcessingMarker)); err != nil {
		t.Errorf("processing marker: %v", err)
	}
	if _, err := Write(filepath.Join(dir, "missing"), failedReport(t), nil); err == nil {
		t.Error("Write into a folder that does not exist succeeded")
	}
}

// A secret in any field of a report must not reach any file, and must not break
// the structure of one, even if it looks like a number.
func TestWriteSecrets(t *testing.T) {
	secrets := redact.NewSet("sk-hunter2", "line\nbreak", "123456")
	const planted = "x sk-hunter2 y line\nbreak z 123456"
	r := &Report{
		Identity:    Identity{RunID: "id", Name: planted, Labels: map[string]string{planted: planted}, CLICommand: planted},
		InputConfig: map[string]any{planted: []any{planted, 123456, 1.5}}, State: bench.StateFailed, Reason: planted,
		Models: []string{planted}, Endpoint: planted, Title: planted, Load: planted, Tokenizer: planted,
		Results: metric.Results{result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 123456})},
		Phases:  []PhaseReport{{Errors: []metric.ErrorGroup{{Example: planted}}}},
		Errors: []metric.ErrorGroup{
			{Class: bench.Auth, Status: 401, Code: planted, Type: planted, Pattern: planted, Example: planted, Count: 1},
		},
		Warnings: []bench.Warning{{Code: "c", Detail: planted}},
	}
	dir := t.TempDir()
	if failed, err := Write(dir, r, secrets); err != nil || len(failed) > 0 {
		t.Fatalf("Write = %q, %v", failed, err)
	}
	for name := range files(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", `line\nbreak`, "line\nbreak", "line break"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds %q:\n%s", name, secret, data)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Config map[string][]any      `json:"input_config"`
		Count  struct{ Avg float64 } `json:"request_count"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("the summary is not JSON: %v\n%s", err, data)
	}
	const clean = "x <redacted> y <redacted> z <redacted>"
	if diff := cmp.Diff(map[string][]any{clean: {clean, 123456.0, 1.5}}, file.Config); diff != "" {
		t.Errorf("input_config (-want +got):\n%s", diff)
	}
	if file.Count.Avg != 123456 {
		t.Errorf("request_count = %v, want 123456", file.Count.Avg)
	}
	if r.Name != planted || r.Errors[0].Example != planted {
		t.Error("the report itself was changed")
	}
}

func TestNamesFor(t *testing.T) {
	own := NamesFor("")
	if diff := cmp.Diff(Names{
		JSON: "profile_export_aiperf.json", CSV: "profile_export_aiperf.csv", Records: "profile_export.jsonl", Tables: "profile_export.parquet",
		Raw: "profile_export_raw.jsonl", Inputs: "inputs.json", Outputs: "outputs.json",
		Console: "profile_export_console.txt", Result: "result.json", Log: "logs/aiperf.log", ServerMetrics: "server_metrics_export",
		Devices: "gpu_telemetry_export.jsonl", ServerSpans: "server_spans.jsonl", Network: "profile_export_network_latency.jsonl",
	}, own); diff != "" {
		t.Errorf("names without prefix (-want +got):\n%s", diff)
	}
	mine := own
	mine.JSON, mine.CSV, mine.Records, mine.Tables, mine.Raw, mine.Console, mine.Result = "mine.json", "mine.csv", "mine.jsonl", "mine.parquet", "mine_raw.jsonl", "mine_console.txt", "mine_result.json"
	mine.ServerMetrics, mine.Devices = "mine_server_metrics", "mine_gpu_telemetry.jsonl"
	mine.ServerSpans = "mine_server_spans.jsonl"
	mine.Network = "mine_network_latency.jsonl"
	for _, prefix := range []string{
		"mine", "mine.json", "mine.csv", "mine.jsonl", "mine_raw.jsonl", "mine_timeslices.csv", "mine_console.txt",
		"a/b/mine", "/etc/mine.json", "../mine", ".mine", "mine_server_metrics.parquet",
	} {
		if diff := cmp.Diff(mine, NamesFor(prefix)); diff != "" {
			t.Errorf("NamesFor(%q) (-want +got):\n%s", prefix, diff)
		}
	}
	for _, prefix := range []string{".", "..", "/", "a/..", ".json"} {
		if got := NamesFor(prefix); got != own {
			t.Errorf("NamesFor(%q) = %+v, want AIPerf's names", prefix, got)
		}
	}
	for _, prefix := range []string{"inputs", "outputs", "x", ""} {
		n := NamesFor(prefix)
		all := []string{n.JSON, n.CSV, n.Records, n.Raw, n.Inputs, n.Outputs, n.Console}
		slices.Sort(all)
		if len(slices.Compact(all)) != 7 {
			t.Errorf("NamesFor(%q) has a name twice: %+v", prefix, n)
		}
	}
}
