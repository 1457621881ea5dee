package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// A daemon serves from the start of Run until a client shuts it down, and can be
// opened again afterwards.
func TestDaemon(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		portFile := filepath.Join(t.TempDir(), "port")
		d, err := OpenDaemon(t.Context(), DaemonOptions{Host: "127.0.0.1", PortFile: portFile, DataDir: dir, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if port, err := os.ReadFile(portFile); err != nil || !strings.HasSuffix(d.URL(), ":"+strings.TrimSpace(string(port))) {
			t.Errorf("the port file has %q (%v) for %s", port, err, d.URL())
		}
		ended := make(chan error, 1)
		go func() { ended <- d.Run(t.Context()) }()
		status := func(method, path string) int {
			req, err := http.NewRequestWithContext(t.Context(), method, d.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		for tick := time.Tick(10 * time.Millisecond); status(http.MethodGet, "/readyz") != http.StatusOK; {
			<-tick
		}
		if got := status(http.MethodPost, "/api/shutdown"); got != http.StatusOK {
			t.Errorf("POST /api/shutdown: status %d, want 200", got)
		}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}
