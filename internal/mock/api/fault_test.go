package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/mock/options"
)

func TestFaultBodies(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "http://h/v1/x?key=q", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cret")
	tests := []struct{ kind, contentType, want string }{
		{"vllm", "application/json", `{"error":{"message":"Too Many Requests (simulated fault)","type":"RateLimitError","param":null,"code":429}}`},
		{"openai", "application/json", `{"error":{"message":"Too Many Requests (simulated fault)","type":"server_error","param":null,"code":"too_many_requests"}}`},
		{"fastapi", "application/json", `{"detail":"Too Many Requests (simulated fault)"}`},
		{"sglang", "application/json", `{"object":"error","message":"Too Many Requests (simulated fault)","type":"RateLimitError","param":null,"code":429}`},
		{"text", "text/plain; charset=utf-8", `Too Many Requests (simulated fault)`},
		{"html", "text/html", "<html>\r\n<head><title>429 Too Many Requests</title></head>\r\n<body>\r\n<center><h1>429 Too Many Requests</h1></center>\r\n</body>\r\n</html>\r\n"},
		{"empty", "", ""},
		{"json_string", "application/json", `"Too Many Requests (simulated fault)"`},
		{"echo_headers", "application/json", `{"error":{"message":"request refused: POST http://h/v1/x?key=q; Authorization: Bearer s3cret","type":"RateLimitError","param":null,"code":429}}`},
	}
	for _, tt := range tests {
		body, kind := FaultBody(mustRule(t, "status:429,body="+tt.kind), req)
		if kind != tt.contentType || string(body) != tt.want {
			t.Errorf("FaultBody(%s) = %q %q, want %q %q", tt.kind, kind, body, tt.contentType, tt.want)
		}
	}
	if huge, _ := FaultBody(mustRule(t, "status:500,body=huge"), req); len(huge) < hugeBody-100 || !json.Valid(huge) {
		t.Errorf("huge has %d bytes, want about %d of JSON", len(huge), hugeBody)
	}
}

func TestCorruptLeavesTheFrontAlone(t *testing.T) {
	const front, doc = `{"id":"a"}`, `{"id":"b","created":12,"text":"x"}`
	for _, kind := range []string{options.BadJSON, options.TruncatedJSON, options.NaNNumber, options.InvalidUTF8} {
		got := Corrupt([]byte(front+doc), len(front), kind)
		if !bytes.HasPrefix(got, []byte(front)) {
			t.Errorf("%s: front became %q", kind, got)
		}
		rest := got[len(front):]
		if json.Valid(rest) && utf8.Valid(rest) {
			t.Errorf("%s: %q is still valid", kind, rest)
		}
	}
}

func mustRule(t testing.TB, text string) *options.Fault {
	t.Helper()
	f, err := options.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return &f
}
