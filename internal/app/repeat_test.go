package app

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRepeatStrangeFolder: what is not a file in the folder of a run is not waited for.
func TestRepeatStrangeFolder(t *testing.T) {
	dir := t.TempDir()
	text := `{"schema": "aiperfd-run/1", "run": {"id": "0123456789abcdef0123456789abcdef"}, "config": {"models": ["m"]}}`
	if err := os.WriteFile(filepath.Join(dir, ".run.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "result.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, document, err := OpenRepeat(dir) // which would block for ever
	if err != nil || r.results != nil {
		t.Errorf("results %v, error %v; want none", r.results, err)
	}
	if want := `{"benchmark":{"models":["m"]},"randomSeed":0}`; string(document) != want {
		t.Errorf("document %s, want %s", document, want)
	}
}
