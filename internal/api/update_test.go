package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"aiperfd/internal/run"
)

const patchType = "Content-Type: application/merge-patch+json"

func TestUpdate(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, test := range []struct {
		name, id, body string
		headers        []string
		status         int
		want           string
	}{
		{"name", idDone, `{"name": "n"}`, []string{patchType}, 200, `"name":"n"`},
		{"revision before", idDone, `{"name": "m"}`, []string{patchType, `If-Match: "r3"`}, 412, "precondition-failed"},
		{"revision now", idDone, `{"notes": "m"}`, []string{patchType, `If-Match: "r3", "r4"`}, 200, `"revision":5`},
		{"any revision", idDone, `{"notes": null}`, []string{patchType, "If-Match: *"}, 200, `"notes":""`},
		{"empty precondition", idDone, `{}`, []string{patchType, "If-Match: "}, 400, "bad-parameter"},
		{"active", idRunning, `{"pinned": true, "labels": {"gpu": null}}`, []string{patchType + "; charset=utf-8"}, 200, `"labels":{}`},
		{"ttl of an active run", idRunning, `{"ttl": "12h"}`, []string{patchType}, 200, `"ttl":43200,"expires_at":null`},
		{"ttl", idDone, `{"ttl": 60}`, []string{patchType}, 200, `"ttl":60,"expires_at":"2026-05-04T10:01:44Z"`},
		{"priority", idQueued, `{"priority": -7}`, []string{patchType}, 200, `"priority":-7`},
		{"priority of an active run", idRunning, `{"priority": 7}`, []string{patchType}, 409, "not-queued"},
		{"two problems", idDone, `{"pinned": 1, "size": 2}`, []string{patchType}, 422, `"#/size"`},
		{"no JSON", idDone, `{"pinned"`, []string{patchType}, 400, `"malformed-body"`},
		{"media type", idDone, `{}`, []string{"Content-Type: application/json"}, 415, "merge-patch+json"},
		{"no body", idDone, ``, []string{patchType}, 400, "malformed-body"},
		{"unknown run", idMissing, `{}`, []string{patchType}, 404, "not-found"},
		{"parameter", idDone + "?x=1", `{}`, []string{patchType}, 400, "bad-parameter"},
	} {
		w := ts.do("PATCH", "/api/runs/"+test.id, test.body, test.headers...)
		want := strings.Trim(test.want, `"`)
		if strings.Contains(test.want, `":`) || strings.HasPrefix(test.want, `"#`) {
			want = test.want
		}
		if w.Code != test.status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %d with %s", test.name, w.Code, w.Body, test.status, want)
		}
		if w.Code == http.StatusOK {
			var r struct{ Revision int64 }
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Header().Get("Etag") != fmt.Sprintf(`"r%d"`, r.Revision) {
				t.Errorf("%s: ETag %s for revision %d, %v", test.name, w.Header().Get("Etag"), r.Revision, err)
			}
		}
		if got := w.Header().Get("Accept-Patch"); (got != "") != (w.Code == http.StatusUnsupportedMediaType) {
			t.Errorf("%s: Accept-Patch %q", test.name, got)
		}
	}
	if w := ts.do("OPTIONS", "/api/runs/"+idDone, ""); w.Header().Get("Accept-Patch") != "application/merge-patch+json" || w.Header().Get("Allow") != "GET, HEAD, PATCH, DELETE, OPTIONS" {
		t.Errorf("OPTIONS: %v", w.Header())
	}
}

// DELETE and cancel honour If-Match, too.
func TestPreconditions(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, test := range []struct {
		method, target, tag string
		status              int
	}{
		{"POST", "/api/runs/" + idRunning + "/cancel", `"r2"`, 412},
		{"POST", "/api/runs/" + idRunning + "/cancel", ``, 400},
		{"POST", "/api/runs/" + idRunning + "/cancel", `"r3"`, 202},
		{"DELETE", "/api/runs/" + idDone, `"r2"`, 412},
		{"DELETE", "/api/runs/" + idDone, `W/"r3"`, 204}, // of a compressed answer
	} {
		if w := ts.do(test.method, test.target, "", "If-Match: "+test.tag); w.Code != test.status {
			t.Errorf("%s %s with If-Match: %s = %d %s, want %d", test.method, test.target, test.tag, w.Code, w.Body, test.status)
		}
	}
	if n := len(ts.fake.cancelled); n != 1 {
		t.Errorf("%d cancels reached the engine, want 1", n)
	}
}

// A run of which only the metadata changed is answered again, and then 304 again.
func TestRevisionOfEndedRun(t *testing.T) {
	ts := newTestServer(t, nil)
	get := func(tag string) int { return ts.do("GET", "/api/runs/"+idDone, "", "If-None-Match: "+tag).Code }
	if code := get(`"r3"`); code != http.StatusNotModified {
		t.Errorf("before: %d, want 304", code)
	}
	ts.do("PATCH", "/api/runs/"+idDone, `{"pinned": true}`, patchType)
	if code := get(`"r3"`); code != http.StatusOK {
		t.Errorf("with the old tag: %d, want 200", code)
	}
	if code := get(`"r4"`); code != http.StatusNotModified {
		t.Errorf("with the new tag: %d, want 304", code)
	}
}

func TestPause(t *testing.T) {
	ts := newTestServer(t, nil)
	state := func() string {
		return ts.do("GET", "/api/queue", "").Body.String() + ts.do("GET", "/api/runs/"+idQueued, "").Body.String() +
			ts.do("GET", "/api/runs", "").Body.String() + ts.do("GET", "/readyz?verbose", "").Body.String()
	}
	running := state()
	for range 2 {
		if w := ts.do("POST", "/api/queue/pause", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"paused":true`) {
			t.Errorf("pause = %d %s", w.Code, w.Body)
		}
	}
	if got := state(); strings.Count(got, `"state_reason":"the queue is paused"`) != 2 || !strings.Contains(got, `"queue":"paused"`) {
		t.Errorf("paused: %s", got)
	}
	if w := ts.do("GET", "/readyz", ""); w.Code != http.StatusOK {
		t.Errorf("readyz of a paused queue = %d", w.Code)
	}
	for range 2 {
		if w := ts.do("POST", "/api/queue/resume", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"paused":false`) {
			t.Errorf("resume = %d %s", w.Code, w.Body)
		}
	}
	if state() != running {
		t.Error("the answers are not those before the pause")
	}
	ts.fake.err = run.ErrStore
	if w := ts.do("POST", "/api/queue/pause", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("pause without a store = %d %s", w.Code, w.Body)
	}
}
