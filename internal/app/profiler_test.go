package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckProfiler(t *testing.T) {
	for addr, good := range map[string]bool{
		"127.0.0.1:6060": true, "[::1]:6060": true, "127.8.0.1:0": true, "[::ffff:127.0.0.1]:6060": true,
		"0.0.0.0:6060": false, "[::]:6060": false, "192.0.2.1:6060": false, ":6060": false, "6060": false,
		"localhost:6060": false, "127.0.0.1": false, "127.0.0.1:65536": false, "": false,
	} {
		if err := CheckProfiler(addr); (err == nil) != good {
			t.Errorf("CheckProfiler(%q) = %v, want accepted = %v", addr, err, good)
		}
	}
	if l, err := listenProfiles(t.Context(), "0.0.0.0:0"); err == nil {
		l.Close()
		t.Error("listenProfiles accepts an address that other machines can reach")
	}
}

func TestProfileHandler(t *testing.T) {
	for _, tt := range []struct {
		host, path, body string
		status           int
	}{
		{"127.0.0.1:6060", "/debug/pprof/", "goroutine", http.StatusOK},
		{"localhost:6060", "/debug/pprof/goroutine?debug=1", "goroutine profile: total", http.StatusOK},
		{"[::1]:6060", "/debug/pprof/heap?debug=1", "heap profile", http.StatusOK},
		{"localhost", "/debug/pprof/symbol", "num_symbols", http.StatusOK},
		{"attacker.example:6060", "/debug/pprof/", "must be a loopback address", http.StatusMisdirectedRequest},
		{"localhost:6060", "/debug/pprof/cmdline", "Unknown profile", http.StatusNotFound}, // it may have secrets
		{"localhost:6060", "/", "", http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+tt.host+tt.path, nil)
		w := httptest.NewRecorder()
		profileHandler().ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("GET http://%s%s = %d %.80q, want %d with %q", tt.host, tt.path, w.Code, w.Body, tt.status, tt.body)
		}
	}
}

// The server answers until its context ends, and closes its port.
func TestServeProfiles(t *testing.T) {
	l, err := listenProfiles(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveProfiles(ctx, l) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "app.serveProfiles") {
		t.Errorf("profile %.200q, %v; want the goroutine of the server", body, err)
	}
	resp.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serveProfiles = %v", err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}
