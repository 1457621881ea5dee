package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/app"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
)

// testDaemon is the daemon of serve, in this process.
type testDaemon struct {
	t    *testing.T
	url  string
	dir  string
	logs *lockedBuffer
	stop func() // idempotent; called at the end of the test
}

// lockedBuffer is a buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// startTestDaemon serves a new data directory on a free port. Variables are the
// environment that documents may use.
func startTestDaemon(t *testing.T, variables map[string]string) *testDaemon {
	t.Helper()
	d := &testDaemon{t: t, dir: t.TempDir(), logs: &lockedBuffer{}}
	env := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
	load := config.LoadOptions{LookupEnv: env, LookupSecret: secret.Lookup(nil, env)}
	for name := range variables {
		load.AllowEnv = append(load.AllowEnv, name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	daemon, err := app.OpenDaemon(ctx, app.DaemonOptions{
		Host: "127.0.0.1", DataDir: d.dir, Load: load, Version: version, Log: zerolog.New(d.logs).Level(zerolog.TraceLevel),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	d.url = daemon.URL()
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("daemon: %v", err)
		}
	})
	t.Cleanup(d.stop)
	d.until("/readyz", func(status int, _ string) bool { return status == http.StatusOK })
	return d
}

// answer is a response of the daemon.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request; body may be nil.
func (d *testDaemon) call(method, path, contentType string, body []byte) answer {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	read := io.ReadAll
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		read = readSnapshot
	}
	data, err := read(resp.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// readSnapshot reads server-sent events up to the first one, the snapshot: the stream
// itself ends with the run.
func readSnapshot(r io.Reader) ([]byte, error) {
	var out []byte
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		out = append(out, line...)
		if err != nil || bytes.HasPrefix(line, []byte("data:")) {
			return out, err
		}
	}
}

// submit posts a YAML document that must be accepted, and returns the run's id.
func (d *testDaemon) submit(document string) string {
	d.t.Helper()
	got := d.call(http.MethodPost, "/api/runs", "application/yaml", []byte(document))
	var run struct{ ID string }
	if err := json.Unmarshal(got.body, &run); err != nil || got.status != http.StatusCreated {
		d.t.Fatalf("POST /api/runs: %d %s", got.status, got.body)
	}
	return run.ID
}

// until requests a path until done accepts the response, and returns its body.
func (d *testDaemon) until(path string, done func(status int, body string) bool) string {
	d.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		got := d.call(http.MethodGet, path, "", nil)
		if done(got.status, string(got.body)) {
			return string(got.body)
		}
		select {
		case <-tick.C:
		case <-deadline:
			d.t.Fatalf("GET %s: still %d %s after %s", path, got.status, got.body, patience)
		}
	}
}

// finished waits for the end of a run and returns its resource.
func (d *testDaemon) finished(id string) string {
	d.t.Helper()
	return d.until("/api/runs/"+id, func(_ int, body string) bool { return strings.Contains(body, `"ended_at":"`) })
}
