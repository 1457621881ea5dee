package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/upkeep"
)

// storeRuns makes a data folder: run 1 is pinned, the entry and the snapshot of 2 are
// broken, 3 was interrupted, 4 is a pinned study with the cell 5.
func storeRuns(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 5; n++ {
		at := time.Now().Add(time.Duration(n) * time.Second)
		r := &run.Run{ID: runID(n), State: bench.StateCompleted, CreatedAt: at, StartedAt: &at, EndedAt: &at, Terms: run.Terms{Pinned: n == 1 || n == 4}}
		switch n {
		case 3:
			r.State, r.EndedAt = bench.StateRunning, nil
		case 4:
			r.Study = &run.Study{}
		case 5:
			r.Cell = &run.Cell{ParentID: runID(4)}
		}
		if err := db.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(db.Dir(runID(2)), ".snapshot.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", filepath.Join(dir, "aiperfd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("UPDATE runs SET run = '{' WHERE id = ?", runID(2)); err != nil {
		t.Fatal(err)
	}
}

func runID(n int) string { return fmt.Sprintf("%032x", n) }

// startKeeper serves a data folder by rules, and returns a function that calls its API.
func startKeeper(t *testing.T, dir string, rules upkeep.Rules) func(method, path, body string) (int, http.Header, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d, err := OpenDaemon(ctx, DaemonOptions{Host: "127.0.0.1", DataDir: dir, Keep: rules, Log: zerolog.Nop()})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	call := func(method, path, body string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, d.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/yaml")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, string(data)
	}
	for tick := time.Tick(10 * time.Millisecond); ; <-tick {
		if status, _, _ := call(http.MethodGet, "/readyz", ""); status == http.StatusOK {
			return call
		}
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	storeRuns(t, dir)
	call := startKeeper(t, dir, upkeep.Rules{MinFree: 1 << 62})
	status, _, body := call(http.MethodGet, "/api/runs", "")
	for tick := time.Tick(10 * time.Millisecond); strings.Contains(body, `"exporting"`); <-tick { // the run is being recovered
		status, _, body = call(http.MethodGet, "/api/runs", "")
	}
	var list struct {
		Items []struct {
			ID       string
			Pinned   bool
			State    string
			Warnings []bench.Warning
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Items) != 4 {
		t.Fatalf("GET /api/runs = %d %s, %v; want 4 runs", status, body, err)
	}
	for _, r := range list.Items {
		broken := slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "broken-entry" })
		state := "completed"
		if r.ID == runID(3) {
			state = "failed"
		}
		if r.State != state || r.Pinned != (r.ID == runID(1) || r.ID == runID(4)) || broken != (r.ID == runID(2)) {
			t.Errorf("run = %+v", r)
		}
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodGet, "/api/runs/" + runID(2), "", 200, `"broken-entry"`},
		{http.MethodGet, "/api/runs/" + runID(2) + "/metrics", "", 200, ""},
		{http.MethodDelete, "/api/runs/" + runID(1), "", 409, "urn:aiperfd:problem:run-pinned"},
		{http.MethodDelete, "/api/runs/" + runID(4), "", 409, "urn:aiperfd:problem:run-pinned"},
		{http.MethodDelete, "/api/runs/" + runID(5), "", 409, "urn:aiperfd:problem:run-pinned"},
		{http.MethodDelete, "/api/runs/" + runID(1) + "?force=true", "", 204, ""},
		{http.MethodDelete, "/api/runs/" + runID(1) + "?force=true", "", 404, ""},
		{http.MethodDelete, "/api/runs/" + runID(2), "", 204, ""},
		{http.MethodPost, "/api/runs", "model: m\nendpoint: {url: 'http://127.0.0.1:1'}\nphases: [{name: a, requests: 1}]", 422, ""},
		{http.MethodPost, "/api/runs", "benchmark:\n  model: m\n  endpoint: {url: 'http://127.0.0.1:1', type: chat}\n  dataset: {type: synthetic, isl: 5, osl: 5}\n" +
			"  tokenizer: {name: builtin}\n  phases: [{name: a, kind: profiling, type: concurrency, concurrency: 1, requests: 1}]", 507, "urn:aiperfd:problem:insufficient-storage"},
	} {
		status, header, body := call(test.method, test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s = %d %s, want %d with %s", test.method, test.path, status, body, test.status, test.want)
		}
		if status == http.StatusInsufficientStorage && header.Get("Retry-After") == "" {
			t.Error("507 without Retry-After")
		}
	}
	_, _, metrics := call(http.MethodGet, "/metrics?names=native", "")
	for _, want := range []string{"\naiperfd_disk_free_bytes ", "\naiperfd_store_errors_total{operation=\"put\"} 0\n", "\naiperfd_retention_deleted_runs_total 0\n", "\naiperfd_recovered_runs_total 1\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	if problems, err := promlint.New(strings.NewReader(metrics)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

// A daemon applies its rules as soon as it knows the runs of an earlier process.
func TestRetention(t *testing.T) {
	dir := t.TempDir()
	storeRuns(t, dir)
	db, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	newest := time.Now().Add(10 * time.Second) // later than all others
	if err := errors.Join(db.Put(t.Context(), &run.Run{ID: runID(6), State: bench.StateCompleted, CreatedAt: newest, EndedAt: &newest}), db.Close()); err != nil {
		t.Fatal(err)
	}
	call := startKeeper(t, dir, upkeep.Rules{MaxRuns: 1})
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(10 * time.Millisecond); ; {
		_, _, body := call(http.MethodGet, "/api/runs", "")
		if !strings.Contains(body, runID(2)) && strings.Contains(body, runID(1)) && strings.Contains(body, runID(4)) && strings.Contains(body, runID(6)) {
			return // the oldest that has ended and is not pinned is deleted
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("runs after 20 s: %s", body)
		}
	}
}
