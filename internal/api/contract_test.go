package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/results"
	"aiperfd/openapi"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	// Examples are validated, too.
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every route is in the document, and the document has no other.
func TestDocumentHasRoutes(t *testing.T) {
	ts := newTestServer(t, nil)
	var documented, served []string
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	hidden := map[string]bool{}
	for _, rt := range ts.routes() {
		hidden[rt.pattern] = rt.hidden
	}
	err := chi.Walk(ts.router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodHead && !hidden[pattern] {
			served = append(served, method+" "+strings.Replace(pattern, "*", "{path}", 1))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("routes (-documented +served):\n%s", diff)
	}
}

// Responses match the schemas of the document.
func TestAnswersMatchDocument(t *testing.T) {
	doc := document(t)
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{results.MarkerReady: `{"ready":true}`, "a.json": "{}", "profile_export.jsonl": "{}\n{}\n"})
	ts.addSweep(t, idSweep, summaryOfSearch)
	ts.fake.writeArtifacts(t, idSweep, map[string]string{answerFile: answerOfSearch})
	const yaml = "Content-Type: application/yaml"
	requests := []struct {
		method, target, body string
		headers              []string
	}{
		{"GET", "/api/queue", "", nil}, {"GET", "/api/session", "", nil}, {"GET", "/api/version", "", nil}, {"GET", "/healthz", "", nil}, {"GET", "/readyz", "", nil},
		{"GET", "/healthz?verbose", "", nil}, {"GET", "/readyz?verbose", "", nil},
		{"GET", "/metrics", "", nil}, {"GET", "/openapi.json", "", nil}, {"GET", "/openapi.yaml", "", nil}, {"GET", "/openapi.yaml?x=1", "", nil}, {"GET", "/api/config/schema", "", nil}, {"GET", "/ws", "", nil},
		{"GET", "/api/runs/" + idDone + "/events", "", nil}, {"GET", "/api/runs/" + idRunning + "/events?types=x", "", nil},
		{"GET", "/api/runs/" + idMissing + "/events", "", nil}, {"GET", "/api/events?since_seq=x", "", nil},
		{"GET", "/api/runs", "", nil}, {"GET", "/api/runs?limit=0", "", nil},
		{"GET", "/api/runs/" + idDone + "/children", "", nil}, {"GET", "/api/runs/" + idMissing + "/children?limit=1", "", nil},
		{"GET", "/api/runs/" + idMissing, "", nil}, {"GET", "/api/runs/" + idDone + "/metrics.prom", "", nil},
		{"GET", "/api/runs/" + idDone + "/timeseries", "", nil}, {"GET", "/api/runs/" + idRunning + "/timeseries?step=x", "", nil},
		{"GET", "/api/runs/" + idDone + "/distributions", "", nil}, {"GET", "/api/runs/" + idRunning + "/distributions?points=0", "", nil},
		{"GET", "/api/runs/" + idDone + "/samples", "", nil}, {"GET", "/api/runs/" + idMissing + "/samples", "", nil}, {"GET", "/api/runs/" + idDone + "/telemetry", "", nil}, {"GET", "/api/runs/" + idMissing + "/telemetry", "", nil}, {"GET", "/api/runs/" + idDone + "/agents", "", nil}, {"GET", "/api/runs/" + idMissing + "/agents", "", nil}, {"GET", "/api/runs/" + idDone + "/agents", "", nil}, {"GET", "/api/runs/" + idMissing + "/agents", "", nil}, {"GET", "/api/runs/" + idDone + "/sweep", "", nil}, {"GET", "/api/runs/" + idSweep + "/sweep", "", nil}, {"GET", "/api/runs/" + idMissing + "/distributions", "", nil},
		{"GET", "/api/runs/" + idSweep + "/answer", "", nil}, {"GET", "/api/runs/" + idDone + "/answer", "", nil},
		{"GET", "/api/runs/" + idDone + "/logs", "", nil}, {"GET", "/api/runs/" + idMissing + "/logs", "", nil},
		{"GET", "/api/runs/" + idDone + "/results/files/a.json", "", nil}, {"GET", "/api/runs/" + idDone + "/results/files/b.json", "", nil},
		{"GET", "/api/results/files/b.json?run=" + idDone, "", nil},
		{"GET", "/api/runs/" + idDone + "/artifacts", "", nil}, {"GET", "/api/runs/" + idFailed + "/artifacts", "", nil},
		{"GET", "/api/runs/" + idDone + "/artifacts/a.json", "", nil}, {"GET", "/api/runs/" + idDone + "/artifacts/b.json", "", nil},
		{"GET", "/api/runs/" + idDone + "/artifacts.zip", "", nil}, {"GET", "/api/runs/" + idFailed + "/artifacts.zip", "", nil},
		{"GET", "/api/runs/" + idDone + "/artifacts.tar.gz", "", nil}, {"GET", "/api/runs/" + idDone + "/artifacts.tar.gz?a=b", "", nil},
		{"GET", "/api/compare?ids=" + idDone + "," + idRunning + "," + idFailed + "," + idQueued + "&baseline=" + idDone, "", nil},
		{"GET", "/api/runs/" + idDone + "/records?limit=1", "", nil}, {"GET", "/api/runs/" + idDone + "/records?cursor=x", "", nil},
		{"GET", "/api/runs/" + idFailed + "/records", "", nil}, {"GET", "/api/runs/" + idRunning + "/records", "", nil},
		{"GET", "/api/runs/" + idDone + "/errors", "", nil}, {"GET", "/api/runs/" + idRunning + "/errors", "", nil},
		{"GET", "/api/runs/" + idQueued + "/errors", "", nil}, {"GET", "/api/runs/" + idDone + "/errors?x=1", "", nil},
		{"GET", "/api/compare?ids=" + idDone + ",latest", "", nil}, {"GET", "/api/compare?ids=" + idDone + "," + idMissing, "", nil},
		{"POST", "/api/compare", `{"a":["` + idDone + `"],"b":["` + idRunning + `"],"metrics":["request_latency:p99"]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/compare", `{"a":["` + idDone + `"],"b":["latest"]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/compare", `{"a":[],"b":["` + idMissing + `"]}`, []string{"Content-Type: application/json"}}, {"POST", "/api/compare", "{", nil},
		{"GET", "/api/runs/" + idDone + "/report.html", "", nil}, {"GET", "/api/runs/" + idMissing + "/report.html", "", nil},
		{"GET", "/api/runs/" + idDone + "/report.md", "", nil}, {"GET", "/api/runs/" + idDone + "/report.md?x=1", "", nil},
		{"GET", "/api/compare/report.html?ids=" + idDone + "," + idRunning, "", nil}, {"GET", "/api/compare/report.html?ids=x", "", nil},
		{"GET", "/api/compare/report.md?ids=" + idDone + "," + idRunning, "", nil}, {"GET", "/api/compare/report.md?ids=" + idDone + "," + idMissing, "", nil},
		{"POST", "/api/validate", "rate: -5", []string{yaml}}, {"POST", "/api/validate", "x", []string{yaml}},
		{"POST", "/api/runs", "x", []string{yaml}}, {"POST", "/api/run", "rate: -5", []string{yaml}}, {"POST", "/api/runs", "x", nil},
		{"POST", "/api/runs/" + idRunning + "/cancel", "", nil}, {"POST", "/api/runs/" + idDone + "/cancel", "", nil},
		{"POST", "/api/session", "", nil}, {"DELETE", "/api/session", "", nil}, {"POST", "/api/session?x=1", "", nil},
		{"POST", "/api/shutdown", "", nil}, {"POST", "/api/shutdown?force=true", "", nil},
		{"PATCH", "/api/runs/" + idQueued, `{"name": "n", "labels": {"gpu": null, "a": "b"}, "priority": 5, "pinned": true, "ttl": "7d"}`, []string{"Content-Type: application/merge-patch+json"}},
		{"PATCH", "/api/runs/" + idDone, `{"priority": 5}`, []string{"Content-Type: application/merge-patch+json"}}, {"PATCH", "/api/runs/" + idDone, `{}`, nil},
		{"GET", "/api/baselines", "", nil}, {"PUT", "/api/baselines/main", `{"runs":["` + idDone + `"],"note":"n"}`, []string{"Content-Type: application/json"}},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `"],"note":"n"}`, []string{"Content-Type: application/json"}},
		{"PUT", "/api/baselines/main", `{"runs":["` + idRunning + `"]}`, []string{"Content-Type: application/json"}}, {"PUT", "/api/baselines/main", "{", nil},
		{"GET", "/api/baselines", "", nil}, {"GET", "/api/baselines/main", "", nil}, {"GET", "/api/baselines/x", "", nil},
		{"GET", "/api/baselines/main/1", "", nil}, {"GET", "/api/baselines/main/2", "", nil}, {"GET", "/api/baselines/main/x", "", nil},
		{"POST", "/api/baselines/main/promote", `{"runs":["` + idDone + `"],"rules":["ttft<1"]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/baselines/main/promote", `{"runs":["` + idDone + `"],"rules":[]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/baselines/main/judge", `{"runs":["` + idDone + `"],"rules":["ttft<1"],"looks":[3]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/baselines/main/judge", `{"runs":["` + idDone + `"],"rules":[]}`, []string{"Content-Type: application/json"}},
		{"DELETE", "/api/baselines/main/1", "", nil}, {"DELETE", "/api/baselines/main/1", "", nil}, {"DELETE", "/api/baselines/main", "", nil},
		{"POST", "/v1/traces", "{}", []string{"Content-Type: application/json"}}, {"POST", "/v1/traces", "{", nil},
		{"POST", "/api/telemetry/probe", `{"urls":["h:8000"]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/telemetry/probe", `{"urls":[]}`, []string{"Content-Type: application/json"}},
		{"POST", "/api/telemetry/probe", "{", nil},
		{"GET", "/api/runs/" + idRunning + "/workers/worker-0", "", nil}, {"GET", "/api/runs/" + idDone + "/workers/x", "", nil},
		{"GET", "/api/cluster", "", nil}, {"GET", "/api/cluster/workers/one", "", nil}, {"GET", "/api/cluster/workers/x", "", nil},
		{"POST", "/api/cluster/workers/two/drain", "", nil}, {"POST", "/api/cluster/workers/x/drain", "", nil},
		{"POST", "/api/simulator", "", nil}, {"POST", "/api/queue/pause", "", nil}, {"GET", "/api/runs/" + idQueued, "", nil}, {"GET", "/readyz?verbose", "", nil}, {"POST", "/api/queue/resume", "", nil},
		{"DELETE", "/api/runs/" + idFailed, "", nil}, {"DELETE", "/api/runs/" + idRunning, "", nil},
	}
	for _, what := range []string{"config", "run", "metrics", "progress", "workers", "server-metrics", "results", "results/list"} {
		for _, id := range []string{idDone, idRunning, idQueued, idFailed} {
			requests = append([]struct {
				method, target, body string
				headers              []string
			}{{"GET", "/api/runs/" + id + "/" + what, "", nil}, {"GET", "/api/" + what + "?run=" + id, "", nil}, {"GET", "/api/runs/" + id, "", nil}}, requests...)
		}
	}
	seen := map[string]bool{}
	for _, q := range requests {
		w := ts.do(q.method, q.target, q.body, q.headers...)
		checkAnswer(t, router, q.method, q.target, w, seen)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if !seen[method+" "+path] {
				t.Errorf("%s %s was not tried", method, path)
			}
		}
	}
}

// The document has the limits of a cancel.
func TestCancelLimits(t *testing.T) {
	s := document(t).Components.Schemas["wire.Cancel"].Value
	ts := newTestServer(t, nil)
	for body, good := range map[string]bool{
		`{}`: true, `{"grace_period_sec":null}`: true, `{"grace_period_sec":0}`: true, `{"grace_period_sec":86400}`: true,
		`{"grace_period_sec":-1}`: false, `{"grace_period_sec":86401}`: false, `{"mode":"slow"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.VisitJSON(v); (err == nil) != good {
			t.Errorf("the schema says of %s: %v", body, err)
		}
		w := ts.do("POST", "/api/runs/"+idRunning+"/cancel", body, "Content-Type: application/json")
		if (w.Code < 300) != good {
			t.Errorf("cancel with %s = %d %s", body, w.Code, w.Body)
		}
	}
}

func checkAnswer(t *testing.T, router routers.Router, method, target string, w *httptest.ResponseRecorder, seen map[string]bool) {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	found, params, err := router.FindRoute(r)
	if err != nil {
		t.Errorf("%s %s: %v", method, target, err)
		return
	}
	seen[method+" "+found.Path] = true
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: found},
		Status:                 w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			// Text and files have no shape to check.
			ExcludeResponseBody: !strings.Contains(w.Header().Get("Content-Type"), "json") || strings.Contains(w.Header().Get("Content-Type"), "ndjson") ||
				w.Code == http.StatusOK && (strings.Contains(target, "/results/files/") || strings.Contains(target, "/artifacts/")),
		},
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s %s = %d %s\n%v", method, target, w.Code, w.Body, err)
	}
}

// No response contains a secret from a request.
func TestCanary(t *testing.T) {
	ts := newTestServer(t, nil)
	answers := []*httptest.ResponseRecorder{
		ts.do("POST", "/api/runs", "apiKey: "+canary, "Content-Type: application/yaml", "Authorization: Bearer "+canary),
		ts.do("POST", "/api/validate", "apiKey: "+canary, "Content-Type: application/yaml"),
		ts.do("POST", "/api/validate", "[:"+canary, "Content-Type: application/yaml"),
		ts.do("POST", "/api/runs", "rate: -5 # "+canary, "Content-Type: application/yaml"),
		ts.do("GET", "/metrics", ""), ts.do("GET", "/api/runs", ""), ts.do("GET", "/api/config", ""),
		ts.do("GET", "/api/nope?api_key="+canary, ""),
	}
	for i, w := range answers {
		if strings.Contains(w.Body.String(), canary) {
			t.Errorf("answer %d shows the secret: %s", i, w.Body)
		}
	}
	if len(ts.fake.submitted) != 1 || ts.fake.documents[0].Benchmark.Endpoint.APIKey.Reveal() != canary {
		t.Error("the secret did not reach the engine")
	}
}
