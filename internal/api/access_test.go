package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/transport/testcert"
)

// guarded is a test server with one token of each scope, by its name, and "gone", which
// was removed after a session began with it.
type guarded struct {
	*testServer
	file, audit string
	bearer      map[string]string // header by name
}

// newGuard returns a guard without a server.
func newGuard(t *testing.T, change func(*access.Options)) (g *guarded, guard *access.Guard) {
	t.Helper()
	dir := t.TempDir()
	g = &guarded{file: filepath.Join(dir, "tokens"), audit: filepath.Join(dir, "audit.jsonl"), bearer: map[string]string{}}
	lines := ""
	for name, scope := range map[string]access.Scope{
		"reader": access.Read, "ci": access.Submit, "other": access.Submit, "root": access.Admin, "gone": access.Admin,
	} {
		token, text, err := access.NewToken(name, scope)
		if err != nil {
			t.Fatal(err)
		}
		lines += token.String() + "\n"
		g.bearer[name] = "Authorization: Bearer " + text
	}
	if err := os.WriteFile(g.file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	o := access.Options{Host: "0.0.0.0", TokenFile: g.file, AuditFile: g.audit}
	if change != nil {
		change(&o)
	}
	guard, err := access.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g, guard
}

func newGuarded(t *testing.T, change func(*access.Options)) *guarded {
	t.Helper()
	g, guard := newGuard(t, change)
	g.testServer = newTestServer(t, func(o *Options) { o.Access, o.Bind = guard, "0.0.0.0" })
	return g
}

// login returns the header with the cookie of a session.
func (g *guarded) login(t *testing.T, name string) string {
	t.Helper()
	w := g.do("POST", "/api/session", "", g.bearer[name])
	if w.Code != http.StatusNoContent {
		t.Fatalf("begin session = %d %s", w.Code, w.Body)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].MaxAge != 12*3600 {
		t.Fatalf("cookies = %v", cookies)
	}
	return "Cookie: " + cookies[0].Name + "=" + cookies[0].Value
}

// Every route of the table, by every kind of caller. A new route is in the test at once.
func TestAccessOfEveryRoute(t *testing.T) {
	const foreign = "Origin: https://evil.example"
	for _, rt := range newTestServer(t, nil).routes() {
		target := strings.NewReplacer("{id}", idDone, "{name}", "main", "{revision}", "1", "/*", "/a.json", "{file}", "app.js").Replace(rt.pattern)
		t.Run(rt.method+" "+rt.pattern, func(t *testing.T) {
			g := newGuarded(t, nil)
			cookie, revoked := g.login(t, "root"), g.login(t, "gone")
			if err := access.RemoveToken(g.file, "gone"); err != nil {
				t.Fatal(err)
			}
			g.Access.Reload()
			if err := g.Hub.Shutdown(t.Context(), 1001, "ends streams of events at once"); err != nil {
				t.Fatal(err)
			}
			unsafe := rt.method != http.MethodGet
			callers := []struct {
				name    string
				scope   access.Scope // that the caller has
				origin  bool         // the request is refused for its origin
				headers []string
			}{
				{"no token", access.Open, false, nil},
				{"wrong token", access.Open, false, []string{"Authorization: Bearer " + access.TokenPrefix + "WRONG"}},
				{"revoked token", access.Open, false, []string{g.bearer["gone"]}},
				{"read", access.Read, false, []string{g.bearer["reader"]}},
				{"submit", access.Submit, false, []string{g.bearer["ci"]}},
				{"admin", access.Admin, false, []string{g.bearer["root"]}},
				{"cookie", access.Admin, false, []string{cookie}},
				{"cookie from our page", access.Admin, false, []string{cookie, "Origin: http://localhost", "Sec-Fetch-Site: same-origin"}},
				{"cookie from another page", access.Admin, unsafe, []string{cookie, foreign, "Sec-Fetch-Site: cross-site"}},
				{"revoked cookie", access.Open, false, []string{revoked}},
				{"cookie of nobody", access.Open, false, []string{"Cookie: " + access.CookieName + "=x"}},
			}
			for _, c := range callers {
				w := g.do(rt.method, target, "", c.headers...)
				got, challenge := w.Code, w.Header().Get("WWW-Authenticate")
				want := 0 // neither 401 nor 403
				switch {
				case c.origin:
					want = http.StatusForbidden
				case c.scope < rt.scope && c.scope == access.Open:
					want = http.StatusUnauthorized
				case c.scope < rt.scope:
					want = http.StatusForbidden
				case rt.pattern == "/api/session" && unsafe && rt.method == http.MethodPost && slices.Contains(c.headers, cookie):
					want = http.StatusUnauthorized // a session begins with a token
				case strings.HasPrefix(rt.pattern, "/api/runs/{id}") && unsafe && c.scope == access.Submit:
					want = http.StatusForbidden // the run is of nobody
				}
				if want != 0 && got != want || want == 0 && (got == http.StatusUnauthorized || got == http.StatusForbidden) {
					t.Errorf("%s: status %d %s, want %d", c.name, got, w.Body, want)
				}
				if (got == http.StatusUnauthorized) != strings.HasPrefix(challenge, `Bearer realm="aiperfd"`) && got != http.StatusForbidden {
					t.Errorf("%s: status %d with the challenge %q", c.name, got, challenge)
				}
			}
		})
	}
}

// Every route says what it needs.
func TestRoutesHaveScopes(t *testing.T) {
	open := []string{
		"GET /healthz", "GET /readyz", "GET /api/version", "DELETE /api/session", "GET /api/config/schema", "GET /openapi.json", "GET /openapi.yaml",
		"GET /", "GET /dashboard", "GET /docs", "GET /redoc", "GET /assets/{file}",
	}
	for route, scope := range Scopes() {
		if scope < access.Open || scope > access.Admin {
			t.Errorf("%s has the scope %s", route, scope)
		}
		if (scope == access.Open) != slices.Contains(open, route) {
			t.Errorf("%s has the scope %s; is it meant to be open?", route, scope)
		}
	}
}

// The headers of credentials, in the forms in which they come.
func TestAuthorizationHeader(t *testing.T) {
	g := newGuarded(t, nil)
	token := strings.TrimPrefix(g.bearer["reader"], "Authorization: Bearer ")
	const invalid = `Bearer realm="aiperfd", error="invalid_token"`
	tests := []struct {
		name      string
		fields    []string
		status    int
		challenge string
	}{
		{"none", nil, 401, `Bearer realm="aiperfd"`},
		{"one", []string{"Bearer " + token}, 200, ""},
		{"lower case", []string{"bearer " + token}, 200, ""},
		{"upper case", []string{"BEARER " + token}, 200, ""},
		{"two blanks", []string{"Bearer  " + token}, 200, ""},
		{"tab", []string{"Bearer\t" + token}, 401, invalid},
		{"blank behind", []string{"Bearer " + token + " x"}, 401, invalid},
		{"twice", []string{"Bearer " + token, "Bearer " + token}, 401, invalid},
		{"list", []string{"Bearer " + token + ", Bearer " + token}, 401, invalid},
		{"no scheme", []string{token}, 401, invalid},
		{"other scheme", []string{"Basic " + token}, 401, invalid},
		{"empty", []string{""}, 401, invalid},
		{"scheme alone", []string{"Bearer "}, 401, invalid},
		{"prefix", []string{"Bearer " + token[:len(token)-1]}, 401, invalid},
		{"longer", []string{"Bearer " + token + "A"}, 401, invalid},
		{"10 KiB", []string{"Bearer " + strings.Repeat("a", 10<<10)}, 401, invalid},
		{"other case", []string{"Bearer " + strings.ToLower(token)}, 401, invalid},
		{"hash", []string{"Bearer " + hashIn(t, g.file, "reader")}, 401, invalid},
	}
	for _, tt := range tests {
		headers := slices.Clone(tt.fields)
		for i := range headers {
			headers[i] = "Authorization: " + headers[i]
		}
		w := g.do("GET", "/api/runs", "", headers...)
		if w.Code != tt.status || w.Header().Get("WWW-Authenticate") != tt.challenge {
			t.Errorf("%s: status %d, challenge %q, want %d, %q", tt.name, w.Code, w.Header().Get("WWW-Authenticate"), tt.status, tt.challenge)
		}
	}
	w := g.do("POST", "/api/runs", "", g.bearer["reader"])
	if want := `Bearer realm="aiperfd", error="insufficient_scope", scope="submit"`; w.Code != 403 || w.Header().Get("WWW-Authenticate") != want {
		t.Errorf("submit with the scope read: status %d, challenge %q", w.Code, w.Header().Get("WWW-Authenticate"))
	}
}

// hashIn returns the hash of a token in its file.
func hashIn(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if parts := strings.Split(strings.TrimSpace(line), ":"); parts[0] == name {
			return parts[2]
		}
	}
	t.Fatalf("no %s in %s", name, file)
	return ""
}

// A token with the scope submit changes its own runs; others need admin.
func TestOwnRuns(t *testing.T) {
	tests := []struct {
		caller, method, target string
		status                 int
	}{
		{"ci", "POST", "/api/runs/" + idRunning + "/cancel", 202},
		{"other", "POST", "/api/runs/" + idRunning + "/cancel", 403},
		{"root", "POST", "/api/runs/" + idRunning + "/cancel", 202},
		{"ci", "DELETE", "/api/runs/" + idDone, 204},
		{"other", "DELETE", "/api/runs/" + idDone, 403},
		{"root", "DELETE", "/api/runs/" + idDone, 204},
		{"ci", "DELETE", "/api/runs/" + idRunning + "?force=true", 403},
		{"root", "DELETE", "/api/runs/" + idRunning + "?force=true", 202},
		{"ci", "POST", "/api/shutdown?force=true", 403},
	}
	for _, tt := range tests {
		g := newGuarded(t, nil)
		for _, r := range g.fake.runs {
			r.SubmittedBy = "ci"
		}
		if w := g.do(tt.method, tt.target, "", g.bearer[tt.caller]); w.Code != tt.status {
			t.Errorf("%s: %s %s = %d %s, want %d", tt.caller, tt.method, tt.target, w.Code, w.Body, tt.status)
		}
	}
}

// leave posts a request, and closes the connection before the answer.
func (g *guarded) leave(target, body string, headers ...string) {
	ctx, leave := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+target, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4242"
	r.Header.Set(respond.HeaderRequestID, "req-1")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	g.Handler().ServeHTTP(httptest.NewRecorder(), r)
}

// A run knows the token that has submitted it, and the audit log who has done what.
func TestAudit(t *testing.T) {
	g := newGuarded(t, nil)
	const yaml = "Content-Type: application/yaml"
	g.do("POST", "/api/runs", "x", yaml, g.bearer["ci"])
	g.do("POST", "/api/runs", "rate: -5", yaml, g.bearer["ci"])
	g.do("POST", "/api/runs", "x", yaml)
	g.do("POST", "/api/runs", "x", yaml, g.bearer["reader"])
	g.do("POST", "/api/validate", "x", yaml, g.bearer["ci"])
	g.do("GET", "/api/runs", "", g.bearer["ci"])
	g.do("POST", "/api/runs/"+idRunning+"/cancel", "", g.bearer["ci"])
	g.do("POST", "/api/runs/"+idRunning+"/cancel", "", g.bearer["root"])
	g.do("DELETE", "/api/runs/"+idDone, "", g.bearer["root"])
	g.do("POST", "/api/shutdown?force=true", "", g.bearer["root"])
	g.do("DELETE", "/api/session", "", g.login(t, "root"))
	g.do("DELETE", "/api/session", "", "Cookie: "+access.CookieName+"=none")
	g.leave("/api/runs", "x", yaml, g.bearer["ci"], "Prefer: wait=30")
	if by := g.fake.submitted[0].By; by != "ci" {
		t.Errorf("the run was submitted by %q, want ci", by)
	}
	var got []string
	data, err := os.ReadFile(g.audit)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Time.IsZero() || e.Remote != "127.0.0.1:4242" || e.RequestID != "req-1" {
			t.Errorf("entry %s", lines.Bytes())
		}
		got = append(got, strings.Join([]string{e.Caller, e.Action, e.RunID, e.Result}, " "))
	}
	want := []string{
		"ci submit 01990f2c7d3e7a10b1c2d3e4f5a6b7d0 ok", "ci submit  validation-failed", "reader submit  insufficient-scope",
		"ci cancel " + idRunning + " insufficient-scope", "root cancel " + idRunning + " ok", "root delete " + idDone + " ok",
		"root shutdown  ok", "root begin-session  ok", "root end-session  ok",
		"ci submit 01990f2c7d3e7a10b1c2d3e4f5a6b7d0 ok",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, header := range g.bearer {
		if strings.Contains(string(data), strings.TrimPrefix(header, "Authorization: Bearer ")) {
			t.Error("the audit log has a token")
		}
	}
}

// What needs no token shows no more than it must.
func TestOpenRoutesShowLittle(t *testing.T) {
	g := newGuarded(t, nil)
	if got := g.do("GET", "/api/version", "").Body.String(); got != `{"name":"aiperfd","version":"0.1.0"}` {
		t.Errorf("version without a token = %s", got)
	}
	if got := g.do("GET", "/api/version", "", g.bearer["reader"]).Body.String(); !strings.Contains(got, `"api_level":1`) {
		t.Errorf("version with a token = %s", got)
	}
	if got := g.do("GET", "/healthz?verbose", "").Body.String(); got != "ok" {
		t.Errorf("probe without a token = %s", got)
	}
	if got := g.do("GET", "/readyz?verbose", "", g.bearer["reader"]).Body.String(); !strings.Contains(got, `"queue_depth":1`) {
		t.Errorf("probe with a token = %s", got)
	}
	public := newGuarded(t, func(o *access.Options) { o.MetricsPublic = true })
	if w := public.do("GET", "/metrics", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "aiperfd_tokens 5\n") || !strings.Contains(w.Body.String(), `aiperfd_reload_successful{file="tokens"} 1`) {
		t.Errorf("public metrics = %d %s", w.Code, w.Body)
	}
	if w := public.do("GET", "/api/runs/"+idDone+"/metrics.prom", ""); w.Code != 401 {
		t.Errorf("metrics of a run = %d", w.Code)
	}
}

// Without tokens everybody on this machine may do everything, as with AIPerf; other
// machines may not, unless that was asked for.
func TestWithoutTokens(t *testing.T) {
	if _, err := New(Options{Bind: "0.0.0.0"}); err == nil {
		t.Error("a server without options was made")
	}
	ts := newTestServer(t, nil)
	if w := ts.do("POST", "/api/session", "", "Authorization: Bearer x"); w.Code != 204 || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("session = %d %v", w.Code, w.Header())
	}
	if w := ts.do("GET", "/api/runs", "", "Authorization: Basic x"); w.Code != 200 {
		t.Errorf("list with credentials of a proxy = %d", w.Code)
	}
	guard, err := access.New(access.Options{Host: "0.0.0.0", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	ts = newTestServer(t, func(o *Options) { o.Access, o.Bind = guard, "0.0.0.0" })
	for target, want := range map[string]int{"GET /api/run": 200, "GET /metrics": 200, "POST /api/runs": 403, "POST /api/shutdown": 403, "DELETE /api/runs/" + idDone: 403} {
		method, path, _ := strings.Cut(target, " ")
		if w := ts.do(method, path, ""); w.Code != want {
			t.Errorf("read-only: %s = %d, want %d", target, w.Code, want)
		}
	}
}

func TestCORS(t *testing.T) {
	const page, preflight = "Origin: https://dash.example", "Access-Control-Request-Method: POST"
	allow := func(list ...string) func(*access.Options) { return func(o *access.Options) { o.Origins = list } }
	tests := []struct {
		name, method, target string
		origins              []string
		headers              []string
		token                bool
		status               int
		origin, credentials  string // headers of the answer
	}{
		{"none listed, read", "GET", "/api/runs", nil, []string{page}, true, 200, "", ""},
		{"none listed, preflight", "OPTIONS", "/api/runs", nil, []string{page, preflight}, false, 403, "", ""},
		{"none listed, write", "POST", "/api/validate", nil, []string{page}, true, 403, "", ""},
		{"listed, read", "GET", "/api/runs", []string{"https://dash.example"}, []string{page}, true, 200, "https://dash.example", "true"},
		{"listed with the default port", "GET", "/api/runs", []string{"https://DASH.example:443"}, []string{page}, true, 200, "https://dash.example", "true"},
		{"listed, no token", "GET", "/api/runs", []string{"https://dash.example"}, []string{page}, false, 401, "https://dash.example", "true"},
		{"listed, preflight", "OPTIONS", "/api/runs", []string{"https://dash.example"}, []string{page, preflight}, false, 204, "https://dash.example", "true"},
		{"listed, write", "POST", "/api/validate", []string{"https://dash.example"}, []string{page, "Sec-Fetch-Site: cross-site"}, true, 415, "https://dash.example", "true"},
		{"other listed", "OPTIONS", "/api/runs", []string{"https://dash.example:8443"}, []string{page, preflight}, false, 403, "", ""},
		{"other scheme listed", "OPTIONS", "/api/runs", []string{"http://dash.example"}, []string{page, preflight}, false, 403, "", ""},
		{"all, read", "GET", "/api/runs", []string{"*"}, []string{page}, true, 200, "*", ""},
		{"all, preflight", "OPTIONS", "/api/runs", []string{"*"}, []string{page, preflight}, false, 204, "*", ""},
		{"all, write with a token", "POST", "/api/validate", []string{"*"}, []string{page, "Sec-Fetch-Site: cross-site"}, true, 415, "*", ""},
		{"all, write without a token", "POST", "/api/validate", []string{"*"}, []string{page, "Sec-Fetch-Site: cross-site"}, false, 403, "*", ""},
		{"opaque origin", "OPTIONS", "/api/runs", []string{"https://dash.example"}, []string{"Origin: null", preflight}, false, 403, "", ""},
		{"our own page", "OPTIONS", "/api/runs", nil, []string{"Origin: http://localhost", preflight}, false, 204, "", ""},
		{"options without an origin", "OPTIONS", "/api/runs", nil, []string{preflight}, false, 204, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuarded(t, allow(tt.origins...))
			headers := append(slices.Clone(tt.headers), "Host: localhost")
			if tt.token {
				headers = append(headers, g.bearer["ci"])
			}
			w := g.do(tt.method, tt.target, "", headers...)
			h := w.Header()
			if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != tt.origin || h.Get("Access-Control-Allow-Credentials") != tt.credentials {
				t.Errorf("status %d, headers %v, want %d, %q, %q", w.Code, h, tt.status, tt.origin, tt.credentials)
			}
			if tt.status == 204 && tt.origin != "" && (h.Get("Access-Control-Max-Age") != "600" || h.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST, OPTIONS" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization")) {
				t.Errorf("headers of the preflight = %v", h)
			}
			if tt.method == "GET" && tt.origin != "" && !strings.Contains(h.Get("Access-Control-Expose-Headers"), "X-Aiperfd-Run-Id") {
				t.Errorf("headers = %v", h)
			}
		})
	}
	// Without tokens a page of any origin may read, and not start runs.
	guard, err := access.New(access.Options{Host: "127.0.0.1", Origins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	ts := newTestServer(t, func(o *Options) { o.Access = guard })
	if w := ts.do("GET", "/api/runs", "", page); w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("read = %d %v", w.Code, w.Header())
	}
	if w := ts.do("POST", "/api/runs", "x", page, "Content-Type: application/yaml"); w.Code != 403 || len(ts.fake.submitted) > 0 {
		t.Errorf("a page of another site started a run: %d", w.Code)
	}
}

// The handshake of the feed, and its end when the caller loses access.
func TestFeedAccess(t *testing.T) {
	g, guard := newGuard(t, func(o *access.Options) { o.Origins = []string{"https://dash.example"} })
	withFeed(t, func(o *Options) { o.Access = guard }, func(t *testing.T, ft *feedTest) {
		g.testServer = ft.testServer
		testFeedAccess(t, g, ft)
	})
}

func testFeedAccess(t *testing.T, g *guarded, ft *feedTest) {
	cookie, gone, old := g.login(t, "reader"), g.login(t, "gone"), g.login(t, "root")
	dial := func(headers ...string) (*websocket.Conn, int) {
		t.Helper()
		h := http.Header{}
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			h.Set(name, value)
		}
		conn, resp, err := ft.dial(t, h)
		if err == nil {
			return conn, resp.StatusCode
		}
		if resp == nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return nil, resp.StatusCode
	}
	for name, tt := range map[string]struct {
		status  int
		headers []string
	}{
		"no token":                          {401, nil},
		"wrong token":                       {401, []string{"Authorization: Bearer x"}},
		"token":                             {101, []string{g.bearer["reader"]}},
		"token, foreign page":               {403, []string{g.bearer["reader"], "Origin: https://evil.example"}},
		"cookie, our page":                  {101, []string{cookie, "Origin: http://localhost"}},
		"cookie, listed page":               {101, []string{cookie, "Origin: https://dash.example"}},
		"cookie, foreign page":              {403, []string{cookie, "Origin: https://evil.example"}},
		"cookie, opaque page":               {403, []string{cookie, "Origin: null"}},
		"cookie, no page":                   {403, []string{cookie}},
		"cookie, host in the user part":     {403, []string{cookie, "Origin: http://localhost@evil.example"}},
		"no cookie, foreign page, no token": {401, []string{"Origin: https://evil.example"}},
	} {
		conn, status := dial(tt.headers...)
		if status != tt.status {
			t.Errorf("%s: status %d, want %d", name, status, tt.status)
		}
		if conn != nil {
			conn.Close()
			synctest.Wait()
		}
	}
	ends := func(what string, conn *websocket.Conn) {
		t.Helper()
		if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
			t.Errorf("%s: the feed ended with %v, want 1008", what, err)
		}
		conn.Close()
		synctest.Wait()
	}
	first, _ := dial(g.bearer["gone"])
	second, _ := dial(gone, "Origin: http://localhost")
	if err := access.RemoveToken(g.file, "gone"); err != nil {
		t.Fatal(err)
	}
	g.Access.Reload()
	ends("removed token", first)
	ends("session of a removed token", second)
	third, _ := dial(cookie, "Origin: http://localhost")
	stays, _ := dial(g.bearer["reader"])
	g.do("DELETE", "/api/session", "", cookie)
	ends("ended session", third)
	stays.Close()
	synctest.Wait()

	begin := time.Now()
	fourth, _ := dial(old, "Origin: http://localhost")
	ends("session of 12 hours", fourth)
	if took := time.Since(begin).Round(time.Minute); took != 12*time.Hour {
		t.Errorf("the session ended after %s", took)
	}
	if w := g.do("GET", "/api/runs", "", old); w.Code != 401 {
		t.Errorf("request with an old cookie = %d", w.Code)
	}
}

// Sessions and the feed over TLS: the cookie is Secure, and HTTP/2 is there for all but
// the feed.
func TestAccessOverTLS(t *testing.T) {
	pair := testcert.New(t, "localhost")
	g, guard := newGuard(t, func(o *access.Options) { o.Cert, o.Key = pair.CertFile, pair.KeyFile })
	withFeed(t, func(o *Options) { o.Access = guard }, func(t *testing.T, ft *feedTest) {
		trust := &tls.Config{InsecureSkipVerify: true} // virtual time is long before the certificate
		transport := &http.Transport{DialContext: ft.listener.DialContext, TLSClientConfig: trust.Clone(), ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://localhost/api/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", strings.TrimPrefix(g.bearer["reader"], "Authorization: "))
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		cookies := resp.Cookies()
		if resp.StatusCode != 204 || resp.Proto != "HTTP/2.0" || len(cookies) != 1 || !cookies[0].Secure {
			t.Fatalf("session = %s %d %v", resp.Proto, resp.StatusCode, cookies)
		}
		d := websocket.Dialer{NetDialContext: ft.listener.DialContext, TLSClientConfig: trust, HandshakeTimeout: time.Minute}
		conn, resp, err := d.DialContext(t.Context(), "wss://localhost/ws", http.Header{
			"Cookie": {cookies[0].Name + "=" + cookies[0].Value}, "Origin": {"https://localhost"},
		})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		defer conn.Close()
		if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		if _, answer, err := conn.ReadMessage(); err != nil || string(answer) != `{"type":"pong"}` {
			t.Errorf("answer %s, %v", answer, err)
		}
	})
}

// A client that speaks no TLS leaves no line in the log; other messages of net/http do.
func TestServerLog(t *testing.T) {
	var out bytes.Buffer
	log := serverLog{zerolog.New(&out).Level(zerolog.InfoLevel)}
	for _, line := range []string{"http: TLS handshake error from 127.0.0.1:1: EOF\n", "http: Accept error: too many open files\n"} {
		if n, err := log.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if want := `{"level":"warn","message":"http: Accept error: too many open files"}` + "\n"; out.String() != want {
		t.Errorf("log = %s, want %s", out.String(), want)
	}
}
