package api

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/compare"
	"aiperfd/internal/results"
)

// Pages of records follow the Link header to the end; a run that goes on has no last page.
func TestRecords(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, id := range []string{idDone, idRunning} {
		ts.fake.writeArtifacts(t, id, map[string]string{"profile_export.jsonl": "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"})
	}
	target, all := "/api/runs/"+idDone+"/records?limit=2", ""
	for target != "" {
		w := ts.do("GET", target, "", "Accept: application/x-ndjson")
		if w.Code != 200 || w.Header().Get("Cache-Control") != respond.Immutable || w.Header().Get(respond.HeaderRunID) != idDone {
			t.Fatalf("GET %s = %d %v %s", target, w.Code, w.Header(), w.Body)
		}
		all += w.Body.String()
		target, _ = strings.CutPrefix(strings.TrimSuffix(w.Header().Get("Link"), `>; rel="next"`), "<")
	}
	if all != "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n" {
		t.Errorf("all pages = %s", all)
	}
	w := ts.do("GET", "/api/runs/current/records", "")
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `"next_cursor":"`) || w.Header().Get("Cache-Control") != respond.NoStore {
		t.Errorf("run that goes on = %d %v %s", w.Code, w.Header(), body)
	}
	for path, want := range map[string]string{
		idDone + "/records?limit=0&outcome=x": "400 limit is", idDone + "/records?cursor=AAAA": "400 the cursor is not", idDone + "/records?x=1": "400 Unknown parameter",
		idFailed + "/records": "404 has no record lines", idQueued + "/records": "404 results-not-ready", idMissing + "/records": "404 No such run",
	} {
		w := ts.do("GET", "/api/runs/"+path, "")
		status, text, _ := strings.Cut(want, " ")
		if body := w.Body.String(); !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(body, text) {
			t.Errorf("GET %s = %d %s, want %s", path, w.Code, body, want)
		}
	}
}

// Both forms of the API document are compressed and have entity tags.
func TestAPIDocument(t *testing.T) {
	ts := newTestServer(t, nil)
	for target, media := range map[string]string{"/openapi.json": "application/json", "/openapi.yaml": "application/yaml"} {
		w := ts.do("GET", target, "", "Accept-Encoding: gzip")
		if h := w.Header(); w.Code != 200 || h.Get("Content-Encoding") != "gzip" || h.Get("Content-Type") != media || w.Body.Len() > 200_000 {
			t.Errorf("GET %s = %d %v, %d bytes", target, w.Code, h, w.Body.Len())
		}
		if w := ts.do("GET", target, "", "If-None-Match: "+w.Header().Get("Etag")); w.Code != 304 {
			t.Errorf("GET %s with its tag = %d", target, w.Code)
		}
	}
}

func TestErrors(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs/"+idDone+"/errors", "")
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `"total":3`) || !strings.Contains(body, `"sample":"overloaded"`) || w.Header().Get("Cache-Control") != respond.Immutable {
		t.Errorf("errors = %d %v %s", w.Code, w.Header(), body)
	}
	if w := ts.do("GET", "/api/runs/"+idDone+"/errors", "", "If-None-Match: "+w.Header().Get("Etag")); w.Code != 304 {
		t.Errorf("If-None-Match = %d", w.Code)
	}
	if w := ts.do("GET", "/api/runs/latest/errors", ""); w.Header().Get("Cache-Control") != respond.NoStore || w.Header().Get("Content-Location") != "/api/runs/"+idDone {
		t.Errorf("errors of the latest run = %v", w.Header())
	}
}

func TestCompare(t *testing.T) {
	ts := newTestServer(t, nil)
	target := "/api/compare?ids=" + idRunning + ",latest&baseline=latest"
	w := ts.do("GET", target, "")
	var got compare.Comparison
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("GET = %d %s", w.Code, w.Body)
	}
	if got.Baseline != idDone || got.Runs[0].ID != idRunning || got.Runs[1].ID != idDone || got.Runs[0].Results != compare.Live || len(got.Metrics) != 3 {
		t.Errorf("comparison = %s", w.Body)
	}
	if w := ts.do("GET", target, "", "If-None-Match: "+w.Header().Get("Etag")); w.Code != 304 {
		t.Errorf("If-None-Match = %d", w.Code)
	}
	for query, want := range map[string]string{
		"ids=" + idDone: "400 ids has 1 runs", "ids=" + idDone + ",latest": "400 ids has run " + idDone + " twice", "": "400 ids has 0 runs",
		"ids=" + idDone + "," + idMissing + ",nope": "404 No such run: " + idMissing + ", nope",
		"ids=" + idDone + "," + idRunning + "&x=1":  "400 Unknown parameter", "ids=" + idDone + "," + idRunning + "&baseline=x": `400 baseline is \"x\", want one of ids`,
	} {
		w := ts.do("GET", "/api/compare?"+query, "")
		status, text, _ := strings.Cut(want, " ")
		if body := w.Body.String(); !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(body, text) {
			t.Errorf("GET %s = %d %s, want %s", query, w.Code, body, want)
		}
	}
}

// The answer to a question about runs, and the questions that have none.
func TestJudge(t *testing.T) {
	ts := newTestServer(t, nil)
	ask := func(body, media string) *httptest.ResponseRecorder {
		return ts.do("POST", "/api/compare", body, "Content-Type: "+media)
	}
	w := ask(`{"a":["`+idDone+`"],"b":["latest"],"metrics":["time_to_first_token:p99"]}`, "application/json")
	var got compare.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("POST = %d %s", w.Code, w.Body)
	}
	if got.Schema != results.AnswerSchema || !got.Final || got.A[0] != idDone || got.B[0] != idDone || len(got.Sentences) == 0 ||
		len(got.Metrics) != 1 || got.Metrics[0].Statistic != "p99" || *got.Metrics[0].A != *got.Metrics[0].B || len(got.Evidence) != 2 {
		t.Errorf("answer = %s", w.Body)
	}
	for body, want := range map[string]string{
		`{"a":["` + idDone + `"],"b":[]}`:                                        "400 b has 0 runs",
		`{"a":["` + idDone + `"],"b":["` + idMissing + `","nope"]}`:              "404 No such run: " + idMissing + ", nope",
		`{"a":["` + idDone + `"],"b":["latest"],"margin":1}`:                     "400 margin is 1",
		`{"a":["` + idDone + `"],"b":["latest"],"metrics":["x"]}`:                `400 \"x\" is no metric`,
		`{"a":["` + idDone + `"],"b":["latest"],"metrics":["goodput:p1"]}`:       "400 must be avg, p50, p90, p95 or p99",
		`{"a":["` + idDone + `"],"b":["latest"],"more":1}`:                       "400 unknown field",
		`{"a":["` + idDone + `"],"b":["latest"]} {}`:                             "400 unexpected text after",
		`{"a":["` + strings.Repeat("x", 65<<10) + `"]}`:                          "413 larger than 65536 bytes",
		`{"a":["` + idDone + `"],"b":["latest"],"allow":["` + "/a" + `"],"b":1}`: "400 cannot unmarshal number",
	} {
		w := ask(body, "application/json")
		status, text, _ := strings.Cut(want, " ")
		if got := w.Body.String(); !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(got, text) {
			t.Errorf("POST %.100s = %d %s, want %s", body, w.Code, got, want)
		}
	}
	if w := ask(`{}`, "text/plain"); w.Code != 415 {
		t.Errorf("POST of text = %d", w.Code)
	}
}
