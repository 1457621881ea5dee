package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
)

// recordedResponses are the recorded responses of all endpoint types.
func recordedResponses(t *testing.T) (out []options.Case) {
	t.Helper()
	paths, err := filepath.Glob("endpoint/testdata/streams*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("recorded responses: %v", err)
	}
	for _, path := range paths {
		list, err := options.LoadCases(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	return out
}

// TestAbsurdServer: a server of any endpoint type whose responses are well formed and absurd
// gives errors or results, and never ends the process or crashes the processing of a
// response. scripts/hostile -dialects does the same for an hour.
func TestAbsurdServer(t *testing.T) {
	all := recordedResponses(t)
	kinds := map[string]endpoint.Kind{}
	for i := range all {
		if kind, ok := endpoint.Lookup(all[i].Type); ok {
			kinds[all[i].Type] = kind
		}
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(rounds(3)) {
				synctest.Test(t, func(t *testing.T) {
					server := mock.NewAbsurd(seed, all)
					b := newBed(t, mock.Options{}, func(http.Handler) http.Handler { return server })
					r, err := b.engine.Wait(t.Context(), b.submit(mock.AbsurdDocument("http://mem", name, kind.Caps.Streams && seed != 1, seed)))
					if err != nil {
						t.Fatal(err)
					}
					b.regenerate(r.ID)
					if r.State != bench.StateCompleted && (r.State != bench.StateFailed || r.Error.Code != run.NoSuccess) {
						t.Errorf("seed %d: run %s: %+v", seed, r.State, r.Error)
					}
					if hasWarning(r, "processing-crashed") {
						t.Errorf("seed %d: %v", seed, r.Warnings)
					}
					checkFiles(t, b.store.Dir(r.ID))
					b.stop()
				})
			}
		})
	}
}

// checkFiles checks that the files of a run are JSON, and not large.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	const most = 8 << 20
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(data) > most {
			t.Errorf("%s has %d bytes", d.Name(), len(data))
		}
		switch filepath.Ext(path) {
		case ".json":
			if !json.Valid(data) {
				t.Errorf("%s is not JSON", d.Name())
			}
		case ".jsonl":
			for line := range strings.Lines(string(data)) {
				if line = strings.TrimSpace(line); line != "" && !json.Valid([]byte(line)) {
					t.Errorf("%s: not JSON: %.200s", d.Name(), line)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
