package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// TestRecoverWithoutFiles: the results of an interrupted run need only its record
// file. Files that its document names may be missing.
func TestRecoverWithoutFiles(t *testing.T) {
	for name, dataset := range map[string]string{
		"prompts": "{type: file, format: single_turn, path: DIR/data.jsonl, systemPromptFile: DIR/prompt.txt}",
		"images":  "{type: synthetic, isl: 8, osl: 4, systemPromptFile: DIR/prompt.txt, images: {source: DIR/images, width: 8, height: 8}}",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { recoverWithoutFiles(t, dataset) })
		})
	}
}

func recoverWithoutFiles(t *testing.T, dataset string) {
	b := newBed(t, mock.Options{}, nil)
	dir := documentFiles(t)
	r := b.run(fmt.Sprintf(`
benchmark:
  model: m
  endpoint: {url: http://mock}
  dataset: %s
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 2, requests: 7}]
`, strings.ReplaceAll(dataset, "DIR", dir)))
	b.stop()

	// The record file has been continued in a second part.
	records := filepath.Join(b.store.Dir(r.ID), export.NamesFor("").Records)
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.IndexByte(text, '\n') + 1
	for name, part := range map[string][]byte{records: text[:end], export.PartName(records, 2): text[end:]} {
		if err := os.WriteFile(name, part, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// The process died during the run, and what the document names has gone since.
	left := *r
	left.State, left.Summary, left.Error = bench.StateRunning, nil, nil
	left.Config = bytes.Replace(r.Config, []byte(`"timeout"`), fmt.Appendf(nil, `"tls":{"caFile":"%s/ca.pem"},"timeout"`, dir), 1)
	if bytes.Equal(left.Config, r.Config) {
		t.Fatal("the configuration has no place for a certificate")
	}
	result := filepath.Join(b.store.Dir(r.ID), export.NamesFor("").JSON)
	if err := b.store.Put(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{dir, result} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}

	again := restarted(t, b.store, r.ID)
	if again.State != bench.StateFailed || again.Error == nil || again.Error.Code != run.Interrupted {
		t.Errorf("the run is %s, %+v; want it failed and interrupted", again.State, again.Error)
	}
	if again.Summary == nil || again.Summary.Requests != 7 {
		t.Errorf("summary %+v, warnings %v; want 7 requests", again.Summary, again.Warnings)
	}
	if _, err := os.Stat(result); err != nil {
		t.Errorf("no result file: %v", err)
	}
}

// documentFiles creates the files that the documents of this test name.
func documentFiles(t *testing.T) string {
	t.Helper()
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string]string{
		"prompt.txt": "Answer in one word.", "data.jsonl": strings.Repeat(`{"text": "a b c"}`+"\n", 4), "images/a.png": img.String(),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// restarted starts an engine on a store, and returns a run once it has ended.
func restarted(t *testing.T, store run.Store, id string) *run.Run {
	t.Helper()
	e, err := engine.New(engine.Options{Store: store, Log: zerolog.New(zerolog.NewTestWriter(t)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	synctest.Wait()
	r, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("engine: %v", err)
	}
	return r
}
