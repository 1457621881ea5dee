package app

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// held returns a data directory whose database cannot be opened until release is called.
func held(t *testing.T) (dir string, release func()) {
	t.Helper()
	dir = t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "aiperfd.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	return dir, func() {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}

// answer returns the status of a response, and its header Retry-After.
func answer(t *testing.T, base, path string) (status int, retry string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

// starting waits for the port of a daemon that is opening its data directory, and checks
// its answers.
func starting(t *testing.T, portFile string) (base string) {
	t.Helper()
	var port []byte
	for tick := time.Tick(time.Millisecond); !strings.HasSuffix(string(port), "\n"); <-tick {
		port, _ = os.ReadFile(portFile) // not there yet
	}
	base = "http://" + net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(port)))
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/api/runs": 503, "/": 503} {
		status, retry := answer(t, base, path)
		if status != want || (retry != "") != (path == "/api/runs" || path == "/") {
			t.Errorf("GET %s while the data directory is being opened: %d, Retry-After %q; want %d", path, status, retry, want)
		}
	}
	return base
}

// The listener answers while the data directory is being opened, and serves afterwards.
func TestStarting(t *testing.T) {
	dir, release := held(t)
	portFile := filepath.Join(t.TempDir(), "port")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, DaemonOptions{Host: "127.0.0.1", PortFile: portFile, DataDir: dir, Log: zerolog.Nop()})
	}()
	base := starting(t, portFile)
	release()
	for tick := time.Tick(10 * time.Millisecond); ; <-tick {
		if status, _ := answer(t, base, "/readyz"); status == http.StatusOK {
			break
		}
	}
	if status, _ := answer(t, base, "/api/runs"); status != http.StatusOK {
		t.Errorf("GET /api/runs of the open daemon: %d, want 200", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A signal ends a daemon that is opening its data directory without an error.
func TestStopStarting(t *testing.T) {
	dir, release := held(t)
	portFile := filepath.Join(t.TempDir(), "port")
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), DaemonOptions{Host: "127.0.0.1", PortFile: portFile, DataDir: dir, Log: zerolog.Nop()})
	}()
	starting(t, portFile)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v, want nil", err)
	}
}
