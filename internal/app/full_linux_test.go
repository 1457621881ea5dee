package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
)

// A benchmark on a full disk prints its results, and its error names the folder.
func TestProfileOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mount tmpfs: %v; this test needs a process that may mount", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH)
	ctx, cancel := context.WithCancel(t.Context())
	url, stop, err := startMock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	parsed, err := flags.Parse([]string{
		"--model", "demo-model", "--url", url, "--streaming", "--tokenizer", "builtin", "--request-count", "2", "--osl", "2",
		"--output-artifact-dir", filepath.Join(disk, "results"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := parsed.Document()
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := plan.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := MakeFolder(doc, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "fill"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	var out bytes.Buffer
	err = (&Profile{Document: doc, Plan: compiled, Folder: folder, Out: &out}).Run(ctx)
	if ended, ok := errors.AsType[*OutcomeError](err); !ok || ended.Outcome != Failed ||
		!strings.HasPrefix(ended.Message, "the files in "+folder.Path+" are missing or incomplete: ") || !strings.Contains(ended.Message, "no space left") {
		t.Errorf("error %v, want one that names %s", err, folder.Path)
	}
	if text := out.String(); !strings.Contains(text, "Requests    2 ok") || strings.Contains(text, "full report:") {
		t.Errorf("output lacks the results or names files that do not exist:\n%s", text)
	}
}
