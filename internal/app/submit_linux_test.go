package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// A submission loads and compiles its document once, and each variation of a sweep once; a
// repeat of a variation is another document.
func TestSubmissionsLoadAndCompileOnce(t *testing.T) {
	url, stop, err := startMock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	for name, tt := range map[string]struct {
		more string
		want int // loads, and compilations
	}{
		"run":               {"", 1},
		"sweep":             {"sweep: {type: grid, parameters: {phases.profiling.concurrency: [1, 2, 3]}}", 1 + 3},
		"sweep and repeats": {"sweep: {type: grid, parameters: {phases.profiling.concurrency: [1, 2]}}\nmultiRun: {numRuns: 2}", 1 + 2*2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prompt := filepath.Join(dir, "prompt.txt")
			if err := os.WriteFile(prompt, []byte("Be brief."), 0o600); err != nil {
				t.Fatal(err)
			}
			opened := opens(t, prompt)
			loads, choices := 0, plan.Choices()
			detect := choices.Detect
			choices.Detect = func(f config.DatasetFile) (config.Detected, error) {
				loads++
				return detect(f)
			}
			o := options{store: store.NewSingle(dir), role: single, DaemonOptions: DaemonOptions{
				Log: zerolog.Nop(), Load: config.LoadOptions{Untrusted: true, DataRoots: []string{dir}, Choices: choices},
			}}
			if tt.more != "" {
				if o.store, err = store.OpenTree(dir); err != nil {
					t.Fatal(err)
				}
			}
			a, err := newApp(o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- a.run(ctx) }()
			text := fmt.Sprintf("benchmark:\n  model: demo-model\n  tokenizer: {name: builtin}\n  endpoint: {url: %q}\n"+
				"  datasets: [{type: file, systemPromptFile: %q, records: [{text: Hello}], osl: 1}]\n"+
				"  phases: [{type: concurrency, concurrency: 1, requests: 3}]\n%s\n", url, prompt, tt.more)
			loaded, err := loadChecked([]byte(text), config.YAML, o.Load, engine.Caps{Concurrency: 10})
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.studies.Submit(ctx, loaded.Document, run.Submission{Via: "api", Compiled: loaded.Compiled})
			if err == nil {
				r, err = a.studies.Wait(ctx, r.ID)
			}
			if err != nil || r.State != bench.StateCompleted {
				t.Fatalf("the run ended as %s: %s, %v", r.State, r.StateReason, err)
			}
			// To load is to check that the prompt can be opened; to compile is to read it.
			if compiled := opened() - loads; loads != tt.want || compiled != tt.want {
				t.Errorf("%d loads and %d compilations, want %d of each", loads, compiled, tt.want)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// opens returns a function that counts how often a file was opened.
func opens(t *testing.T, path string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_CLOSE_NOWRITE); err != nil {
		t.Fatal(err)
	}
	return func() int {
		queued, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		return queued / unix.SizeofInotifyEvent / 2 // equal events in a row would be one
	}
}
