package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// Records that do not have all requests give no partial results.
func TestRecoverKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, export.NamesFor("").Records), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &plan.Measure{}
	m.Files.Keep = export.RecordKeep{Mode: export.KeepSample, Rate: 0.5}
	_, _, err := Recover(t.Context(), dir, m, &run.Run{}, Recovery{Progress: func(int64, int64) {}})
	if err == nil || !strings.Contains(err.Error(), "does not have all requests (artifacts.keepRecords: sample)") {
		t.Errorf("Recover = %v, want an error that says why", err)
	}
}
