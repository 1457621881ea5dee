package plan

import (
	"testing"

	"aiperfd/internal/engine/endpoint"
)

func TestRequestPath(t *testing.T) {
	tests := []struct{ kind, path, want string }{
		{"chat", "/v1/chat/completions", ""},
		{"chat", "/v2/chat", ""},
		{"chat", "/v1/embeddings", `"/v1/embeddings" is the path of another endpoint type than chat: use --endpoint-type embeddings`},
		{"completions", "/v1/other", `"/v1/other" is not the path of the endpoint type completions, which is /v1/completions`},
		{"raw", "/v1/other", ""},
	}
	for _, tt := range tests {
		kind, _ := endpoint.Lookup(tt.kind)
		own, got := "/v2/chat", ""
		if check := requestPath(&kind, &own); check != nil {
			if err := check(tt.path); err != nil {
				got = err.Error()
			}
		}
		if got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.kind, tt.path, got, tt.want)
		}
	}
}
