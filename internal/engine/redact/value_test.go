package redact_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"aiperfd/internal/engine/redact"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"config", `{
			"endpoint": {"urls": ["https://u:p@gw.lab:8443/v1?key=K", "u:p@h", "localhost:8000"], "apiKey": "S", "type": "chat",
				"headers": {"Authorization": "Bearer x", "X-Tenant": "blue", "X-Session-Affinity": "s"},
				"sessionHeader": "X-Session-ID", "extra": {"api_key": "S", "max_tokens": 5}},
			"otel": {"metricsUrl": "http://u:p@h", "customResourceAttributes": {"token": "S", "team": "a"}},
			"mlflow": {"trackingUri": "databricks", "tags": {"password": 1234}},
			"gpuTelemetry": {"urls": ["http://d/metrics?token=T"]},
			"slos": {"time_to_first_token": 500, "inter_token_latency": 10},
			"tokenizer": {"name": "meta/x", "revision": "main"}, "randomSeed": 42}`,
			`{
			"endpoint": {"urls": ["https://<redacted>@gw.lab:8443/v1?key=<redacted>", "<redacted>@h", "localhost:8000"], "apiKey": "<redacted>", "type": "chat",
				"headers": {"Authorization": "<redacted>", "X-Tenant": "blue", "X-Session-Affinity": "<redacted>"},
				"sessionHeader": "X-Session-ID", "extra": {"api_key": "<redacted>", "max_tokens": 5}},
			"otel": {"metricsUrl": "http://<redacted>@h", "customResourceAttributes": {"token": "<redacted>", "team": "a"}},
			"mlflow": {"trackingUri": "databricks", "tags": {"password": "<redacted>"}},
			"gpuTelemetry": {"urls": ["http://d/metrics?token=<redacted>"]},
			"slos": {"time_to_first_token": 500, "inter_token_latency": 10},
			"tokenizer": {"name": "meta/x", "revision": "main"}, "randomSeed": 42}`},
		{"nothing there", `{"apiKey": null, "password": "", "secret": true, "token": 5, "key": 1.5}`, ""},
		{"references", `{"apiKeyFile": "/run/key", "tokenPath": "x", "secretEnv": "KEY"}`, ""},
		{"placeholders of templates", `{"apiKey": "${API_KEY}", "token": "${secret:team/a}", "password": "${PW:S}"}`,
			`{"apiKey": "${API_KEY}", "token": "${secret:team/a}", "password": "<redacted>"}`},
		{"below a secret", `{"credentials": {"user": "u", "n": 5, "list": ["a", {"b": "c"}]}, "cookie": ["a"]}`,
			`{"credentials": {"user": "<redacted>", "n": "<redacted>", "list": ["<redacted>", {"b": "<redacted>"}]}, "cookie": ["<redacted>"]}`},
		{"below a common word", `{"auth": {"type": "bearer", "token": "S"}, "session": ["a", 5]}`,
			`{"auth": {"type": "bearer", "token": "<redacted>"}, "session": ["<redacted>", 5]}`},
		{"header list", `{"extra_headers": ["Authorization: Bearer x", "X-A: 1", {"name": "X-Acme-Token", "value": "S"}]}`,
			`{"extra_headers": ["Authorization:<redacted>", "X-A: 1", {"name": "X-Acme-Token", "value": "<redacted>"}]}`},
		{"env list", `[{"name": "API_KEY", "value": "S"}, {"name": "HOME", "value": "/"}]`,
			`[{"name": "API_KEY", "value": "<redacted>"}, {"name": "HOME", "value": "/"}]`},
		{"strings", `["http://u:p@h/x", "http://{h}:{p}/v1", "api_key:S", "token:5", "note: a@b", "/m?key=S", "http://u:p/s@h"]`,
			`["http://<redacted>@h/x", "http://{h}:{p}/v1", "api_key:<redacted>", "token:5", "note: a@b", "/m?key=<redacted>", "<redacted>"]`},
		{"scalar", `"http://u:p@h"`, `"http://<redacted>@h"`},
		{"null", `null`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, in := decode(t, tc.in), decode(t, tc.in)
			want := before
			if tc.want != "" {
				want = decode(t, tc.want)
			}
			got := redact.Value(in)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Value (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, in); diff != "" {
				t.Errorf("Value changed its argument (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(got, redact.Value(got)); diff != "" {
				t.Errorf("Value is not idempotent (-once +twice):\n%s", diff)
			}
		})
	}
}

func TestValueTypes(t *testing.T) {
	in := map[any]any{
		"headers": map[string][]string{"Cookie": {"a"}, "Accept": {"b"}, "None": nil},
		"labels":  map[string]string{"api_key": "S", "team": "a"},
		"urls":    []string{"u:p@h"},
		"api_key": uint64(5),
		7:         "x",
	}
	want := map[any]any{
		"headers": map[string][]string{"Cookie": {"<redacted>"}, "Accept": {"b"}, "None": nil},
		"labels":  map[string]string{"api_key": "<redacted>", "team": "a"},
		"urls":    []string{"<redacted>@h"},
		"api_key": "<redacted>",
		7:         "x",
	}
	if diff := cmp.Diff(any(want), redact.Value(in)); diff != "" {
		t.Errorf("Value (-want +got):\n%s", diff)
	}
}

func TestValueDeep(t *testing.T) {
	var tree any = map[string]any{"password": "S"}
	for range 100_000 {
		tree = []any{tree}
	}
	got := redact.Value(tree)
	depth := 0
	for {
		list, ok := got.([]any)
		if !ok {
			break
		}
		got = list[0]
		depth++
	}
	if got != redact.Placeholder || depth != 1001 {
		t.Errorf("bottom of the tree = %v at depth %d", got, depth)
	}
}

func decode(tb testing.TB, doc string) any {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(doc)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	return v
}
