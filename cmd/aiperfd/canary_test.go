package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"aiperfd/internal/backup"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/openapi"
)

// canary returns a secret that is different from all others and that every encoding
// changes. Its core survives escaping, so a search for it finds the
// secret in plain, JSON, URL and HTML form, and a part of it.
func canary(name string) string { return `x"<` + core(name) + `&>/+\` + "x" }

func core(name string) string { return "canary" + name + "5d1e77" }

// canaries are the places where a document can hold a secret.
func canaries() []string {
	return []string{
		"apikey", "acmetoken", "cookie", "env", "query", "sas", "extrakey", "nested", "stored", "derived", // of the first document
		"user", "password", // of the second
		"basic",                               // of the third
		"proxyuser", "proxypassword", "param", // of the fourth
		"reset", "start", "stop", "matrix", "record", "recordnested", // of the hooks
		"otel", "header", "mlflow", "pages", // of what is measured beside the requests, and where it is sent
		"write", "gateway", // which a daemon sends to nobody
		"spanbearer", "spanheader", "spanquery", "spanname", "spanattribute", "spanresource", // which a server sends with its spans
		"label", "note", "runname", "variable", // which no server gets
	}
}

// pushed reports whether only the command line sends the canary.
func pushed(name string) bool { return name == "write" || name == "gateway" }

// sentTo reports whether requests have the canary.
func sentTo(name string) bool {
	return !slices.Contains([]string{"label", "note", "runname", "variable"}, name) && !strings.HasPrefix(name, "span")
}

// canaryDocuments hold all canaries; a request has only one Authorization header,
// so several documents are necessary.
func canaryDocuments(base string) []string {
	const rest = `
  artifacts: {raw: true, trace: true, exportOutputsJson: true}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 2, requests: %d}]
`
	quote := func(text string) string { b, _ := json.Marshal(text); return string(b) } //nolint:errchkjson // a text encodes
	address, userinfo, ok := strings.Cut(base, "://")
	if !ok {
		panic("no scheme in " + base)
	}
	credentials := url.UserPassword(canary("user"), canary("password")).String()
	query := url.Values{"api_key": {canary("query")}, "sig": {canary("sas")}, "plain": {"visible"}}.Encode()
	requests := echoedRequests() + 1
	return []string{
		"metadata: {name: keys, labels: {team: blue}}\nvariables: {held: \"${secret:derived}\"}\nbenchmark:\n  model: m\n  endpoint:\n" +
			"    url: " + quote(base+"/?"+query) + "\n    streaming: true\n    apiKey: " + quote(canary("apikey")) + "\n" +
			"    headers: {X-Acme-Token: " + quote(canary("acmetoken")) + ", Cookie: " + quote("session="+canary("cookie")) +
			", X-Api-Key: \"${CANARY}\", X-Tenant: visible, X-Plain: \"${secret:stored}\", X-Other: \"{{ held }}\"}\n" +
			"    extra: {api_key: " + quote(canary("extrakey")) + ", options: {access_token: " + quote(canary("nested")) + ", plain: visible}}" +
			fmt.Sprintf(rest, requests),
		"metadata: {name: userinfo}\nbenchmark:\n  model: m\n  endpoint: {url: " + quote(address+"://"+credentials+"@"+userinfo) + "}" +
			fmt.Sprintf(rest, requests),
		"metadata: {name: header}\nbenchmark:\n  model: m\n  endpoint: {url: " + quote(base) + ", streaming: true, headers: {authorization: " +
			quote("Basic "+base64.StdEncoding.EncodeToString([]byte("name:"+canary("basic")))) + "}}" + fmt.Sprintf(rest, requests),
		"metadata: {name: proxy}\nbenchmark:\n  model: m\n  endpoint: {url: \"http://target.invalid\", proxy: " +
			quote(address+"://"+url.UserPassword(canary("proxyuser"), canary("proxypassword")).String()+"@"+userinfo) +
			", urlParams: {api_key: " + quote(canary("param")) + ", plain: visible}, resetKvCache: {path: /none}, waitForModelTimeout: 0.2}" + fmt.Sprintf(rest, requests),
		"metadata: {name: proxied}\nbenchmark:\n  model: m\n  endpoint: {url: \"http://target.invalid\", serverProfiler: true, proxy: " +
			quote(address+"://"+url.UserPassword(canary("proxyuser"), canary("proxypassword")).String()+"@"+userinfo) +
			", urlParams: {api_key: " + quote(canary("param")) + ", plain: visible}}" + fmt.Sprintf(rest, requests),
		"metadata: {name: " + quote("run password="+core("runname")) + ", notes: " + quote("see api_key="+core("note")+" "+canary("apikey")) +
			", labels: {api_key: " + quote(canary("label")) + "}}\nvariables: {api_token: " + quote(canary("variable")) + "}\n" +
			"sweep: {type: grid, parameters: {benchmark.phases.profiling.concurrency: [1, 2]}}\nbenchmark:\n  model: m\n  endpoint: {url: " + quote(base) +
			", path: " + quote("/v1/x;token="+core("matrix")) + ", apiKey: " + quote(canary("apikey")) +
			", resetKvCache: {path: " + quote("/reset?api_key="+url.QueryEscape(canary("reset"))) + ", before: profiling}" +
			", serverProfiler: {startPath: " + quote("/start?token="+url.QueryEscape(canary("start"))) + ", stopPath: " + quote("/stop?sig="+url.QueryEscape(canary("stop"))) + "}}" +
			strings.Replace(fmt.Sprintf(rest, requests), "{type: synthetic, isl: 8, osl: 4}", "{type: file, format: raw_payload, records: [{payload: {model: m, messages: [], api_key: "+
				quote(canary("record"))+", o: {secret: "+quote(canary("recordnested"))+"}}}]}", 1),
		"metadata: {name: beside}\nbenchmark:\n  model: m\n  endpoint: {url: " + quote(base) + ", streaming: true}\n  serverMetrics: " +
			quote(as(base, "pages")+"/pages/metrics") + "\n  otel: {metricsUrl: " + quote(as(base, "otel")+"/metrics") +
			", tracesUrl: " + quote(as(base, "otel")+"/traces") + ", tracesSample: 1, receive: true, headers: {X-Team: " +
			quote(canary("header")) + "}}\n  mlflow: {trackingUri: " + quote(as(base, "mlflow")) + "}\n  runtime: {prometheusRemoteWrite: " + quote(as(base, "write")) + ", pushGateway: " +
			quote(as(base, "gateway")) + "}" + fmt.Sprintf(rest, requests),
	}
}

// as returns the URL of a server with a canary as the password.
func as(base, name string) string {
	return strings.Replace(base, "://", "://"+url.UserPassword("u", canary(name)).String()+"@", 1)
}

// echoedRequests is the number of requests that get every echo in every encoding; under the race
// detector, to which encodings are data like any, every echo.
func echoedRequests() int {
	if raceEnabled {
		return len(echoes())
	}
	return len(echoes()) * len(encodings())
}

// hooked reports whether only the document with hooks has the canary.
func hooked(name string) bool {
	return slices.Contains([]string{"reset", "start", "stop", "matrix", "record", "recordnested"}, name)
}

// echoServer answers every request with its whole content, each time in another way, and
// records it. It sends a span of each request that asks for one.
type echoServer struct {
	*httptest.Server
	spansTo string // the URL of the API that takes spans; empty = nobody does
	mu      sync.Mutex
	n       int
	seen    strings.Builder
}

func newEchoServer(t *testing.T) *echoServer {
	t.Helper()
	faulty, err := mock.ParseFault("status:503,body=echo_headers")
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := mock.New(options.Options{Faults: []mock.Fault{faulty}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { simulated.Close() })
	e, ways, forms := &echoServer{}, echoes(), encodings()
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		if parent := r.Header.Get("Traceparent"); parent != "" && e.spansTo != "" {
			sendSpan(t, e.spansTo, parent)
		}
		all := r.Method + " " + r.URL.String() + "\n"
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			all += name + ": " + strings.Join(r.Header[name], ", ") + "\n"
		}
		user, password, _ := r.BasicAuth()
		all += "user " + user + " password " + password + "\n" + string(body)
		e.mu.Lock()
		fmt.Fprintln(&e.seen, all)
		e.n++
		n := e.n % (len(ways)*len(forms) + 1)
		e.mu.Unlock()
		switch {
		case r.URL.Path == "/reset":
			io.WriteString(w, "{}")
		case r.URL.Path == "/start" || r.URL.Path == "/stop":
			for _, form := range forms {
				all += form.encode(all[:min(len(all), 300)])
			}
			http.Error(w, all, http.StatusInternalServerError)
		case r.URL.Path == "/elsewhere": // what is encoded twice depends on the order
			ways[n%len(ways)](w, "refused: "+all)
		case n == len(ways)*len(forms):
			simulated.Handler().ServeHTTP(w, r)
		default:
			ways[n%len(ways)](w, "refused: "+r.Method+" "+forms[n/len(ways)].encode(all))
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// sendSpan sends the span of a request with canaries wherever a server may put something, and once more in a body that
// cannot be read.
func sendSpan(t *testing.T, to, parent string) {
	t.Helper()
	ids := strings.Split(parent, "-")
	text := func(name string) map[string]any { return map[string]any{"stringValue": canary(name)} }
	span := map[string]any{
		"traceId": ids[1], "parentSpanId": ids[2], "spanId": "5d1e775d1e775d1e", "name": canary("spanname"), "attributes": []any{
			map[string]any{"key": "gen_ai.latency.time_in_queue", "value": map[string]any{"doubleValue": 0.001}},
			map[string]any{"key": "gen_ai.prompt", "value": text("spanattribute")},
			map[string]any{"key": "gen_ai.latency.e2e", "value": text("spanattribute")},
		},
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []any{map[string]any{"key": "api_key", "value": text("spanresource")}}},
		"scopeSpans": []any{map[string]any{"spans": []any{span}}},
	}}})
	if err != nil {
		t.Error(err)
	}
	for _, sent := range []struct {
		query, body string
		status      int
	}{
		{"", string(body), http.StatusOK}, {"", string(body[:len(body)-2]), http.StatusBadRequest},
		{"?api_key=" + url.QueryEscape(canary("spanquery")), string(body), http.StatusBadRequest}, // which the route does not have
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+"/v1/traces"+sent.query, strings.NewReader(sent.body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+canary("spanbearer"))
		req.Header.Set("X-Team", canary("spanheader"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode != sent.status {
			t.Errorf("POST /v1/traces%s: %d, want %d", sent.query, resp.StatusCode, sent.status)
		}
	}
}

// checkSent checks that the server has received the canaries that were for it. Like
// [haystack.check], it is left out under the race detector.
func (e *echoServer) checkSent(t *testing.T, wanted func(name string) bool) {
	t.Helper()
	if raceEnabled {
		return
	}
	seen := haystack{"request": []byte(e.seen.String())}
	text := seen.text("request")
	for _, name := range canaries() {
		if wanted(name) && len(found("request", text, name)) == 0 {
			t.Errorf("the server was never sent the secret %q", name)
		}
	}
}

// haystack is all output of the program, by its place.
type haystack map[string][]byte

// hits returns where one of the canaries, or the start of one, can be read in any encoding,
// also where a table or line breaks interrupt it, or where a stream has it in pieces.
func (h haystack) hits(names ...string) []string {
	var out []string
	for _, place := range slices.Sorted(maps.Keys(h)) {
		out = append(out, found(place, h.text(place), names...)...)
	}
	return out
}

// found returns where a text has one of the canaries.
func found(place, text string, names ...string) (out []string) {
	var plain, exact []string // regardless of case, and not
	for _, name := range names {
		for _, e := range encodings() {
			if !strings.HasPrefix(e.name, "base64") {
				plain = append(plain, strings.ToLower(strings.TrimRight(e.encode(core(name)[:9]), "\n")))
			}
		}
		for shift := range 3 { // base64 has three ways to write a text, by where it begins
			padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", shift) + core(name)[:12]))
			exact = append(exact, padded[4:len(padded)-4])
		}
	}
	slices.Sort(plain)
	plain = slices.Compact(plain)
	for _, needles := range [][]string{exact, plain} {
		starts := map[string]bool{} // whether the text has the start that several have in common
		for _, needle := range needles {
			start := needle[:min(len(needle), len("canary"))]
			has, known := starts[start]
			if !known {
				has = strings.Contains(text, start)
				starts[start] = has
			}
			if !has {
				continue
			}
			if at := strings.Index(text, needle); at >= 0 {
				out = append(out, fmt.Sprintf("%s: …%q…", place, text[max(0, at-80):min(len(text), at+80)]))
			}
		}
		text = strings.ToLower(text)
	}
	return out
}

// text returns the text of a place, and after it what a reader can make of it.
func (h haystack) text(place string) string {
	text := string(h[place])
	joined := strings.NewReplacer("\r", "", "\n", "", `\r`, "", `\n`, "", `\\r`, "", `\\n`, "").Replace(text)
	var streamed strings.Builder
	for _, part := range strings.Split(text, `content\":\"`)[1:] {
		part, _, _ = strings.Cut(part, `\"}`)
		streamed.WriteString(part)
	}
	return strings.Join([]string{text, unwrapped(text), joined, streamed.String()}, "\n\n")
}

// unwrapped joins the cells of each column of the tables in a text.
func unwrapped(text string) string {
	var columns []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "│")
		if len(cells) == 1 {
			continue
		}
		for i, cell := range cells {
			if i == len(columns) {
				columns = append(columns, "\n")
			}
			columns[i] += strings.TrimSpace(cell)
		}
	}
	return strings.Join(columns, "")
}

// check searches all output. Under the race detector it does nothing: one goroutine searches
// texts, after the program has ended, and takes longer there than all the program did.
func (h haystack) check(t *testing.T) {
	t.Helper()
	if raceEnabled {
		return
	}
	for _, hit := range h.hits(canaries()...) {
		t.Errorf("a secret can be read in %s", hit)
	}
}

// files adds every file below a folder.
func (h haystack) files(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		h["file "+filepath.Base(path)+" in "+filepath.Dir(path)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHaystack checks that the search finds secrets in every encoding.
func TestHaystack(t *testing.T) {
	secret := canary("apikey")
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": secret, "json": string(quoted), "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "part": core("apikey")[:9],
		"wrapped": "│ 1 │ " + secret[:10] + " │\n│   │ " + secret[10:] + " │",
		"base64":  base64.StdEncoding.EncodeToString([]byte("ab" + secret)),
		"base64+": base64.URLEncoding.EncodeToString([]byte("a" + secret)), "basic": base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		h := haystack{"here": []byte("before " + text + " after")}
		if len(h.hits("apikey")) == 0 {
			t.Errorf("the %s form %s is not found", name, text)
		}
		if hits := h.hits("cookie"); len(hits) > 0 {
			t.Errorf("found what is not there: %s", hits)
		}
	}
}

// TestCanaryDaemon puts a secret into every field of a document that can contain one,
// runs it against a server that repeats its requests, and searches for the secrets in all
// responses, logs and files of the daemon.
func TestCanaryDaemon(t *testing.T) {
	server := newEchoServer(t)
	d := startTestDaemon(t, map[string]string{
		"CANARY": canary("env"), "AIPERFD_SECRET_STORED": canary("stored"), "AIPERFD_SECRET_DERIVED": canary("derived"),
	})
	server.spansTo = d.url
	places := haystack{}
	frames := followFeed(t, d)
	var ids []string
	for _, document := range canaryDocuments(server.URL) {
		places.refusals(d, document)
		ids = append(ids, d.submit(document)) // the second and third wait in the queue
	}
	places.routes(t, d, "live", ids)
	for _, id := range ids {
		run := d.finished(id)
		if !strings.Contains(run, `"summary":{`) && !strings.Contains(run, `"name":"proxy"`) && !strings.Contains(run, `"kind":"sweep"`) { // which fails on purpose, before the load
			t.Errorf("run has no summary: %s", run)
		}
		places.routes(t, d, id, []string{id})
	}
	d.stop()
	places["frames"] = []byte(strings.Join(frames(), "\n"))
	places["log"] = []byte(d.logs.String())
	places.files(t, d.dir)
	copied := filepath.Join(t.TempDir(), "copy")
	if made, err := backup.Create(t.Context(), d.dir, copied+".tar.gz", "test"); err != nil {
		t.Fatal(made, err)
	}
	if made, err := backup.Restore(t.Context(), copied+".tar.gz", copied, backup.Unlimited()); err != nil {
		t.Fatal(made, err)
	}
	places.files(t, copied)

	// The test would prove nothing if the server had not received the secrets, or if
	// its responses were not stored anywhere.
	server.checkSent(t, func(name string) bool { return sentTo(name) && !pushed(name) })
	for _, place := range []string{"frames", "GET /api/runs/" + ids[0] + "/results (" + ids[0] + ")"} {
		if text := string(places[place]); !strings.Contains(text, "refused: POST") || !strings.Contains(text, "visible") {
			t.Errorf("%s do not have the server's answers: %s", place, text[:min(2000, len(text))])
		}
	}
	joined := false
	for place, text := range places {
		joined = joined || strings.HasPrefix(place, "file server_spans.jsonl") && strings.Contains(string(text), `"queue_ms":1,`)
	}
	if !joined {
		t.Error("no span of the server was joined with its request")
	}
	if n := len(places); n < 100 {
		t.Errorf("searched %d places only: %q", n, slices.Sorted(maps.Keys(places)))
	}
	places.check(t)
}

// refusals adds the responses to documents with secrets that the daemon cannot run.
func (h haystack) refusals(d *testDaemon, document string) {
	for i, broken := range []string{
		document,
		document + "unknown: 1\n",
		strings.Replace(document, "benchmark:", "benchmark:\n  unknown: {api_key: "+canary("apikey")[3:]+"}", 1),
		strings.Replace(document, "  model: m", "  model: m\n  endpoint: 3", 1),
		strings.Replace(document, "apiKey: \"", "apiKey: 3\n    api_key: \"", 1),
		strings.Replace(document, "headers: {", "headers: {X-Bad-Token: [\""+core("acmetoken")+"\"], ", 1),
		strings.Replace(document, "http://", "ftp://", 1),
		strings.Replace(document, "team: blue", "team: \"${secret:stored}\"", 1),
		strings.Replace(document, "X-Other: \"{{ held }}", "X-Other: \"{{ held // 2 }}{{ held[0] }}{{ held.x }}", 1),
		strings.Replace(document, "streaming: true", "streaming: \"{{ held }}\"", 1),
		strings.Replace(document, "  model: m", "  model: \"{{ held | lower }}\"", 1),
		document[:len(document)/2],
	} {
		if i > 0 && broken == document {
			continue // it has no such field
		}
		got := d.call(http.MethodPost, "/api/validate", "application/yaml", []byte(broken))
		h[fmt.Sprintf("validate %d of %.30q", i, document)] = got.body
		if i > 0 {
			got = d.call(http.MethodPost, "/api/runs", "application/yaml", []byte(broken))
			h[fmt.Sprintf("refusal %d of %.30q", i, document)] = got.body
		}
	}
}

// routes adds the answers of every address that can be read, headers included.
func (h haystack) routes(t *testing.T, d *testDaemon, when string, ids []string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(openapi.JSON, &document); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/dashboard", "/docs", "/metrics?names=native", "/metrics?names=compat", "/healthz?verbose", "/readyz?verbose", "/api/runs?q=keys"}
	for path, methods := range document.Paths {
		switch {
		case methods["get"] == nil || path == "/ws":
		case strings.Contains(path, "{id}"):
			for _, id := range ids {
				paths = append(paths, filesOf(t, d, strings.ReplaceAll(path, "{id}", id))...)
			}
		default:
			paths = append(paths, filesOf(t, d, path)...)
		}
	}
	for _, path := range paths {
		got := d.call(http.MethodGet, path, "", nil)
		if got.status == http.StatusInternalServerError {
			t.Errorf("GET %s: %s", path, got.body)
		}
		h["GET "+path+" ("+when+")"] = fmt.Append(nil, got.status, got.header, "\n", string(got.body))
	}
}

// filesOf fills the name of every file into a path that has a place for it.
func filesOf(t *testing.T, d *testDaemon, path string) []string {
	t.Helper()
	base, ok := strings.CutSuffix(path, "files/{path}")
	if !ok {
		return []string{path}
	}
	var list struct{ Files []struct{ Name string } }
	got := d.call(http.MethodGet, base+"list", "", nil)
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatalf("GET %slist: %v", base, err)
	}
	var out []string
	for _, f := range list.Files {
		out = append(out, base+"files/"+f.Name)
	}
	return out
}

// followFeed subscribes to every message of every run; the result waits for the
// end of the feed and returns what came.
func followFeed(t *testing.T, d *testDaemon) func() []string {
	t.Helper()
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(d.url, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := conn.WriteJSON(map[string]any{"type": "subscribe", "run": "*", "message_types": []string{"*"}, "snapshot": true}); err != nil {
		t.Fatal(err)
	}
	frames := make(chan []string, 1)
	go func() {
		var all []string
		for {
			_, data, err := conn.ReadMessage()
			if err != nil {
				frames <- all
				return
			}
			all = append(all, string(data))
		}
	}()
	t.Cleanup(func() { conn.Close() })
	return func() []string { return <-frames }
}

// TestProfileCanaries does the same with the command line: its output and its folder.
func TestProfileCanaries(t *testing.T) {
	server := newEchoServer(t)
	dir := t.TempDir()
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(canary("apikey")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AIPERFD_SECRET_STORED", canary("stored"))
	t.Setenv("AIPERFD_SECRET_DERIVED", canary("derived"))
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team="+url.PathEscape(canary("header")))
	document := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(document, []byte(`
variables: {held: "${secret:derived}"}
benchmark: {endpoint: {url: "`+server.URL+`", headers: {X-Plain: "${secret:stored}", X-Other: "{{ held }}"}}, phases: {requests: 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	query := url.Values{"api_key": {canary("query")}, "sig": {canary("sas")}}.Encode()
	credentials := url.UserPassword(canary("user"), canary("password")).String()
	common := []string{
		"profile", "--model", "m", "--tokenizer", "builtin", "--synthetic-input-tokens-mean", "8",
		"--request-count", fmt.Sprint(echoedRequests()), "--concurrency", "2", "--log-level", "TRACE",
	}
	places := haystack{}
	for name, args := range map[string][]string{
		"file": {
			"--url", server.URL + "/?" + query, "--api-key-file", keyFile, "--streaming",
			"--header", "X-Acme-Token:" + canary("acmetoken"), "-H", "Cookie: " + canary("cookie"), "--header=X-Api-Key: " + canary("env"),
			"--extra-inputs", "api_key:" + canary("extrakey"), "--extra-inputs", `{"options":{"access_token":` + fmt.Sprintf("%q", canary("nested")) + `}}`,
		},
		"raw": {
			"--url", server.URL + "/?" + query, "--api-key", canary("apikey"), "--export-level", "raw", "--export-http-trace", "--streaming",
			"--extra-inputs", "api_key:" + canary("extrakey"), "-H", "Cookie: session=" + canary("cookie"),
		},
		"document": {"--config", document},
		"userinfo": {"--url", strings.Replace(server.URL, "://", "://"+credentials+"@", 1)},
		"key":      {"--url", server.URL, "--api-key", canary("apikey"), "--report", "full"},
		"basic":    {"--url", server.URL, "-H", "authorization:Basic " + base64.StdEncoding.EncodeToString([]byte("n:"+canary("basic")))},
		"proxy": {
			"--url", "http://target.invalid", "--url-param", "api_key=" + canary("param"),
			"--proxy", strings.Replace(server.URL, "://", "://"+url.UserPassword(canary("proxyuser"), canary("proxypassword")).String()+"@", 1),
			"--server-profiler", "--reset-kv-cache", "--reset-kv-cache-path", "/none",
		},
		"proxied": {
			"--url", "http://target.invalid", "--url-param", "api_key=" + canary("param"), "--server-profiler",
			"--proxy", strings.Replace(server.URL, "://", "://"+url.UserPassword(canary("proxyuser"), canary("proxypassword")).String()+"@", 1),
		},
		"beside": {
			"--url", server.URL, "--server-metrics", as(server.URL, "pages") + "/pages/metrics",
			"--otel-url", as(server.URL, "otel") + "/metrics", "--otel-traces-url", as(server.URL, "otel") + "/traces",
			"--otel-traces-sample", "1", "--mlflow-tracking-uri", as(server.URL, "mlflow"), "--prometheus-remote-write", as(server.URL, "write"), "--push-gateway", as(server.URL, "gateway"),
		},
		"mistyped": {"--url", server.URL, "--api-key", canary("apikey"), "--header", canary("acmetoken"), "--concurrency", canary("env")},
	} {
		out := filepath.Join(dir, name)
		places["screen of "+name] = runCommand(t, dir, slices.Concat(common, args, []string{"--artifact-dir", out}))
		if name != "mistyped" {
			places.files(t, out)
		}
	}
	server.checkSent(t, func(name string) bool { return sentTo(name) && !hooked(name) })
	if places["file profile_export_raw.jsonl in "+filepath.Join(dir, "raw")] == nil {
		t.Errorf("searched no raw records: %q", slices.Sorted(maps.Keys(places)))
	}
	if screen := string(places["screen of key"]); !strings.Contains(screen, "Error Summary") || !strings.Contains(screen, "--api-key '<redacted>'") {
		t.Errorf("screen: %s", screen)
	}
	places.check(t)
}

// runCommand runs the program in a separate process and returns its output. The
// exit code is ignored.
func runCommand(t *testing.T, dir string, args []string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = "aiperfd" // TestMain becomes the program
	cmd.Dir = dir
	screen, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return screen
}
