package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
)

// realConfig lets a server load documents as the daemon does.
func realConfig(o *Options) {
	o.Load = func(_ context.Context, data []byte, format config.Format) (out runs.Loaded, err error) {
		out.Document, out.Warnings, err = config.Load(data, config.LoadOptions{Format: format, MaxBytes: DefaultMaxBody, Untrusted: true, Choices: plan.Choices()})
		return out, err
	}
	o.Compat = config.Resolved
}

// The examples of the API document can be submitted.
func TestDocumentedRequests(t *testing.T) {
	ts := newTestServer(t, realConfig)
	doc := document(t)
	tried := 0
	for path, item := range doc.Paths.Map() {
		if item.Post == nil || item.Post.RequestBody == nil {
			continue
		}
		example := item.Post.RequestBody.Value.Content["application/json"].Example
		if example == nil {
			continue
		}
		tried++
		body, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		w := ts.do("POST", strings.Replace(path, "{id}", idRunning, 1), string(body), "Content-Type: application/json")
		if w.Code >= 300 || strings.Contains(w.Body.String(), `"valid":false`) {
			t.Errorf("POST %s = %d %s", path, w.Code, w.Body)
		}
	}
	if tried != 3 {
		t.Errorf("%d examples, want those of submit, validate and cancel", tried)
	}
}

func TestRealDocuments(t *testing.T) {
	tests := []struct {
		name, body, media string
		status            int
	}{
		{"empty", "", "application/json", 400},
		{"null", "null", "application/json", 400},
		{"number", "1", "application/json", 400},
		{"list", "[]", "application/yaml", 400},
		{"open object", "{", "application/json", 400},
		{"two values", "{}{}", "application/json", 400},
		{"YAML as JSON", "a: b", "application/json", 400},
		{"two documents", "benchmark: {}\n---\nbenchmark: {}\n", "application/yaml", 400},
		{"deep", strings.Repeat("[", 10_000), "application/json", 400},
		{"deep and closed", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "application/json", 400},
		{"bad UTF-8", "{\"a\":\"\xff\"}", "application/json", 400},
		{"NUL", "\x00", "application/yaml", 400},
		{"empty object", "{}", "application/json", 422},
		{"unknown key", `{"benchmark":{"modles":{}}}`, "application/json", 422},
		{"huge number", `{"benchmark":{"models":["x"],"phases":[{"type":"concurrency","concurrency":1e999}]}}`, "application/json", 422},
		{"minimal", "model: x\nendpoint: {url: 'http://127.0.0.1:9'}\nphases: [{type: concurrency, requests: 1}]\ntokenizer: {name: builtin}\n", "application/yaml", 201},
	}
	for _, tt := range tests {
		ts := newTestServer(t, realConfig)
		w := ts.do("POST", "/api/runs", tt.body, "Content-Type: "+tt.media)
		if w.Code != tt.status {
			t.Errorf("%s = %d %s, want %d", tt.name, w.Code, w.Body, tt.status)
		}
	}
}

// No answer contains a secret of a real document.
func TestCanaryOfDocument(t *testing.T) {
	secrets := []string{"sk-key-c4n4ry", "hdr-c4n4ry", "usr-c4n4ry", "pw-c4n4ry", "qry-c4n4ry", "xtr-c4n4ry"}
	body := fmt.Sprintf(`{"benchmark":{"models":["m"],"endpoint":{"urls":["http://%s:%s@127.0.0.1:9/?api_key=%s"],"apiKey":%q,
		"headers":{"Authorization":"Bearer %s"},"extra":{"api_key":%q}},"phases":[{"type":"concurrency","requests":1}],"tokenizer":{"name":"builtin"}%%s}}`,
		secrets[2], secrets[3], secrets[4], secrets[0], secrets[1], secrets[5])
	tests := []struct {
		fault, target string
		status        int
		part          string
	}{
		{"", "/api/validate", 200, `"valid":true`}, {"", "/api/runs", 201, `"state":"queued"`},
		{`,"nope":1`, "/api/validate", 200, `"valid":false`}, {`,"nope":1`, "/api/runs", 422, "#/benchmark/nope"},
	}
	for _, tt := range tests {
		ts := newTestServer(t, realConfig)
		w := ts.do("POST", tt.target, fmt.Sprintf(body, tt.fault), "Content-Type: application/json")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.part) {
			t.Errorf("POST %s = %d %s, want %d with %s", tt.target, w.Code, w.Body, tt.status, tt.part)
		}
		for _, s := range secrets {
			if strings.Contains(w.Body.String(), s) {
				t.Errorf("POST %s with fault %q shows %s: %s", tt.target, tt.fault, s, w.Body)
			}
		}
	}
}

// A document that is checked is shown with the defaults that follow from other
// values, and why.
func TestValidateDefaults(t *testing.T) {
	ts := newTestServer(t, realConfig)
	body := `{"models":["m"],"endpoint":{"apiKey":"k-c4n4ry"},"phases":[{"rate":2,"duration":5}],"tokenizer":{"name":"builtin"}}`
	w := ts.do("POST", "/api/validate", body, "Content-Type: application/json")
	var got wire.Validation
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !got.Valid {
		t.Fatalf("validate = %d %s, %v", w.Code, w.Body, err)
	}
	want := []wire.Default{
		{Pointer: "#/benchmark/datasets/0/type", Value: "synthetic", Reason: "no dataset is given"},
		{Pointer: "#/benchmark/phases/0/name", Value: "profiling", Reason: "the kind of the phase"},
		{Pointer: "#/benchmark/datasets/0/entries", Value: 23.0, Reason: "the rate times the duration, with room for chance"},
		{Pointer: "#/benchmark/phases/0/type", Value: "poisson", Reason: "a rate is given"},
		{Pointer: "#/benchmark/phases/0/gracePeriod", Value: 30.0, Reason: "the phase has a duration"},
		{Pointer: "#/benchmark/runtime/ui", Value: "none", Reason: "none is given; without a terminal it is none"},
	}
	if diff := cmp.Diff(want, got.Defaults); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if bad := ts.do("POST", "/api/validate", "{}", "Content-Type: application/json"); !strings.Contains(bad.Body.String(), `"defaults":[]`) {
		t.Errorf("validate of a document with problems = %s, want no defaults", bad.Body)
	}
}

// The response to any body is one of the documented ones.
func FuzzSubmit(f *testing.F) {
	for _, seed := range []string{"", "{}", "[]", `{"benchmark":{}}`, "a: &x [*x]", "models: [x]\nendpoint: {}\nphases: [{}]", `{"a":1,"a":2}`, "\x00"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	ts := newTestServer(f, realConfig)
	f.Fuzz(func(t *testing.T, body string, yaml bool) {
		media := "application/json"
		if yaml {
			media = "application/yaml"
		}
		w := ts.do("POST", "/api/validate", body, "Content-Type: "+media)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("POST %q = %d %s", body, w.Code, w.Body)
		}
	})
}
