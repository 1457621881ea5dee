package export

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// phasedReport returns a report of a warm-up and a phase with an error.
func phasedReport(t *testing.T) *Report {
	t.Helper()
	r := mixedReport(t)
	start := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	r.Phases = []PhaseReport{{
		Stats: bench.PhaseStats{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1, Records: bench.RecordCounts{Success: 2}, End: bench.PhaseCompleted},
		Start: start, End: start.Add(time.Second),
		Results: metric.Results{result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 2})},
	}, {
		Stats: bench.PhaseStats{Name: "load", Index: 1, Kind: bench.Profiling, Records: bench.RecordCounts{Success: 3, Errors: 1}, End: bench.PhaseCancelled},
		Start: start.Add(time.Second), End: start.Add(3 * time.Second),
		Results: metric.Results{result(t, "request_count", 0, map[metric.Stat]float64{metric.Avg: 3})},
		Errors:  []metric.ErrorGroup{{Class: bench.RateLimited, Status: 429, Example: "slow < down", Count: 1}},
	}}
	return r
}

func TestPhaseFiles(t *testing.T) {
	dir := t.TempDir()
	if failed, err := Write(dir, named(phasedReport(t), "nightly"), nil); err != nil || len(failed) > 0 {
		t.Fatalf("Write = %q, %v", failed, err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "phase_manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "phase_manifest.json", manifest)
	for name, want := range map[string]struct {
		start     string
		count     float64
		cancelled bool
		errors    int
	}{
		"warmup": {"2026-03-04T05:06:00.000000", 2, false, 0},
		"load":   {"2026-03-04T05:06:01.000000", 3, true, 1},
	} {
		var got struct {
			Start     string                          `json:"start_time"`
			Cancelled bool                            `json:"was_cancelled"`
			Count     struct{ Avg float64 }           `json:"request_count"`
			Errors    []struct{ Count int }           `json:"error_summary"`
			Warmup    map[string]json.RawMessage      `json:"warmup_metrics"`
			Notes     []struct{ Detail, Code string } `json:"notes"`
		}
		data, err := os.ReadFile(filepath.Join(dir, "phases", name, "nightly.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.Start != want.start || got.Count.Avg != want.count || got.Cancelled != want.cancelled || len(got.Errors) != want.errors || got.Warmup != nil || len(got.Notes) > 0 {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		text, err := os.ReadFile(filepath.Join(dir, "phases", name, "nightly.csv"))
		if err != nil || !strings.Contains(string(text), "Request Count,") {
			t.Errorf("%s: csv %q, %v", name, text, err)
		}
	}
}

// TestStaleFiles: files of an earlier run that this one does not make are removed,
// and other files stay.
func TestStaleFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write(dir, phasedReport(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "phases", "load", "mine.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := mixedReport(t)
	r.Layout.NoSummary = true
	if _, err := Write(dir, r, nil); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != dir {
			left = append(left, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
		return err
	})
	want := []string{
		ReadyMarker, "phases", "phases/load", "phases/load/mine.json", "profile_export_aiperf.csv",
		"profile_export_console.txt", "result.json",
	}
	if diff := cmp.Diff(want, left); err != nil || diff != "" {
		t.Errorf("files (-want +got):\n%s%v", diff, err)
	}
}

func TestCSVDigits(t *testing.T) {
	for _, test := range []struct {
		digits *int
		want   string
	}{{nil, "0.01432"}, {new(0), "0"}, {new(2), "0.01"}, {new(6), "0.014318"}} {
		if got := decimal(0.014318316859543, test.digits); got != test.want {
			t.Errorf("%v digits: %s, want %s", test.digits, got, test.want)
		}
	}
}
