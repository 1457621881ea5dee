package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/run"
	"aiperfd/web"
)

func TestConventions(t *testing.T) {
	tests := []struct {
		name, method, target string
		headers              []string
		status               int
		want                 map[string]string // headers
		body                 string            // part of it
	}{
		{"HEAD", "HEAD", "/api/run", nil, 200, map[string]string{"Content-Type": "application/json", respond.HeaderRunID: idRunning}, ""},
		{"HEAD of a probe", "HEAD", "/healthz", nil, 200, map[string]string{"Content-Type": "text/plain; charset=utf-8"}, ""},
		{"HEAD of metrics", "HEAD", "/metrics", nil, 200, map[string]string{"Content-Type": prom.TextFormat}, ""},
		{"OPTIONS", "OPTIONS", "/api/progress", nil, 204, map[string]string{"Allow": "GET, HEAD, OPTIONS"}, ""},
		{"OPTIONS of a collection", "OPTIONS", "/api/runs", nil, 204, map[string]string{"Allow": "GET, HEAD, POST, OPTIONS", "Accept-Post": runs.AcceptPost}, ""},
		{"wrong method", "PUT", "/api/run", nil, 405, map[string]string{"Allow": "GET, HEAD, POST, OPTIONS"}, `"detail":"Method Not Allowed"`},
		{"unknown method", "BREW", "/api/queue", nil, 405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}, `"status":405`},
		{"preflight of a foreign page", "OPTIONS", "/api/runs", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403, nil, "forbidden-origin"},
		{"delete", "DELETE", "/api/queue", nil, 405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}, ""},
		{"unknown path", "GET", "/api/nope", nil, 404, nil, `"detail":"Not Found","instance":"/api/nope","request_id":"req-1"`},
		{"unknown path, other method", "POST", "/api/nope", nil, 404, nil, "urn:aiperfd:problem:not-found"},
		{"upload is not offered", "POST", "/api/results/upload/x", nil, 404, nil, "not-found"},
		{"trailing slash", "GET", "/api/config/?run=latest", nil, 308, map[string]string{"Location": "/api/config?run=latest"}, ""},
		{"missing slash", "GET", "/api/results/files", nil, 308, map[string]string{"Location": "/api/results/files/"}, ""},
		{"double slash", "GET", "//api/run", nil, 404, nil, "not-found"},
		{"double slash and host", "GET", "//evil.example/", nil, 404, nil, "not-found"},
		{"unknown parameter on AIPerf's route", "GET", "/api/run?x=1", nil, 200, nil, "benchmark_id"},
		{"unknown parameter on our route", "GET", "/api/queue?x=1", nil, 400, nil, `Unknown parameter \"x\"`},
		{"repeated parameter", "GET", "/api/runs?limit=1&limit=2", nil, 400, nil, "more than once"},
		{"empty parameter", "GET", "/api/runs?created_before=", nil, 400, nil, `Parameter \"created_before\" has no value`},
		{"empty names", "GET", "/metrics?names=", nil, 400, nil, `not \"\"`},
		{"foreign preflight", "OPTIONS", "/api/runs", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403, nil, "forbidden-origin"},
		{"own preflight", "OPTIONS", "/api/queue", []string{"Origin: http://localhost", "Host: localhost", "Access-Control-Request-Method: GET"}, 204, nil, ""},
		{"redoc", "GET", "/redoc", nil, 308, map[string]string{"Location": "/docs"}, ""},
		{"own request id", "GET", "/healthz", nil, 200, map[string]string{respond.HeaderRequestID: "req-1", "X-Content-Type-Options": "nosniff"}, "ok"},
		{"alias", "GET", "/api/runs/latest", nil, 200, map[string]string{"Content-Location": "/api/runs/" + idDone, "Cache-Control": respond.NoStore}, idDone},
		{"alias of the selected route", "GET", "/api/run?run=current", nil, 200, map[string]string{respond.HeaderRunID: idRunning}, idRunning},
		{"unknown run", "GET", "/api/run?run=" + idMissing, nil, 404, nil, "not-found"},
		{"malformed id", "GET", "/api/runs/NOPE", nil, 404, nil, "not-found"},
		{"long id", "GET", "/api/runs/" + idDone + "0", nil, 404, nil, "not-found"},
		{"live answers are not stored", "GET", "/api/runs/" + idRunning + "/metrics", nil, 200, map[string]string{"Cache-Control": respond.NoStore}, ""},
		{"final answers are", "GET", "/api/runs/" + idDone + "/metrics", nil, 200, map[string]string{"Cache-Control": respond.Immutable}, ""},
		{"foreign host", "GET", "/api/run", []string{"Host: evil.example"}, 421, nil, "misdirected-host"},
		{"foreign host and a probe", "GET", "/healthz", []string{"Host: 10.0.0.7"}, 200, nil, "ok"},
		{"address and port", "GET", "/api/run", []string{"Host: 127.0.0.1:9097"}, 200, nil, idRunning},
		{"IPv6", "GET", "/api/run", []string{"Host: [::1]:9097"}, 200, nil, idRunning},
		{"named host", "GET", "/api/run", []string{"Host: Bench.Lab:80"}, 200, nil, idRunning},
		{"foreign origin reads", "GET", "/api/run", []string{"Origin: https://evil.example"}, 200, nil, idRunning},
		{"foreign origin writes", "POST", "/api/runs", []string{"Origin: https://evil.example"}, 403, nil, "forbidden-origin"},
		{"foreign page writes", "POST", "/api/shutdown", []string{"Sec-Fetch-Site: cross-site"}, 403, nil, "forbidden-origin"},
		{"own origin writes", "POST", "/api/validate", []string{"Origin: http://localhost", "Host: localhost"}, 415, nil, ""},
		{"no WebSocket", "GET", "/ws", nil, 426, map[string]string{"Upgrade": "websocket"}, "upgrade-required"},
		{"page", "GET", "/", nil, 200, map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": pagePolicy}, "<title>aiperfd"},
		{"dashboard", "GET", "/dashboard", nil, 200, nil, "<title>aiperfd"},
		{"docs", "GET", "/docs", nil, 200, map[string]string{"Content-Security-Policy": pagePolicy}, "assets/docs-"},
		{"script", "GET", script(t), nil, 200, map[string]string{"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "public, max-age=31536000, immutable"}, "api/runs"},
		{"no such file", "GET", "/assets/nope.js", nil, 404, nil, "not-found"},
		{"document", "GET", "/openapi.json", nil, 200, map[string]string{"Content-Type": "application/json"}, `"openapi": "3.0.3"`},
		{"version", "GET", "/api/version", nil, 200, nil, `{"name":"aiperfd","version":"0.1.0","api_level":1,"compat":"aiperf-0.13","go":"go`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := newTestServer(t, func(o *Options) { o.AllowedHosts = []string{"bench.lab"} })
			w := ts.do(tt.method, tt.target, "", tt.headers...)
			if w.Code != tt.status {
				t.Fatalf("%s %s = %d %s, want %d", tt.method, tt.target, w.Code, w.Body, tt.status)
			}
			for name, want := range tt.want {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			if !strings.Contains(w.Body.String(), tt.body) {
				t.Errorf("body = %s, want %q in it", w.Body, tt.body)
			}
			if tt.status >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("Content-Type = %q", w.Header().Get("Content-Type"))
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Server") != "" {
				t.Errorf("headers = %v", w.Header())
			}
		})
	}
}

// script is the path of the script of the dashboard, whose name contains a hash.
func script(t *testing.T) string {
	t.Helper()
	page, _ := web.File("index.html")
	name := regexp.MustCompile(`assets/index-[^"]+\.js`).Find(page)
	if name == nil {
		t.Fatalf("the page has no script:\n%s", page)
	}
	return "/" + string(name)
}

func TestRequestID(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, bad := range []string{"", "has space", "tab\t", "ünï", strings.Repeat("x", 129)} {
		got := ts.do("GET", "/healthz", "", respond.HeaderRequestID+": "+bad).Header().Get(respond.HeaderRequestID)
		if got == bad || len(got) != 26 {
			t.Errorf("request id for %q = %q, want a new one", bad, got)
		}
	}
}

// Every row of the table has one status and one title for its type.
func TestProblemTable(t *testing.T) {
	titles, statuses := map[string]string{}, map[string]int{}
	for _, row := range respond.Problems() {
		if old, ok := titles[row.Name]; ok && old != row.Title {
			t.Errorf("%s has the titles %q and %q", row.Name, old, row.Title)
		}
		if old, ok := statuses[row.Name]; ok && old != row.Status {
			t.Errorf("%s has the statuses %d and %d", row.Name, old, row.Status)
		}
		titles[row.Name], statuses[row.Name] = row.Title, row.Status
		if row.Detail == "" || http.StatusText(row.Status) == "" {
			t.Errorf("%s: detail %q, status %d", row.Name, row.Detail, row.Status)
		}
		if got := respond.ProblemOf(fmt.Errorf("wrapped: %w", row.Err)); got != row {
			t.Errorf("problemOf(%v) = %+v, want %+v", row.Err, got, row)
		}
	}
	want := map[string]int{
		"not-found": 404, "method-not-allowed": 405, "bad-parameter": 400, "malformed-body": 400,
		"unsupported-media-type": 415, "body-too-large": 413, "validation-failed": 422, "forbidden-origin": 403, "unauthorized": 401, "insufficient-scope": 403,
		"target-not-allowed": 403, "secret-not-allowed": 403,
		"misdirected-host": 421, "no-run": 404, "no-active-run": 503, "results-not-ready": 404, "invalid-filename": 400, "range-not-satisfiable": 416,
		"run-active": 409, "run-pinned": 409, "not-queued": 409, "insufficient-storage": 507, "already-finished": 409, "gate-not-passed": 409, "precondition-failed": 412, "queue-full": 429,
		"too-many-streams": 503, "busy": 503, "too-many-connections": 503, "rate-limited": 429, "idempotency-key-reused": 422, "idempotency-in-progress": 409, "upgrade-required": 426, "starting": 503, "shutting-down": 503, "store-failed": 503, "internal": 500,
	}
	for name, status := range want {
		if statuses[name] != status {
			t.Errorf("status of %s = %d, want %d", name, statuses[name], status)
		}
	}
	if len(statuses) != len(want) {
		t.Errorf("the table has %d types, want %d", len(statuses), len(want))
	}
}

// Errors of the engine become problems; unknown ones have no details.
func TestEngineErrors(t *testing.T) {
	tests := []struct {
		err    error
		status int
		want   string
		retry  string
	}{
		{run.ErrQueueFull, 429, "queue-full", "10"},
		{run.ErrStopping, 503, "shutting-down", "10"},
		{fmt.Errorf("write row: %w: disk on fire", run.ErrStore), 503, `"detail":"The data directory cannot be read or written"`, "10"},
		{errors.New("password=hunter2"), 500, `"detail":"Internal Server Error"`, ""},
	}
	for _, tt := range tests {
		ts := newTestServer(t, nil)
		ts.fake.err = tt.err
		w := ts.do("POST", "/api/runs", "{}", "Content-Type: application/json")
		body := w.Body.String()
		if w.Code != tt.status || !strings.Contains(body, tt.want) || w.Header().Get("Retry-After") != tt.retry {
			t.Errorf("submit with %v = %d %v %s", tt.err, w.Code, w.Header(), body)
		}
		if strings.Contains(body, "hunter2") || strings.Contains(body, "fire") {
			t.Errorf("submit with %v shows its cause: %s", tt.err, body)
		}
	}
}

func TestPanic(t *testing.T) {
	ts := newTestServer(t, func(o *Options) {
		o.Load = nil
		o.Load = fakeLoad
		o.Shutdown = func() { panic("at the disco") }
	})
	ts.router.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("at the disco") })
	w := ts.do("GET", "/panic", "")
	if w.Code != 500 || strings.Contains(w.Body.String(), "disco") || !strings.Contains(w.Body.String(), "urn:aiperfd:problem:internal") {
		t.Errorf("panic = %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("the body has a stack: %s", w.Body)
	}
}

func TestCompression(t *testing.T) {
	ts := newTestServer(t, nil)
	plain := ts.do("GET", "/api/runs/"+idDone+"/results", "")
	if plain.Header().Get("Content-Encoding") != "" || plain.Body.Len() < minCompressed {
		t.Fatalf("plain answer: %v, %d bytes", plain.Header(), plain.Body.Len())
	}
	for _, tt := range []struct{ accept, coding string }{{"gzip", "gzip"}, {"zstd", "zstd"}, {"gzip, zstd", "zstd"}} {
		w := ts.do("GET", "/api/runs/"+idDone+"/results", "", "Accept-Encoding: "+tt.accept)
		if got := w.Header().Get("Content-Encoding"); got != tt.coding {
			t.Fatalf("Accept-Encoding %s: Content-Encoding = %q", tt.accept, got)
		}
		if w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Length") == plain.Header().Get("Content-Length") {
			t.Errorf("%s: headers = %v", tt.coding, w.Header())
		}
		if tag := w.Header().Get("Etag"); tag != "W/"+plain.Header().Get("Etag") {
			t.Errorf("%s: Etag = %s, want the weak form of %s", tt.coding, tag, plain.Header().Get("Etag"))
		}
		var r io.Reader
		var err error
		if tt.coding == "gzip" {
			r, err = gzip.NewReader(w.Body)
		} else {
			r, err = zstd.NewReader(w.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r); err != nil || string(body) != plain.Body.String() {
			t.Errorf("%s: body differs (%v)", tt.coding, err)
		}
		if again := ts.do("GET", "/api/runs/"+idDone+"/results", "", "If-None-Match: "+w.Header().Get("Etag")); again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("If-None-Match = %d with %d bytes, want 304", again.Code, again.Body.Len())
		}
	}
	if small := ts.do("GET", "/api/queue", "", "Accept-Encoding: gzip"); small.Header().Get("Content-Encoding") != "" {
		t.Errorf("a small body is compressed: %v", small.Header())
	}
}

func TestProbes(t *testing.T) {
	tests := []struct {
		state              string
		healthz, readyz    int
		healthText, isText string
	}{
		{run.HealthStarting, 200, 503, "ok", "not ready"},
		{run.HealthRunning, 200, 200, "ok", "ok"},
		{run.HealthStopping, 200, 503, "ok", "not ready"},
		{run.HealthFailed, 503, 503, "unhealthy", "not ready"},
	}
	for _, tt := range tests {
		ts := newTestServer(t, nil)
		ts.fake.health.State = tt.state
		health, ready := ts.do("GET", "/healthz", ""), ts.do("GET", "/readyz", "")
		if health.Code != tt.healthz || health.Body.String() != tt.healthText {
			t.Errorf("%s: healthz = %d %s", tt.state, health.Code, health.Body)
		}
		if ready.Code != tt.readyz || ready.Body.String() != tt.isText || ready.Header().Get("Cache-Control") != respond.NoStore {
			t.Errorf("%s: readyz = %d %s", tt.state, ready.Code, ready.Body)
		}
		verbose := ts.do("GET", "/readyz?verbose", "")
		want := `{"state":"` + tt.state + `","since":"2026-05-04T10:00:00Z","checks":{"store":"ok"},"active_runs":1,"queue_depth":1,"version":"0.1.0"}`
		if verbose.Code != tt.readyz || verbose.Body.String() != want {
			t.Errorf("%s: verbose = %d %s, want %s", tt.state, verbose.Code, verbose.Body, want)
		}
	}
}

// Details are for clients of this machine that name the server.
func TestVerboseProbe(t *testing.T) {
	ts := newTestServer(t, nil)
	for name, header := range map[string]string{
		"foreign host": "Host: evil.example", "proxy": "X-Forwarded-For: 10.0.0.1", "standard proxy": "Forwarded: for=10.0.0.1",
	} {
		if w := ts.do("GET", "/healthz?verbose", "", header); w.Code != 200 || w.Body.String() != "ok" {
			t.Errorf("%s: %d %s, want 200 ok", name, w.Code, w.Body)
		}
	}
}

func TestShutdown(t *testing.T) {
	daemon := newTestServer(t, nil)
	if w := daemon.do("POST", "/api/shutdown", ""); w.Code != 409 || !strings.Contains(w.Body.String(), respond.DetailStillRunning) || daemon.shutdowns != 0 {
		t.Errorf("shutdown of a busy daemon = %d %s", w.Code, w.Body)
	}
	if w := daemon.do("POST", "/api/shutdown?force=true", ""); w.Code != 200 || w.Body.String() != `{"status":"shutting_down"}` || daemon.shutdowns != 1 {
		t.Errorf("forced shutdown = %d %s, %d calls", w.Code, w.Body, daemon.shutdowns)
	}
	single := newTestServer(t, func(o *Options) { o.OneShot = true })
	if w := single.do("POST", "/api/shutdown?force=true", ""); w.Code != 409 || single.shutdowns != 0 {
		t.Errorf("shutdown during the run = %d %s", w.Code, w.Body)
	}
	single.fake.queue.Running = nil
	if w := single.do("POST", "/api/shutdown", ""); w.Code != 200 || single.shutdowns != 1 {
		t.Errorf("shutdown after the run = %d %s", w.Code, w.Body)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Runs") {
		t.Errorf("New without Runs: %v", err)
	}
}

func TestServe(t *testing.T) {
	ts := newTestServer(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ts.Serve(ctx, l) }()
	for _, path := range []string{"//api/run", "/api/results/files/../../etc/passwd", "/api/runs/" + idDone + "/results/files/..%2f..%2fx"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		answer, err := io.ReadAll(conn)
		conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"404", "400"}, string(answer[9:12])) {
			t.Errorf("GET %s = %s", path, answer)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}
