package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a record has of the body is sent; what it lacks is that of the run.
func TestGivenBodies(t *testing.T) {
	const message = `messages: [{role: user, content: one two}]`
	tests := []struct{ name, records, want string }{
		{"messages alone", `{` + message + `}`,
			`{"model":"m","messages":[{"content":"one two","role":"user"}],"stream":true,"max_completion_tokens":3,"stream_options":{"include_usage":true},"seed":7}`},
		{"members of its own", `{` + message + `, model: other, stream: false, max_tokens: 5, seed: 8}`,
			`{"model":"other","messages":[{"content":"one two","role":"user"}],"stream":false,"seed":8,"max_tokens":5}`},
		{"a complete body", `{` + message + `, model: m, n: 1}`, `{"messages":[{"content":"one two","role":"user"}],"model":"m","n":1}`},
		{"a batch", `{custom_id: a, method: POST, url: /v1/chat/completions, body: {model: m, max_tokens: 4, ` + message + `}}`,
			`{"model":"m","messages":[{"content":"one two","role":"user"}],"stream":true,"stream_options":{"include_usage":true},"seed":7,"max_tokens":4}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records := tt.records
			if tt.name == "members of its own" {
				records = `{` + message + `}, ` + records // the first record decides the format
			}
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, time.Millisecond, time.Millisecond), func(next http.Handler) http.Handler { return next })
				r := b.run(`
benchmark:
  model: m
  endpoint: {url: http://mock.test, type: chat, streaming: true, extra: {seed: 7}}
  tokenizer: {name: builtin}
  dataset: {records: [` + records + `], osl: 3}
  phases: {requests: ` + map[bool]string{true: "2", false: "1"}[strings.Contains(records, "}, {messages")] + `}
  artifacts: {level: raw}`)
				data, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_raw.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(strings.TrimSpace(string(data)), "\n")
				var line struct{ Payload, want map[string]any }
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal([]byte(tt.want), &line.want); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(line.want, line.Payload); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
				b.stop()
			})
		})
	}
}
