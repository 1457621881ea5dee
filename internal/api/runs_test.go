package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

func TestSubmit(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, target := range []string{"/api/runs", "/api/run"} {
		w := ts.do("POST", target, "models: [x]", "Content-Type: application/yaml; charset=UTF-8")
		if w.Code != http.StatusCreated {
			t.Fatalf("POST %s = %d %s", target, w.Code, w.Body)
		}
		id := "01990f2c7d3e7a10b1c2d3e4f5a6b7d0"
		for name, want := range map[string]string{
			"Location": "/api/runs/" + id, "Etag": `"r3"`, respond.HeaderRunID: id, "Content-Type": "application/json",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		var got struct {
			ID            string
			State         string
			QueuePosition int `json:"queue_position"`
			Warnings      []bench.Warning
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != id || got.State != "queued" || got.QueuePosition != 2 || len(got.Warnings) != 1 || got.Warnings[0].Code != "server-owned" {
			t.Errorf("run = %+v", got)
		}
		s := ts.fake.submitted[len(ts.fake.submitted)-1]
		doc := ts.fake.documents[len(ts.fake.documents)-1]
		if s.Via != "api" || s.CLICommand != "" || doc.Metadata.Name != "yaml" {
			t.Errorf("submission = %+v", s)
		}
	}
}

// Every body that is not a document is rejected with the right status.
func TestMalformedBodies(t *testing.T) {
	const jsonType = "Content-Type: application/json"
	tests := []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{"no media type", "{}", nil, 415, "unsupported-media-type"},
		{"form", "a=b", []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "application/x-www-form-urlencoded"},
		{"text", "{}", []string{"Content-Type: text/plain"}, 415, "unsupported-media-type"},
		{"bad media type", "{}", []string{"Content-Type: application/json; charset"}, 415, "unsupported-media-type"},
		{"charset", "{}", []string{"Content-Type: application/json; charset=latin1"}, 415, "unsupported-media-type"},
		{"encoded", "{}", []string{jsonType, "Content-Encoding: gzip"}, 415, "Content-Encoding"},
		{"too large", strings.Repeat(" ", 1<<20+1), []string{jsonType}, 413, "1048576"},
		{"syntax", "[:", []string{jsonType}, 400, `"line":1,"column":2`},
		{"invalid", "rate: -5", []string{"Content-Type: text/yaml"}, 422, `"detail":"2 problems in the submitted configuration"`},
		{"bad wait", "{}", []string{jsonType, "Prefer: wait=x"}, 400, "whole number"},
		{"long wait", "{}", []string{jsonType, "Prefer: respond-async, wait=31"}, 400, "from 0 to 30"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := newTestServer(t, nil)
			w := ts.do("POST", "/api/runs", tt.body, tt.headers...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("POST = %d %s, want %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			if tt.status == 415 && tt.name != "encoded" && w.Header().Get("Accept-Post") != runs.AcceptPost {
				t.Errorf("Accept-Post = %q", w.Header().Get("Accept-Post"))
			}
			if len(ts.fake.submitted) != 0 {
				t.Error("something was submitted")
			}
		})
	}
}

func TestValidationProblem(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("POST", "/api/runs", "rate: -5", "Content-Type: application/yaml")
	want := `{"type":"urn:aiperfd:problem:validation-failed","title":"Configuration is not valid","status":422,` +
		`"detail":"2 problems in the submitted configuration","instance":"/api/runs","request_id":"req-1","errors":[` +
		`{"pointer":"#/benchmark/phases/0/rate","code":"out-of-range","detail":"must be greater than 0","value":-5,"line":14,"column":11},` +
		`{"pointer":"#/benchmark/endpoint/apiKey","code":"redacted-placeholder","detail":"holds <redacted>"}],` +
		`"warnings":[{"pointer":"#/benchmark","code":"short-run","detail":"short"}]}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	ts := newTestServer(t, nil)
	bad := ts.do("POST", "/api/validate", "rate: -5", "Content-Type: application/yaml")
	if bad.Code != 200 || !strings.HasPrefix(bad.Body.String(), `{"valid":false,"errors":[{"pointer":"#/benchmark/phases/0/rate"`) {
		t.Errorf("validate = %d %s", bad.Code, bad.Body)
	}
	good := ts.do("POST", "/api/validate", "{}", "Content-Type: application/json")
	if good.Code != 200 || !strings.HasPrefix(good.Body.String(), `{"valid":true,"errors":[],"warnings":[{"pointer":"#/benchmark/artifacts/dir"`) ||
		!strings.Contains(good.Body.String(), `"apiKey":"<redacted>"`) {
		t.Errorf("validate = %d %s", good.Code, good.Body)
	}
	if w := ts.do("POST", "/api/validate", "[:", "Content-Type: application/json"); w.Code != 400 {
		t.Errorf("validate of no document = %d %s", w.Code, w.Body)
	}
	if len(ts.fake.submitted) != 0 {
		t.Error("validate submitted a run")
	}
}

func TestCancel(t *testing.T) {
	const jsonType = "Content-Type: application/json"
	tests := []struct {
		name, id, query, body string
		headers               []string
		status                int
		want                  string
		request               *run.CancelRequest
	}{
		{"running", idRunning, "", "", nil, 202, `"state":"stopping"`, &run.CancelRequest{}},
		{"current", "current", "", "", nil, 202, `"state":"stopping"`, &run.CancelRequest{}},
		{"queued", idQueued, "", "", nil, 200, `"state":"cancelled"`, &run.CancelRequest{}},
		{"finished", idDone, "", "", nil, 409, "already-finished", &run.CancelRequest{}},
		{"failed", idFailed, "", "", nil, 409, "already-finished", &run.CancelRequest{}},
		{"missing", idMissing, "", "", nil, 404, "not-found", nil},
		{"details", idRunning, "", `{"mode":"force","grace_period_sec":2.5,"reason":"wrong model"}`, []string{jsonType}, 202, "stopping",
			&run.CancelRequest{Force: true, Grace: new(2500 * time.Millisecond), Reason: "wrong model"}},
		{"null grace", idRunning, "", `{"mode":"graceful","grace_period_sec":null}`, []string{jsonType}, 202, "stopping", &run.CancelRequest{}},
		{"bad mode", idRunning, "", `{"mode":"now"}`, []string{jsonType}, 422, `"pointer":"#/mode","code":"bad-enum"`, nil},
		{"negative grace", idRunning, "", `{"grace_period_sec":-1}`, []string{jsonType}, 422, "out-of-range", nil},
		{"huge grace", idRunning, "", `{"grace_period_sec":1e300}`, []string{jsonType}, 422, "out-of-range", nil},
		{"wrong type", idRunning, "", `{"reason":5}`, []string{jsonType}, 422, `"pointer":"#/reason","code":"wrong-type"`, nil},
		{"unknown member", idRunning, "", `{"mod":"force"}`, []string{jsonType}, 422, `"pointer":"#/mod","code":"unknown-field"`, nil},
		{"long reason", idRunning, "", `{"reason":"` + strings.Repeat("x", 1025) + `"}`, []string{jsonType}, 422, "out-of-range", nil},
		{"no JSON", idRunning, "", `{`, []string{jsonType}, 400, "malformed-body", nil},
		{"two values", idRunning, "", `{}{}`, []string{jsonType}, 400, "malformed-body", nil},
		{"no object", idRunning, "", `[]`, []string{jsonType}, 422, "wrong-type", nil},
		{"media type", idRunning, "", `{}`, []string{"Content-Type: text/yaml"}, 415, "application/json", nil},
		{"long wait", idRunning, "?wait=61", "", nil, 400, "from 0 to 60", nil},
		{"unknown parameter", idRunning, "?mode=force", "", nil, 400, "bad-parameter", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := newTestServer(t, nil)
			w := ts.do("POST", "/api/runs/"+tt.id+"/cancel"+tt.query, tt.body, tt.headers...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("cancel = %d %s, want %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			var want []run.CancelRequest
			if tt.request != nil {
				want = append(want, *tt.request)
			}
			if diff := cmp.Diff(want, ts.fake.cancelled); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// A cancel or submit that waits answers when the run is terminal, or when the
// time is over.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTestServer(t, nil)
		go func() {
			time.Sleep(3 * time.Second)
			ts.fake.mu.Lock()
			ended := ts.fake.get(idRunning)
			ended.State = bench.StateCancelled
			event := run.Event{Type: run.EventStateChanged, RunID: idRunning, At: time.Now(), Run: new(*ended)}
			ts.fake.mu.Unlock()
			ts.Hub.Publish(event)
		}()
		start := time.Now()
		w := ts.do("POST", "/api/runs/"+idRunning+"/cancel?wait=10", "")
		if took := time.Since(start); took != 3*time.Second || w.Code != 200 || !strings.Contains(w.Body.String(), `"state":"cancelled"`) {
			t.Errorf("cancel = %d after %s: %s", w.Code, took, w.Body)
		}
		start = time.Now()
		w = ts.do("POST", "/api/runs", "{}", "Content-Type: application/json", "Prefer: wait=5")
		if took := time.Since(start); took != 5*time.Second || w.Code != 201 || w.Header().Get("Preference-Applied") != "wait=5" {
			t.Errorf("submit = %d after %s: %v", w.Code, took, w.Header())
		}
	})
}

func TestDelete(t *testing.T) {
	ts := newTestServer(t, nil)
	steps := []struct {
		target  string
		headers []string
		status  int
	}{
		{"/api/runs/" + idRunning, nil, 409},
		{"/api/runs/" + idDone, []string{`If-Match: "r2"`}, 412},
		{"/api/runs/" + idDone + "?force=maybe", nil, 400},
		{"/api/runs/" + idDone, []string{"If-Match: "}, 400},
		{"/api/runs/" + idDone, []string{`If-Match: "r3"`}, 204},
		{"/api/runs/" + idDone, nil, 404},
		{"/api/runs/" + idRunning + "?force=true", nil, 202},
		{"/api/runs/" + idRunning, nil, 404},
	}
	for _, step := range steps {
		if w := ts.do("DELETE", step.target, "", step.headers...); w.Code != step.status {
			t.Errorf("DELETE %s = %d %s, want %d", step.target, w.Code, w.Body, step.status)
		}
	}
}

func TestBadListParameters(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, bad := range []string{
		"state=done", "state=queued,", "label==x", "label=!", "label=team:a", "label=!team:a", "created_after=yesterday", "sort=size", "limit=0", "limit=501", "limit=x",
		"cursor=foreign", "page=2", "kind=trial", "include=all", "detail=none",
	} {
		if w := ts.do("GET", "/api/runs?"+bad, ""); w.Code != 400 || !strings.Contains(w.Body.String(), "bad-parameter") {
			t.Errorf("GET /api/runs?%s = %d %s, want 400", bad, w.Code, w.Body)
		}
	}
}

func TestListPages(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs?limit=1&state=completed,failed", "")
	if got, want := w.Header().Get("Link"), `</api/runs?cursor=page2&limit=1&state=completed%2Cfailed>; rel="next"`; got != want {
		t.Errorf("Link = %s, want %s", got, want)
	}
	if body := w.Body.String(); !strings.HasSuffix(body, `"next_cursor":"page2","total":2}`) || strings.Contains(body, `"links"`) {
		t.Errorf("page = %s", body)
	}
	tag := w.Header().Get("Etag")
	if !strings.HasPrefix(tag, "W/") {
		t.Errorf("Etag = %s, want a weak one", tag)
	}
	if w := ts.do("GET", "/api/runs?limit=1&state=completed,failed", "", "If-None-Match: "+tag); w.Code != 304 {
		t.Errorf("If-None-Match = %d, want 304", w.Code)
	}
	if body := ts.do("GET", "/api/runs", "").Body.String(); !strings.HasSuffix(body, `"next_cursor":null,"total":4}`) {
		t.Errorf("last page = %s", body)
	}
}

// A brief list has the same runs, without what is in their files.
func TestBriefList(t *testing.T) {
	ts := newTestServer(t, nil)
	type item struct {
		ID        string
		State     bench.State
		Summary   map[string]any
		Progress  *wire.RunProgress
		Metrics   map[string]any
		Artifacts wire.Artifacts
		Warnings  []any
		Client    *run.ClientVerdict
	}
	get := func(target string) []item {
		var out struct{ Items []item }
		if w := ts.do("GET", target, ""); w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &out) != nil {
			t.Fatalf("GET %s = %d %s", target, w.Code, w.Body)
		}
		return out.Items
	}
	want := get("/api/runs")
	// The store has the verdict of a run that has ended.
	for i, r := range ts.fake.runs {
		if at := slices.IndexFunc(want, func(w item) bool { return w.ID == r.ID }); at >= 0 && r.State.Terminal() {
			ts.fake.runs[i].Client = want[at].Client
		}
	}
	lost, windows := 0, 0
	for i := range want {
		w := &want[i]
		if w.Summary["windows"] != nil {
			windows++
			delete(w.Summary, "windows")
		}
		lost += len(w.Metrics) + w.Artifacts.Count
		w.Metrics, w.Artifacts, w.Warnings = map[string]any{}, wire.Artifacts{}, []any{}
		if w.State.Terminal() {
			w.Progress = nil
		}
		if w.Client != nil {
			w.Client.Evidence, w.Client.Bias, w.Client.Certificate = []verdict.Sign{}, []verdict.Bias{}, nil
		}
	}
	if diff := cmp.Diff(want, get("/api/runs?detail=brief")); diff != "" {
		t.Errorf("brief list (-want +got):\n%s", diff)
	}
	if lost == 0 || windows == 0 {
		t.Error("the list in full has nothing that the brief one could lack")
	}
	if body := ts.do("GET", "/api/runs?detail=full", "").Body.String(); body != ts.do("GET", "/api/runs", "").Body.String() {
		t.Errorf("detail=full: %s", body)
	}
}

// A request with the revision of a terminal run gets 304; an active run changes without
// a new revision.
func TestRunTag(t *testing.T) {
	ts := newTestServer(t, nil)
	for id, want := range map[string]int{idDone: 304, idRunning: 200, idQueued: 200} {
		if w := ts.do("GET", "/api/runs/"+id, "", `If-None-Match: "r3"`); w.Code != want || w.Header().Get("Etag") != `"r3"` {
			t.Errorf("GET %s = %d %s, want %d", id, w.Code, w.Header().Get("Etag"), want)
		}
	}
}

// The latest run is one that lists show: a study, not the run of it that ended last.
func TestLatestIsTopLevel(t *testing.T) {
	ts := newTestServer(t, nil)
	sweep := &run.Run{ID: "01990f2c7d3e7a10b1c2d3e4f5a6b7d0", State: bench.StateCompleted, CreatedAt: epoch, Study: &run.Study{Type: "grid"}}
	child := &run.Run{ID: "01990f2c7d3e7a10b1c2d3e4f5a6b7d1", State: bench.StateCompleted, CreatedAt: epoch, Cell: &run.Cell{ParentID: sweep.ID}}
	ts.fake.runs = append(ts.fake.runs, sweep, child)
	w := ts.do("GET", "/api/runs/latest", "")
	if got, want := w.Header().Get("Content-Location"), "/api/runs/"+sweep.ID; got != want {
		t.Errorf("latest is %q, want %q", got, want)
	}
}
