package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/run"
)

func TestIdempotencyKey(t *testing.T) {
	const yaml = "Content-Type: application/yaml"
	ts := newTestServer(t, nil)
	steps := []struct {
		name, body string
		headers    []string
		status     int
		want       string // part of the body
		submitted  int    // runs so far
	}{
		{"first", "a: 1", []string{yaml, "Idempotency-Key: k1"}, 201, `"id":"01990f2c7d3e7a10b1c2d3e4f5a6b7d0"`, 1},
		{"again", "a: 1", []string{yaml, "Idempotency-Key: k1"}, 200, `"id":"01990f2c7d3e7a10b1c2d3e4f5a6b7d0"`, 1},
		{"other body", "a: 2", []string{yaml, "Idempotency-Key: k1"}, 422, "idempotency-key-reused", 1},
		{"other format", "a: 1", []string{"Content-Type: application/json", "Idempotency-Key: k1"}, 422, "idempotency-key-reused", 1},
		{"other key", "a: 1", []string{yaml, "Idempotency-Key: k2"}, 201, `"id"`, 2},
		{"no key", "a: 1", []string{yaml}, 201, `"id"`, 3},
		{"invalid document", "rate: -5", []string{yaml, "Idempotency-Key: k3"}, 422, "validation-failed", 3},
		{"the key is free after that", "a: 1", []string{yaml, "Idempotency-Key: k3"}, 201, `"id"`, 4},
		{"empty", "a: 1", []string{yaml, "Idempotency-Key: "}, 400, "1 to 255 visible ASCII characters", 4},
		{"space", "a: 1", []string{yaml, "Idempotency-Key: a b"}, 400, "visible ASCII", 4},
		{"not ASCII", "a: 1", []string{yaml, "Idempotency-Key: ä"}, 400, "visible ASCII", 4},
		{"longest", "a: 1", []string{yaml, "Idempotency-Key: " + strings.Repeat("k", 255)}, 201, `"id"`, 5},
		{"too long", "a: 1", []string{yaml, "Idempotency-Key: " + strings.Repeat("k", 256)}, 400, "1 to 255", 5},
	}
	for _, tt := range steps {
		w := ts.do("POST", "/api/runs", tt.body, tt.headers...)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, w.Code, w.Body, tt.status, tt.want)
		}
		replayed := w.Header().Get("Idempotency-Replayed")
		if (tt.status == 200) != (replayed == "true") {
			t.Errorf("%s: Idempotency-Replayed = %q", tt.name, replayed)
		}
		if w.Code < 300 && w.Header().Get("Location") == "" {
			t.Errorf("%s: no Location", tt.name)
		}
		if got := len(ts.fake.submitted); got != tt.submitted {
			t.Fatalf("%s: %d runs were submitted, want %d", tt.name, got, tt.submitted)
		}
	}
	if id := ts.fake.submitted[0].Idempotency; id == nil || id.Key != "k1" || len(id.Body) != 64 {
		t.Errorf("the engine received %+v", id)
	}
}

// A key is not in use until its request has an answer, and no longer.
func TestIdempotencyInProgress(t *testing.T) {
	ts := newTestServer(t, nil)
	hold, inside := make(chan struct{}), make(chan struct{})
	ts.fake.hold = func() { close(inside); <-hold }
	post := func() (int, http.Header, string) {
		w := ts.do("POST", "/api/runs", "a: 1", "Content-Type: application/yaml", "Idempotency-Key: k1")
		return w.Code, w.Header(), w.Body.String()
	}
	first := make(chan int)
	go func() {
		status, _, _ := post()
		first <- status
	}()
	<-inside
	if status, header, body := post(); status != 409 || header.Get("Retry-After") != "1" || !strings.Contains(body, "idempotency-in-progress") {
		t.Errorf("second = %d %v %s, want 409 after 1 s", status, header, body)
	}
	ts.fake.hold = nil
	close(hold)
	if status := <-first; status != 201 {
		t.Errorf("first = %d, want 201", status)
	}
	if status, _, body := post(); status != 200 {
		t.Errorf("third = %d %s, want 200", status, body)
	}
}

// The store is asked for keys of the last day only.
func TestIdempotencyPeriod(t *testing.T) {
	ts := newTestServer(t, nil)
	old := testRun(idMissing, "completed")
	old.CreatedAt, old.Idempotency = time.Now().Add(-24*time.Hour-time.Minute), &run.Idempotency{Key: "k1", Body: "other"}
	ts.fake.runs = append(ts.fake.runs, old)
	w := ts.do("POST", "/api/runs", "a: 1", "Content-Type: application/yaml", "Idempotency-Key: k1")
	if w.Code != 201 {
		t.Errorf("POST with a key of yesterday = %d %s, want 201", w.Code, w.Body)
	}
}

// Submissions without a token are limited only if the limit was given.
func TestSubmitRateAnswer(t *testing.T) {
	for _, tt := range []struct {
		anonymous bool
		want      int
	}{{false, 201}, {true, 429}} {
		ts := newTestServer(t, func(o *Options) { o.Limits.SubmitRate, o.Limits.AnonymousRate = 2, tt.anonymous })
		var w = ts.do("POST", "/api/runs", "a: 1", "Content-Type: application/yaml")
		for range 2 {
			w = ts.do("POST", "/api/runs", "a: 1", "Content-Type: application/yaml")
		}
		if w.Code != tt.want || tt.want == 429 && w.Header().Get("Retry-After") != "30" {
			t.Errorf("third submission = %d after %q s %s, want %d", w.Code, w.Header().Get("Retry-After"), fmt.Sprint(w.Body), tt.want)
		}
	}
}
