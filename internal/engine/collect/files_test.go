package collect

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
)

// TestValueFiles checks that no value file stays in a folder, however the process
// ends.
func TestValueFiles(t *testing.T) {
	set, err := measure.NewSet(measure.Options{Streaming: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	v := Values{dir: dir}
	if err := v.Keep(set); err != nil {
		t.Fatal(err)
	}
	file := v.files[0]
	if _, err := file.WriteAt([]byte("x"), 0); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" && left() != 0 {
		t.Error("the file has a name while it is used")
	}
	v.Close()
	if _, err := file.WriteAt([]byte("x"), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after close: %v, want %v", err, os.ErrClosed)
	}
	if left() != 0 {
		t.Error("the file is left after close")
	}

	v = Values{dir: filepath.Join(dir, "missing")}
	if err := v.Keep(set); !errors.Is(err, os.ErrNotExist) || len(v.files) != 0 {
		t.Errorf("in a folder that is missing: %v, want %v", err, os.ErrNotExist)
	}

	if err := os.WriteFile(filepath.Join(dir, ".values-123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	RemoveValues(dir)
	if left() != 0 {
		t.Error("the file of a dead process is left")
	}
}

// TestStaleRecords: of an earlier run in the folder nothing is left that this one does
// not write, except its dataset.
func TestStaleRecords(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"inputs.json", "outputs.json", "profile_export.jsonl", "profile_export.part0002.jsonl", "profile_export.part0003.jsonl",
		"profile_export.parquet", "profile_export_raw.jsonl", "profile_export_raw.part0002.jsonl", "profile_export_raw.part0003.jsonl", "mine.jsonl",
		"gpu_telemetry_export.jsonl", "profile_export_network_latency.jsonl", "server_metrics_export.jsonl", "server_spans.jsonl",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	document := &config.Document{}
	document.Benchmark.Datasets = []config.Dataset{
		{Path: filepath.Join(dir, "inputs.json")}, {Path: filepath.Join(dir, "profile_export_raw.part0002.jsonl")},
	}
	p := &plan.Plan{}
	p.Document, p.Files.Records = document, true
	files, err := OpenFiles(FileOptions{Dir: dir, Plan: p})
	if err := errors.Join(err, files.Close()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	want := map[string]string{
		"inputs.json": "old", "mine.jsonl": "old", "profile_export_raw.part0002.jsonl": "old", "profile_export.jsonl": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
